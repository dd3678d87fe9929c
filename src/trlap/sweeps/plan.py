"""The plan: what would run, what is done, about how long. Runs nothing.

What is done of a cell are the folders of its stages that are in the cache. How long the rest takes is known
from finished cells of the same kind.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig

from trlap.errors import TrlapError
from trlap.files import digest, say_once
from trlap.runs import manifest, result
from trlap.runs.cell import Cell, read_status
from trlap.runs.records import Json
from trlap.runs.summary import headline
from trlap.stages import DEPENDED, STAGES
from trlap.stages.noise import NOISE
from trlap.sweeps.grid import Job, checked
from trlap.sweeps.view import cells, duration

SHARED = {stage.name for stage in STAGES if stage.shared}
# a kind of cells: all that stages depend on, but for the noise
KIND = (DEPENDED - (set(NOISE) - {"protocol"}) - {"oov", "seed"}) | {"stages"}


def plan_of(composed: DictConfig) -> str:
    """The plan of a single run."""
    cell = checked(composed)
    return plan([Job([], cell.name, cell, before=cell.status())])


@dataclass(frozen=True)
class Measured:
    """A finished cell: what its stages took."""

    kind: str
    mechanism: str
    seconds: dict[str, float]
    size: int


@dataclass(frozen=True)
class Estimate:
    seconds: float = 0.0
    size: int = 0


@dataclass(frozen=True)
class Line:
    """A job in the plan; `estimate` is null where no cell of its kind was measured."""

    state: str
    text: str
    ahead: bool = False
    estimate: Estimate | None = None


def plan(jobs: list[Job]) -> str:
    known: dict[Path, list[Measured]] = {}
    lines = [_line(job, known) for job in jobs]
    states = [line.state for line in lines]
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    head = f"plan · {cells(len(jobs))} · {', '.join(counts)}"
    if collapsed := sum(len(job.same) for job in jobs):
        head += f" · {collapsed} more the same as one of these"
    ahead = [line for line in lines if line.ahead]
    estimates = [line.estimate for line in ahead if line.estimate is not None]
    foot = []
    if estimates:
        seconds = sum(estimate.seconds for estimate in estimates)
        size = sum(estimate.size for estimate in estimates)
        foot.append(f"about {duration(seconds)} one after another and {_bytes(size)} of disk")
    if unknown := len(ahead) - len(estimates):
        foot.append(f"not counted: {cells(unknown)} of a kind that was never measured")
    texts = [f"  {line.state:<8} {line.text}".rstrip() for line in lines]
    return "\n".join([head, "", *texts, *(["", *foot] if foot else [])])


def _line(job: Job, known: dict[Path, list[Measured]]) -> Line:
    state, parts = job.state(), []
    estimate, ahead = None, False
    if state == "to do" and job.cell:
        ahead, outputs = True, job.cell.outputs
        done = [] if job.cell.config.force else stages_done(job.cell)
        if done:
            state = "partial"
            parts.append("has " + ", ".join(done))
        if job.before.status == "failed":
            parts.append("failed: " + job.before.reason)
        if outputs not in known:
            known[outputs] = measured(outputs)
        estimate = _estimate(known[outputs], job.cell, done)
        if estimate is None:
            parts.append("no measured cell yet")
        else:
            parts.append(f"about {duration(estimate.seconds)}, {_bytes(estimate.size)}")
        if owner := job.cell.lock.owner():
            parts.append(f"process {owner.pid} on {owner.host} works on it")
    elif state == "done" and job.cell:
        parts.append(headline(job.cell.result()))
    elif state == "invalid":
        parts.append(job.reason)
    if job.same:
        parts.append(f"also {', '.join(job.same)}")
    text = f"{job.name}   {' · '.join(part for part in parts if part)}"
    return Line(state, text, ahead, estimate)


def stages_done(cell: Cell) -> list[str]:
    """Stages of its own whose folders are in the cache."""
    cache = cell.outputs / "cache"
    folders = cell.identity.folders.items()
    return [
        name
        for name, at in folders
        if name not in SHARED and (cache / at / manifest.FILE).is_file()
    ]


def measured(outputs: Path) -> list[Measured]:
    """The finished cells of a folder."""
    found = []
    for path in outputs.glob("*/result.json"):
        status = read_status(path.parent)
        if status.status != "ok":
            continue
        try:
            run = result.read(path)
        except TrlapError as error:
            say_once(f"not counted: {error}")
            continue
        folders = [
            outputs / "cache" / at for stage, at in status.stages.items() if stage not in SHARED
        ]
        found.append(
            Measured(
                kind(run.provenance.config),
                run.mechanism,
                {stage: s for stage, s in run.seconds.items() if stage not in SHARED},
                sum(_size(folder) for folder in [path.parent, *folders] if folder.is_dir()),
            )
        )
    return found


def _estimate(known: list[Measured], cell: Cell, done: list[str]) -> Estimate | None:
    """Seconds and bytes from cells of the same kind, of the same mechanism where there are any.

    A stage that such a cell found in the cache took next to no time; the longest is the one that worked.
    """
    own = kind(cell.config.composed)
    alike = [other for other in known if other.kind == own]
    alike = [other for other in alike if other.mechanism == cell.config.mechanism.name] or alike
    if not alike:
        return None
    stages = {stage for other in alike for stage in other.seconds} - set(done)
    seconds = sum(max(other.seconds.get(stage, 0) for other in alike) for stage in stages)
    return Estimate(seconds, round(statistics.mean(other.size for other in alike)))


def kind(composed: Mapping[str, Json]) -> str:
    return digest({key: composed.get(key) for key in sorted(KIND)})


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _bytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"
