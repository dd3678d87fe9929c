"""A log file in every run's folder; `-v` shows the same on standard error. No text of a corpus goes there."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

VERBOSE = "TRLAP_VERBOSE"  # handed down to the processes of a sweep
FORMAT = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")


class LogFile(logging.FileHandler):
    """On a full disk the run goes on, or says itself why it cannot; `logging` would print a traceback."""

    def handleError(self, record: logging.LogRecord) -> None:
        pass


@contextmanager
def logged(path: Path) -> Iterator[None]:
    """What the package logs meanwhile is added to that file."""
    logger = logging.getLogger("trlap")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    handlers: list[logging.Handler] = [LogFile(path, encoding="utf-8")]
    if os.environ.get(VERBOSE):
        handlers.append(logging.StreamHandler(sys.stderr))
    for handler in handlers:
        handler.setFormatter(FORMAT)
        logger.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            logger.removeHandler(handler)
            with suppress(OSError):
                handler.close()
