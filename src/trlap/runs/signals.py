"""SIGTERM and SIGHUP end a run as Ctrl-C does: what is open is closed, status and exit code say so."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# what a cluster, a service manager or a closed terminal sends
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_received: list[int] = []
# how many `deferred` are open
_open = 0


class Stopped(SystemExit):
    """A signal came. The exit code is that of a shell: 128 and the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


def _stop(number: int, frame: FrameType | None) -> None:
    """Only the first one raises, since a second would break off the tidying up."""
    _received.append(number)
    if len(_received) == 1 and not _open:
        raise Stopped(number)


def received() -> bool:
    """Whether a signal came, whatever became of its exception: some libraries turn it into another."""
    return bool(_received)


def check() -> None:
    """Raise again: an exception in the wrong place, such as a destructor, is lost. Long loops ask for it."""
    if received():
        raise Stopped(_received[0])


@contextmanager
def deferred() -> Iterator[None]:
    """What is done inside belongs together: a signal that comes meanwhile raises at its end."""
    global _open
    _open += 1
    try:
        yield
    finally:
        _open -= 1
    if not _open:
        check()


@contextmanager
def heeded(die: bool = False) -> Iterator[None]:
    """Inside, the signals raise `Stopped`, and it does not end without raising if one came.

    A signal that is ignored (`nohup`) stays so, and where a launcher has a handler of its own, that one
    stays. With `die` the process then ends by the signal itself, which is what those expect who manage
    worker processes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    if not ours:
        yield
        return
    for number in ours:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
        came = _received[:1]
        _received.clear()
        for number in came:
            if die:
                os.kill(os.getpid(), number)
            raise Stopped(number)
