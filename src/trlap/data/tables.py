"""Tables of text with separators, checked row by row before a faster reader takes them.

That reader fills a row that is too short and joins rows that a stray quote spans, both without a word.
"""

import csv
import sys
from pathlib import Path

from trlap.data.tokenizer import utf8_lines
from trlap.errors import TrlapError


def check_characters(path: Path) -> None:
    """A text file is UTF-8 and has no NUL, at which some readers end a field."""
    for number, line in enumerate(utf8_lines(path), start=1):
        if "\0" in line:
            raise TrlapError(
                f"{path}: line {number:,} holds a NUL, so this is no text; save it as UTF-8"
            )


def check_rows(path: Path) -> tuple[list[str], int]:
    """The names of the columns, and how many rows there are; blank lines count too."""
    # a field may be a whole book
    csv.field_size_limit(sys.maxsize)
    count = 0
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix.lower() == ".tsv":
            rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        else:
            rows = csv.reader(file, strict=True)
        try:
            header = next(rows, [])
            _check_header(path, header)
            for count, row in enumerate(rows, start=1):
                if row and len(row) < len(header):
                    raise TrlapError(
                        f"{path}: row {count:,} has {len(row)} fields, but the first line names "
                        f"{len(header)} (line {rows.line_num:,})"
                    )
        except csv.Error:
            raise TrlapError(
                f"{path}: row {count + 1:,} has a quote that is not closed, or one inside a quoted "
                f"field that is not doubled (line {rows.line_num:,})"
            ) from None
    return header, count


def _check_header(path: Path, header: list[str]) -> None:
    if not any(header):
        raise TrlapError(f"{path}: the first line must name the columns, but it is blank")
    for name in header:
        if header.count(name) > 1:
            raise TrlapError(f"{path}: two columns have the same name; give each its own")


def named(columns: list[str]) -> str:
    """The names of columns for a message; not where they look like text, as without a first line of names."""
    if any(" " in name or len(name) > 40 for name in columns):
        return "others; does the first line name the columns?"
    return ", ".join(columns)
