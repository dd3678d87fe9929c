"""A log file in every run's folder; `-v` shows the same on standard error. No text of a corpus goes there."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VERBOSE = "TRLAP_VERBOSE"  # handed down to the processes of a sweep
FORMAT = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")


@contextmanager
def logged(path: Path) -> Iterator[None]:
    """What the package logs meanwhile is added to that file."""
    logger = logging.getLogger("trlap")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    handlers: list[logging.Handler] = [logging.FileHandler(path, encoding="utf-8")]
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
            handler.close()
