"""The texts of a file, changed batch by batch in constant memory; all else stays as it is."""

from collections.abc import Callable, Iterator
from typing import BinaryIO

from trlap.privatize import lines, parquet
from trlap.privatize.columns import Columns
from trlap.privatize.json_lines import JsonLines
from trlap.privatize.lines import Change, Format, PlainText
from trlap.privatize.tables import commas, tabs

_OF_LINES: dict[str, Callable[[Columns], Format]] = {
    ".txt": lambda columns: PlainText(),
    ".csv": commas,
    ".tsv": tabs,
    ".jsonl": JsonLines,
}
FORMATS = (*_OF_LINES, ".parquet")
WITH_HEADER = (".csv", ".tsv")


def transform(source: str, output: BinaryIO, kind: str, columns: Columns, change: Change) -> None:
    """Read `source` (`-`: standard input), change its texts, write all to `output`.

    Raises TrlapError for a file that is not what its format asks for, by then having written a part. Its
    message names the line and never quotes it.
    """
    if kind == ".parquet":
        parquet.rewrite(source, output, columns, change)
        return
    with lines.opened(source) as opened:
        lines.rewrite(opened, output, _OF_LINES[kind](columns), change)


def batches_of_texts(source: str, kind: str, columns: Columns) -> Iterator[list[str]]:
    """What `transform` would hand to `change`, call by call."""
    if kind == ".parquet":
        yield from parquet.texts_of(source, columns)
        return
    with lines.opened(source) as opened:
        yield from lines.texts_of(opened, _OF_LINES[kind](columns))
