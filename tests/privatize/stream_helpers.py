"""What tests of a user's files share: a change one can see, and a file sent through it."""

from pathlib import Path

import pytest

from trlap.errors import TrlapError
from trlap.privatize import output
from trlap.privatize.columns import Columns
from trlap.privatize.streams import transform


def upper(texts: list[str], share: float | None) -> list[str]:
    """Capital letters instead of noise."""
    assert share is None or 0 < share <= 1
    return [text.upper() for text in texts]


def columns(*names: str, header: bool = True) -> Columns:
    return Columns(names or ("text",), header)


def through(folder: Path, kind: str, content: str | bytes, chosen: Columns | None = None) -> bytes:
    """A file after `upper`."""
    source, target = folder / f"in{kind}", folder / f"out{kind}"
    target.unlink(missing_ok=True)
    source.write_bytes(content.encode() if isinstance(content, str) else content)
    with output.opened(target) as stream:
        transform(str(source), stream, kind, chosen or columns(), upper)
    return target.read_bytes()


def refusal(folder: Path, kind: str, content: str | bytes, chosen: Columns | None = None) -> str:
    """The line that says why a file is refused. Nothing was written, and the error keeps no other."""
    with pytest.raises(TrlapError) as error:
        through(folder, kind, content, chosen)
    assert error.value.__cause__ is None and error.value.__context__ is None
    assert [path for path in folder.iterdir() if not path.name.startswith("in.")] == []
    (line,) = str(error.value).splitlines()
    return line
