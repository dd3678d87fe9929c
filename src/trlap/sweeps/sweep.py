"""Many cells: expand, check, collapse, plan; what is left goes to Hydra's launcher.

A cell that does not compose is invalid and the others go on; cells with the same hash are one; a cell
that is done is not done again. Each job records its own failure. Cells that another process works on come
last. What the view shows and what counts in the end is what status.json says.
"""

import statistics
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from trlap import progress
from trlap.config.schema import check, explain
from trlap.errors import TrlapError
from trlap.runs.cache import digest, read_json, write_text
from trlap.runs.cell import Cell
from trlap.runs.lock import Busy
from trlap.runs.summary import headline
from trlap.stages import pipeline

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader
    from hydra.plugins.launcher import Launcher

POLL = 0.5  # seconds between two looks at the cells
OPEN = ("to do", "running", "interrupted")
TRIES = 3  # of a cell whose process is killed
SHARED = ("corpus", "vocabulary", "embedding")  # by cells on the same data
KIND = "dataset embedding protocol stages model classifier classify metrics audit".split()


@dataclass
class Job:
    """One line of the grid: a cell, or the reason why it is none."""

    overrides: list[str]
    label: str  # the overrides that differ between jobs
    cell: Cell | None = None
    same: list[str] = field(default_factory=list)  # labels of jobs that turned out to be this cell
    reason: str = ""
    before: dict[str, Any] = field(default_factory=dict)  # status.json when the sweep started
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
            done = status.get("status") == "ok" and not self.cell.cfg.force
            return "done" if done else "to do"
        return str(status.get("status", "to do"))


def sweep(
    config: DictConfig, lines: list[list[str]], loader: "ConfigLoader", launcher: "Launcher"
) -> None:
    """Ends the process with exit code 1 if a cell failed or is invalid."""
    jobs = expand(config, lines, loader)
    if config.plan:
        print(plan(jobs))
    else:
        cells = [job for job in jobs if job.cell]
        name = config.sweep or _name(config, cells)
        stop = Path(config.outputs) / "cache" / "sweeps" / f"{name}.stop"
        stop.unlink(missing_ok=True)
        with view(jobs):
            _launch(cells, launcher, name, stop)
        print(table(jobs))
    if any(job.state() in ("failed", "invalid") for job in jobs):
        sys.exit(1)


def expand(config: DictConfig, lines: list[list[str]], loader: "ConfigLoader") -> list[Job]:
    """Compose and check every line before the first cell starts; equal cells become one."""
    fixed = set.intersection(*map(set, lines))
    jobs: dict[str, Job] = {}
    for line in lines:
        job = Job(line, " ".join(o for o in line if o not in fixed) or " ".join(line))
        try:
            cfg = loader.load_sweep_config(config, list(line))
            with open_dict(cfg):
                del cfg["hydra"]
            job.cell = checked(cfg)
        except (HydraException, OmegaConfBaseException) as error:
            job.reason = explain(error)
        except TrlapError as error:
            job.reason = str(error)
        else:
            job.before = job.cell.status()
        first = jobs.setdefault(job.name, job)
        if first is not job:
            first.same.append(job.label)
    return list(jobs.values())


def checked(cfg: DictConfig) -> Cell:
    """A cell that can start, as far as can be known before; its data may still be missing."""
    check(cfg)
    cell = Cell(cfg)
    if not cell.finished():
        from trlap.mechanisms import base as mechanism

        mechanism.parameters(cfg.mechanism.name, dict(cfg.mechanism))
    return cell


def _name(config: DictConfig, jobs: list[Job]) -> str:
    """The same cells give the same name, whatever else is on the command line."""
    experiment = config.hydra.runtime.choices.get("experiment") or "sweep"
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


def inside() -> bool:
    """Is this process asked for a cell of a sweep?"""
    return not OmegaConf.is_missing(HydraConfig.get().job, "num")


def work(cfg: DictConfig) -> str | None:
    """A launcher's job: one cell. Returns why it failed where status.json cannot say so."""
    progress.quiet = True
    stop = Path(cfg.outputs) / "cache" / "sweeps" / f"{cfg.sweep}.stop"
    if cfg.fail_fast and stop.exists():
        return None
    try:
        pipeline.run(cfg, wait=False)
    except Busy:
        return None
    except Exception as error:
        reason = str(error) if isinstance(error, TrlapError) else traceback.format_exc()
        if cfg.fail_fast:
            write_text(stop, reason)
        return reason
    return None


# ---------------------------------------------------------------------------------------------- views


