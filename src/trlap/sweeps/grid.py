"""The grid: every line of a sweep composed and checked before the first cell starts.

A cell that does not compose is invalid and the others go on; cells with the same hash are one; a cell that
is done is not done again.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hydra.errors import HydraException
from omegaconf import DictConfig, open_dict
from omegaconf.errors import OmegaConfBaseException

from trlap import stages
from trlap.config.door import Config, config_from
from trlap.config.epsilon import quote, unquoted
from trlap.config.messages import explain, one_line
from trlap.errors import TrlapError
from trlap.runs.cell import Cell, Status

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader

OPEN = ("to do", "running", "interrupted")


@dataclass
class Job:
    """One line of the grid: a cell, or the reason why it is none."""

    overrides: list[str]
    label: str  # the overrides that differ between jobs
    cell: Cell | None = None
    # labels of jobs that turned out to be this cell
    same: list[str] = field(default_factory=list)
    reason: str = ""
    before: Status = field(default_factory=Status)  # when the sweep started
    tries: int = 0
    settled: str = ""  # a state that stays, so that nobody looks again
    line: str = ""  # and what the view says of it then

    @property
    def name(self) -> str:
        return self.cell.name if self.cell else self.label

    def state(self) -> str:
        """invalid, done (before this sweep), to do, running, interrupted, ok or failed."""
        state = self.settled or self._state()
        self.settled = "" if state in OPEN else state
        return state

    def _state(self) -> str:
        if self.cell is None:
            return "invalid"
        if self.reason:
            return "failed"
        status = self.cell.status()
        if status == self.before:
            return "done" if self.cell.finished() and not self.cell.config.force else "to do"
        return status.status or "to do"


def expand(composed: DictConfig, lines: list[list[str]], loader: "ConfigLoader") -> list[Job]:
    """A job for each line; equal cells become one."""
    if not lines:
        raise TrlapError("the sweep has no cell: a range() or glob() of it is empty")
    fixed = set.intersection(*map(set, lines))
    jobs: dict[str, Job] = {}
    for line in lines:
        differing = [override for override in line if override not in fixed] or line
        job = Job(line, " ".join(map(unquoted, differing)))
        try:
            job.overrides = quote(line)
            cfg = loader.load_sweep_config(composed, job.overrides)
            with open_dict(cfg):
                del cfg["hydra"]
            job.cell = checked(config_from(cfg))
        except (HydraException, OmegaConfBaseException) as error:
            job.reason = one_line(explain(error))
        except TrlapError as error:
            job.reason = one_line(str(error))
        else:
            job.before = job.cell.status()
        first = jobs.setdefault(job.name, job)
        if first is not job:
            first.same.append(job.label)
    return list(jobs.values())


def checked(config: Config) -> Cell:
    """A cell that can start, as far as can be known before; its data may still be missing."""
    stages.check(config)
    cell = Cell(config)
    # so that its name is made, which may find a file missing
    if not cell.finished():
        stages.check_things(config)
    return cell
