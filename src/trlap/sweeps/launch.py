"""What is left of a grid goes to Hydra's launcher, until all is settled.

Each job records its own failure. Cells that another process works on come last. What counts in the end is
what status.json says.
"""

import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from trlap import progress
from trlap.config.door import config_from
from trlap.errors import TrlapError, tell
from trlap.files import digest, make_folder, write_text
from trlap.runs import pipeline, signals
from trlap.runs.lock import Busy
from trlap.sweeps.grid import OPEN, Job, expand
from trlap.sweeps.plan import plan
from trlap.sweeps.view import POLL, table, view

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader
    from hydra.plugins.launcher import Launcher

TRIES = 3  # of a cell whose process is killed


def sweep(
    composed: DictConfig, lines: list[list[str]], loader: "ConfigLoader", launcher: "Launcher"
) -> None:
    """Ends the process with exit code 1 if a cell failed or is invalid."""
    if composed.beside:
        raise TrlapError("beside: a sweep shows its cells one by one; leave it out")
    jobs = expand(composed, lines, loader)
    if composed.plan:
        print(plan(jobs))
    else:
        make_folder(composed.outputs, "outputs")
        cells = [job for job in jobs if job.cell]
        name = composed.sweep or _name(composed, cells)
        stop = stop_file(composed.outputs, name)
        stop.unlink(missing_ok=True)
        try:
            with view(jobs):
                _launch(cells, launcher, name, stop)
        except BaseException as error:
            _say_interrupted(cells)
            if signals.received() or not isinstance(error, Exception):
                done = sum(job.state() not in OPEN for job in cells)
                tell(
                    f"interrupted; {done} of {len(cells)} cells are done, the same command does the rest"
                )
            raise
        print(table(jobs))
    if any(job.state() in ("failed", "invalid") for job in jobs):
        sys.exit(1)


def stop_file(outputs: str, name: str | None) -> Path:
    """Where it stands, a sweep with fail_fast=true starts no further cell."""
    return Path(outputs) / "cache" / "sweeps" / f"{name}.stop"


def _name(composed: DictConfig, jobs: list[Job]) -> str:
    """The same cells give the same name, whatever else is on the command line."""
    experiment = composed.hydra.runtime.choices.get("experiment") or "sweep"
    return f"{experiment}-{digest(sorted(job.name for job in jobs), 8)}"


def _launch(jobs: list[Job], launcher: "Launcher", name: str, stop: Path) -> None:
    """Launch what is to do until all is settled. Cells that others work on are waited for at the end.

    A cell whose process was killed is tried again, by itself, for it may take others along.
    """
    left = jobs
    while left := [job for job in left if job.state() in OPEN]:
        free = [job for job in left if job.cell and job.cell.lock.owner() is None]
        if stop.exists():
            return
        if not free:
            time.sleep(POLL)
            continue
        batch = [job for job in free if job.state() == "running"][:1] or free
        error = "its process ended before it did"
        try:
            lines = [[*job.overrides, f"sweep='{name}'"] for job in batch]
            for job, done in zip(batch, launcher.launch(lines, initial_job_idx=0), strict=True):
                job.reason = done.return_value or ""
        except Exception:
            error = traceback.format_exc()
            if all(job.state() == "to do" for job in batch):  # it cannot start any
                for job in batch:
                    job.reason = error
        for job in batch:
            job.tries += job.state() != "to do"
            if job.tries == TRIES and job.state() in OPEN:
                job.reason = error


def _say_interrupted(jobs: list[Job]) -> None:
    """Workers that ended with this process could not say it themselves."""
    here = [job.cell for job in jobs if job.cell and job.state() == "running"]
    deadline = time.monotonic() + 5
    while any(cell.lock.owner() for cell in here) and time.monotonic() < deadline:
        time.sleep(POLL / 5)
    for cell in here:
        cell.interrupt()


def inside() -> bool:
    """Is this process asked for a cell of a sweep?"""
    return not OmegaConf.is_missing(HydraConfig.get().job, "num")


def work(composed: DictConfig) -> str | None:
    """A launcher's job: one cell. Returns why it failed where status.json cannot say so."""
    progress.quiet = True
    stop = stop_file(composed.outputs, composed.sweep)
    if composed.fail_fast and stop.exists():
        return None
    try:
        # a process of a launcher's has no handlers yet
        with signals.heeded(die=True):
            pipeline.run(config_from(composed), wait=False)
    except Busy:
        return None
    except Exception as error:
        reason = str(error) if isinstance(error, TrlapError) else traceback.format_exc()
        if composed.fail_fast:
            write_text(stop, reason)
        return reason
    return None
