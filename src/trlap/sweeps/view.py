"""What is seen of a sweep: one line a cell while it goes on, a table in the end."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from trlap.runs.cell import Status
from trlap.runs.summary import headline
from trlap.sweeps.grid import OPEN, Job

STATUS = "status.json"
POLL = 0.5  # seconds between two looks at the cells


@contextmanager
def view(jobs: list[Job]) -> Iterator[None]:
    """In place on a terminal, elsewhere a line when a cell's state changes."""
    with _on_a_terminal(jobs) if sys.stdout.isatty() else _line_by_line(jobs):
        yield


@contextmanager
def _on_a_terminal(jobs: list[Job]) -> Iterator[None]:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    def picture() -> Text:
        lines = [line_of(job) for job in jobs]
        room = console.size.height - 2
        if len(lines) > room:  # what is settled is of less interest
            lines.sort(key=lambda line: line.split()[0] not in ("running", "failed"))
            lines = [*lines[: room - 1], f"  … and {len(jobs) - room + 1} more"]
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")

    console = Console()
    with Live(console=console, get_renderable=picture, refresh_per_second=2, transient=True):
        yield


@contextmanager
def _line_by_line(jobs: list[Job]) -> Iterator[None]:
    shown = {job.name: job.state() for job in jobs if job.state() in ("to do", "done")}

    def look() -> None:
        for number, job in enumerate(jobs, 1):
            state = job.state()
            if shown.get(job.name) != state:
                shown[job.name] = state
                print(f"[{number}/{len(jobs)}] {line_of(job, state)}", flush=True)

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


def line_of(job: Job, state: str | None = None) -> str:
    state = state or job.state()
    if state not in OPEN and job.line:
        return job.line
    status = job.cell.status() if job.cell else Status()
    parts = [f"{state:<8} {job.name}"]
    if state == "running":
        parts += [duration(time.time() - status.started), status.stage or ""]
    elif state in ("ok", "done") and job.cell:
        parts += [duration(status.seconds or 0.0), headline(job.cell.result())]
    elif state in ("failed", "invalid"):
        parts.append(job.reason.strip().split("\n")[-1] or status.reason)
    line = "   ".join(part for part in parts if part)
    if state not in OPEN:
        job.line = line
    return line


def table(jobs: list[Job]) -> str:
    """How a sweep ended: all cells, what became of them, where they are."""
    states = [job.state() for job in jobs]
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    lines = [f"trlap · {cells(len(jobs))} · {', '.join(counts)}", ""]
    width = max(len(job.name) for job in jobs)
    for job, state in zip(jobs, states, strict=True):
        head, _, tail = line_of(job, state).partition(job.name)
        lines.append(f"  {head}{job.name:<{width}}{tail}")
    for job, state in zip(jobs, states, strict=True):
        # a cell that no launcher could start has none
        if state == "failed" and job.cell and (job.cell.folder / STATUS).is_file():
            lines.append(f"  see {job.cell.folder / STATUS}")
    offline = [job.cell for job in jobs if job.cell and job.cell.config.wandb.mode == "offline"]
    if offline:
        where = offline[0].outputs / "*" / "wandb" / "offline-run-*"
        lines.append(f"  to have them in W&B: wandb sync {where}")
    return "\n".join(line.rstrip() for line in lines)


def cells(count: int) -> str:
    return f"{count} cell" if count == 1 else f"{count} cells"


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
