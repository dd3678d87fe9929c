"""Who hears how a run goes: the screen, status.json and Weights & Biases, all by one contract.

A run tells what it does and knows nothing of who listens. Stages and models know even less: a model that
learns calls the `Report` of its task with every epoch, and that is all.
"""

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trlap import progress

if TYPE_CHECKING:
    from trlap.runs.result import Epoch, RunResult

# takes an epoch when it is over
Report = Callable[["Epoch"], None]
logger = logging.getLogger(__name__)


def unheard(epoch: "Epoch") -> None:
    """The report of a training that nobody listens to."""


@dataclass(frozen=True)
class Step:
    """A stage as one of those that a run does, counted from 1."""

    stage: str
    # in words: "scoring private text"
    doing: str
    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count} {self.doing}"


class Listener:
    """Does nothing; a listener says what it cares about."""

    def run_begins(self) -> None:
        """Somebody works on it from now on."""

    def stage_begins(self, step: Step) -> None:
        """A stage is done now, or looked up in the cache."""

    def epoch_done(self, stage: str, epoch: "Epoch") -> None:
        """Every epoch comes once, in its order: when it is over, or when a checkpoint or the cache is
        found to have it.
        """

    def stage_done(self, step: Step, folder: str) -> None:
        """Its output is in that folder of the cache."""

    def run_done(self, result: "RunResult") -> None:
        """All stages are done; the result is not written yet."""


class Listeners(Listener):
    """Several, one after the other."""

    def __init__(self, *listeners: Listener) -> None:
        self.listeners = listeners

    def run_begins(self) -> None:
        for listener in self.listeners:
            listener.run_begins()

    def stage_begins(self, step: Step) -> None:
        for listener in self.listeners:
            listener.stage_begins(step)

    def epoch_done(self, stage: str, epoch: "Epoch") -> None:
        for listener in self.listeners:
            listener.epoch_done(stage, epoch)

    def stage_done(self, step: Step, folder: str) -> None:
        for listener in self.listeners:
            listener.stage_done(step, folder)

    def run_done(self, result: "RunResult") -> None:
        for listener in self.listeners:
            listener.run_done(result)


class Screen(Listener):
    """A line a stage where somebody watches. The log has the same lines for everybody else."""

    def starting(self, stages: int) -> None:
        """Before anything heavy is imported, so that there is a sign of life in the first second."""
        self._show(f"0/{stages} starting")

    def stage_begins(self, step: Step) -> None:
        self._show(str(step))

    def _show(self, line: str) -> None:
        logger.info("%s", line)
        if progress.watched():
            print(line, file=sys.stderr, flush=True)
