"""A defect of ours while text is at hand: its kind and its place are shown, never a message or a value.

Messages of exceptions quote what they stumbled over, and that may be the text to be protected.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trlap.errors import TrlapError, tell

_PACKAGE = Path(__file__).resolve().parent.parent


@contextmanager
def without_text() -> Iterator[None]:
    """An exception that nobody foresaw is reported without its message, and ends the process with code 1."""
    try:
        yield
    except TrlapError:
        raise
    except Exception as error:
        tell(describe(error))
        raise SystemExit(1) from None


def describe(error: BaseException) -> str:
    """The kind of an exception, and where in our code it arose."""
    lines = [
        f"error: {type(error).__name__}, a defect of trlap; its message may hold text, so it is not shown"
    ]
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE) or path.parent.name == "scripts":
            shown = (
                path.relative_to(_PACKAGE.parent) if path.is_relative_to(_PACKAGE) else path.name
            )
            lines.append(f"  {shown}:{frame.lineno} in {frame.name}")
    return "\n".join(lines)
