"""The plan: what would run, what is done, about how long. Runs nothing.

What is done of a cell are the folders of its stages that are in the cache. How long the rest takes is known
from finished cells of the same kind, and the plan says whether these ran here or in the committed study.
"""

from dataclasses import dataclass

from omegaconf import DictConfig

from trlap.runs import beside, manifest
from trlap.runs.cell import Cell
from trlap.runs.summary import headline
from trlap.sweeps.grid import Job, checked
from trlap.sweeps.times import COMMITTED, SHARED, Estimate, Times
from trlap.sweeps.view import cells, duration


def plan_of(composed: DictConfig) -> str:
    """The plan of a single run, and of those beside it."""
    cells_of_it = [checked(config) for config in beside.configs(composed)]
    return plan([Job([], cell.name, cell, before=cell.status()) for cell in cells_of_it])


@dataclass(frozen=True)
class Line:
    """A job in the plan; `estimate` is null where no cell of its kind was measured."""

    state: str
    text: str
    ahead: bool = False
    estimate: Estimate | None = None


def plan(jobs: list[Job], times: Times | None = None) -> str:
    times = times or Times()
    lines = [_line(job, times) for job in jobs]
    states = [line.state for line in lines]
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    head = f"plan · {cells(len(jobs))} · {', '.join(counts)}"
    if collapsed := sum(len(job.same) for job in jobs):
        head += f" · {collapsed} more the same as one of these"
    texts = [f"  {line.state:<8} {line.text}".rstrip() for line in lines]
    foot = _foot([line.estimate for line in lines if line.ahead])
    return "\n".join([head, "", *texts, *(["", *foot] if foot else [])])


def _foot(estimates: list[Estimate | None]) -> list[str]:
    """How long all takes, by where that is known from, and what was never measured."""
    foot = []
    known = [estimate for estimate in estimates if estimate is not None]
    for source in dict.fromkeys(estimate.source for estimate in known):
        part = [estimate for estimate in known if estimate.source == source]
        seconds = sum(estimate.seconds for estimate in part)
        sizes = [estimate.size for estimate in part if estimate.size is not None]
        disk = f" and {_bytes(sum(sizes))} of disk" if sizes else ""
        foot.append(
            f"about {duration(seconds)} one after another{disk} for {cells(len(part))}, from {source}"
        )
    if unknown := estimates.count(None):
        foot.append(f"not counted: {cells(unknown)} of a kind that was never measured")
    return foot


def _line(job: Job, times: Times) -> Line:
    state, parts = job.state(), []
    estimate, ahead = None, False
    if job.cell:
        parts.append(f"protocol {job.cell.config.protocol.name}")
    if state == "to do" and job.cell:
        ahead = True
        done = [] if job.cell.config.force else stages_done(job.cell)
        if done:
            state = "partial"
            parts.append("has " + ", ".join(done))
        if job.before.status == "failed":
            parts.append("failed: " + job.before.reason)
        estimate = times.estimate(job.cell, done)
        parts.append(_about(estimate))
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


def _about(estimate: Estimate | None) -> str:
    if estimate is None:
        return "no measured cell yet"
    if estimate.source == COMMITTED:
        return f"about {duration(estimate.seconds)} in the study"
    disk = "" if estimate.size is None else f", {_bytes(estimate.size)}"
    return f"about {duration(estimate.seconds)}{disk}"


def stages_done(cell: Cell) -> list[str]:
    """Stages of its own whose folders are in the cache."""
    cache = cell.outputs / "cache"
    folders = cell.identity.folders.items()
    return [
        name
        for name, at in folders
        if name not in SHARED and (cache / at / manifest.FILE).is_file()
    ]


def _bytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"
