"""A progress bar on a terminal, nothing where nobody watches."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[float | None, int], None]
quiet = False  # a sweep has a view of its own, in which bars of single cells have no place


def watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and not quiet


@contextmanager
def progress(title: str, unit: str) -> Iterator[Show]:
    """Gives show(share done or None, amount done): a bar, the rate in `unit` a second, the time left."""
    if not watched():
        yield lambda share, amount: None
        return

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    rate = TextColumn("{task.fields[rate]}")
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), rate)
    console = Console(file=sys.stderr)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(title, total=None, rate="")
        start = time.perf_counter()

        def show(share: float | None, amount: int) -> None:
            speed = amount / max(time.perf_counter() - start, 1e-9)
            known = {} if share is None else {"total": 1.0, "completed": share}
            bar.update(task, rate=f"{speed:,.0f} {unit}/s", **known)  # type: ignore[arg-type]

        yield show