@contextmanager
def view(jobs: list[Job]) -> Iterator[None]:
    """One line a cell: in place on a terminal, elsewhere a line when its state changes."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        def picture() -> Text:
            lines = [_line(job) for job in jobs]
            room = console.size.height - 2
            if len(lines) > room:  # what is settled is of less interest
                lines.sort(key=lambda line: line.split()[0] not in ("running", "failed"))
                lines = [*lines[: room - 1], f"  … and {len(jobs) - room + 1} more"]
            return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")

        console = Console()
        with Live(console=console, get_renderable=picture, refresh_per_second=2, transient=True):
            yield
        return

    shown = {job.name: job.state() for job in jobs if job.state() in ("to do", "done")}

    def look() -> None:
        for number, job in enumerate(jobs, 1):
            state = job.state()
            if shown.get(job.name) != state:
                shown[job.name] = state
                print(f"[{number}/{len(jobs)}] {_line(job, state)}", flush=True)

    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(POLL):
            look()

    look()
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        look()


def _line(job: Job, state: str | None = None) -> str:
    state = state or job.state()
    if state not in OPEN and job.line:
        return job.line
    status = job.cell.status() if job.cell else {}
    parts = [f"{state:<8} {job.name}"]
    if state == "running":
        parts += [_duration(time.time() - status["started"]), status.get("stage") or ""]
    elif state in ("ok", "done") and job.cell:
        parts += [_duration(status["seconds"]), headline(job.cell.result())]
    elif state in ("failed", "invalid"):
        parts.append((job.reason or status.get("error", "")).strip().split("\n")[-1])
    line = "   ".join(part for part in parts if part)
    if state not in OPEN:
        job.line = line
    return line


def table(jobs: list[Job]) -> str:
    """How a sweep ended: all cells, what became of them, where they are."""
    states = [job.state() for job in jobs]
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    lines = [f"trlap · {_cells(len(jobs))} · {', '.join(counts)}", ""]
    width = max(len(job.name) for job in jobs)
    for job, state in zip(jobs, states, strict=True):
        head, _, tail = _line(job, state).partition(job.name)
        lines.append(f"  {head}{job.name:<{width}}{tail}")
    for job, state in zip(jobs, states, strict=True):
        if state == "failed" and job.cell:
            lines.append(f"  see {job.cell.folder / 'status.json'}")
    offline = [job.cell for job in jobs if job.cell and job.cell.cfg.wandb.mode == "offline"]
    if offline:
        where = offline[0].outputs / "*" / "wandb" / "offline-run-*"
        lines.append(f"  to have them in W&B: wandb sync {where}")
    return "\n".join(line.rstrip() for line in lines)


# ----------------------------------------------------------------------------------------------- plan


def plan_of(cfg: DictConfig) -> str:
    """The plan of a single run."""
    cell = checked(cfg)
    return plan([Job([], cell.name, cell, before=cell.status())])


def plan(jobs: list[Job]) -> str:
    """What would run, what is done, about how long: runs nothing."""
    lines, states, seconds, size, unknown = [], [], 0.0, 0, 0
    known: dict[Path, list[Measured]] = {}
    for job in jobs:
        state, parts = job.state(), []
        if state == "to do" and job.cell:
            status, cfg = job.before, job.cell.cfg
            outputs = job.cell.outputs
            found = {} if cfg.force else _found(outputs, status.get("stages", {}))
            if found:
                state = "partial"
                parts.append("has " + ", ".join(name for name in found if name not in SHARED))
            if status.get("status") == "failed":
                parts.append("failed: " + status["error"].strip().split("\n")[-1])
            if outputs not in known:
                known[outputs] = list(measured(outputs))
            estimate = _estimate(known[outputs], cfg, found)
            if estimate is None:
                unknown += 1
                parts.append("no measured cell yet")
            else:
                seconds, size = seconds + estimate[0], size + estimate[1]
                parts.append(f"about {_duration(estimate[0])}, {_bytes(estimate[1])}")
            if owner := job.cell.lock.owner():
                parts.append(f"process {owner['pid']} on {owner['host']} works on it")
        elif state == "done" and job.cell:
            parts.append(headline(job.cell.result()))
        elif state == "invalid":
            parts.append(job.reason)
        if job.same:
            parts.append(f"also {', '.join(job.same)}")
        states.append(state)
        lines.append(f"  {state:<8} {job.name}   {' · '.join(part for part in parts if part)}")
    collapsed = sum(len(job.same) for job in jobs)
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    head = f"plan · {_cells(len(jobs))} · {', '.join(counts)}"
    if collapsed:
        head += f" · {collapsed} more the same as one of these"
    ahead = states.count("to do") + states.count("partial")
    foot = []
    if ahead > unknown:
        foot.append(f"about {_duration(seconds)} one after another and {_bytes(size)} of disk")
    if unknown:
        foot.append(f"not counted: {_cells(unknown)} of a kind that was never measured")
    return "\n".join([head, "", *(line.rstrip() for line in lines), *(["", *foot] if foot else [])])


@dataclass
class Measured:
    """A finished cell: what its stages took."""

    kind: str
    mechanism: str
    seconds: dict[str, float]
    size: int


def measured(outputs: Path) -> Iterator[Measured]:
    for file in outputs.glob("*/result.json"):
        status, result = read_json(file.with_name("status.json")), read_json(file)
        if status["status"] != "ok":
            continue
        own = _found(outputs, status.get("stages", {}))
        folders = [outputs / "cache" / own[stage] for stage in own if stage not in SHARED]
        yield Measured(
            _kind(result["provenance"]["config"]),
            result["mechanism"],
            {stage: s for stage, s in result["seconds"].items() if stage not in SHARED},
            sum(map(_size, [file.parent, *folders])),
        )


def _estimate(
    cells: list[Measured], cfg: DictConfig, found: Iterable[str]
) -> tuple[float, int] | None:
    """Seconds and bytes from cells of the same kind, of the same mechanism where there are any.

    A stage that such a cell found in the cache took next to no time; the longest is the one that worked.
    """
    kind = _kind(OmegaConf.to_container(cfg, resolve=True))
    alike = [cell for cell in cells if cell.kind == kind]
    alike = [cell for cell in alike if cell.mechanism == cfg.mechanism.name] or alike
    if not alike:
        return None
    stages = {stage for cell in alike for stage in cell.seconds} - set(found)
    seconds = sum(max(cell.seconds.get(stage, 0) for cell in alike) for stage in stages)
    return seconds, round(statistics.mean(cell.size for cell in alike))


def _kind(config: Any) -> str:
    return digest({key: config.get(key) for key in KIND})


def _found(outputs: Path, stages: dict[str, str]) -> dict[str, str]:
    """Of the stages that a cell finished, those whose folders are still there."""
    return {name: at for name, at in stages.items() if (outputs / "cache" / at).is_dir()}


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _cells(count: int) -> str:
    return f"{count} cell" if count == 1 else f"{count} cells"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _bytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"
