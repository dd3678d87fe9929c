"""What is meant for a person: one exception whose message is a line that says what to do, and where it goes."""

import sys
from contextlib import suppress


class TrlapError(Exception):
    """Bad input or a missing resource. Printed as one line, without a traceback; exit code 2."""


def tell(message: str) -> None:
    """Print on standard error, or nowhere where it is closed: `print` would take standard output then."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(message, file=sys.stderr, flush=True)
