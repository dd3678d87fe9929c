"""Which columns of a table are texts, and whether its first row can be a header.

A header is written back as it is. So a first row that is data would pass in the clear, and the first row is
taken for data, and refused as a header, when

- a column that was asked for is called by more than two words, by more than 40 characters, or by something
  that ends like a sentence;
- any of its cells is a number, a date or a time;
- two of its cells are equal;
- one of its cells stands again below, in the same column, among the first 2,000 rows.

A first row of data that shows none of this, with a cell that was asked for as a column, is taken for a header.

No message quotes a first row unless each cell of it is one short word, as names of columns are.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trlap.errors import TrlapError

_LONGEST_NAME = 40
_MOST_WORDS = 2
_SHOWN = 20
_IDENTIFIER = re.compile(r"[^\W\d][\w.-]{0,31}")
# digits, signs and marks alone
_NUMBER = re.compile(r"(?=.*\d)[\d\W_]+", re.DOTALL)
_NO_HEADER = "the first row looks like data; if there is no header, add header=false column=N"
_NUMBERED = "N being the column's number, from 1"


@dataclass(frozen=True)
class Columns:
    """The texts: columns by their names, or by their numbers from 1 where a table has no header."""

    names: tuple[str, ...] = ("text",)
    header: bool = True

    def places(self, name: str, first_row: Sequence[str]) -> list[int]:
        """Where the texts stand in a row, from 0, in order. `name` is the file's."""
        if not self.header:
            return self._numbered(name, len(first_row))
        if self._is_data(first_row):
            raise TrlapError(f"{name}: {_NO_HEADER}, {_NUMBERED}")
        for column in self.names:
            if column not in first_row:
                raise TrlapError(f"{name}: {missing(column, first_row)}")
        repeated = [cell for cell, times in Counter(first_row).items() if cell and times > 1]
        if repeated or any(first_row.count(column) > 1 for column in self.names):
            raise TrlapError(
                f"{name}: two columns have one name; rename one, "
                f"or if there is no header, add header=false column=N, {_NUMBERED}"
            )
        return sorted(first_row.index(column) for column in self.names)

    def check_row(self, name: str, header: Sequence[str], row: Sequence[str]) -> None:
        """Refuse a header of which a cell is a value, too."""
        if any(cell and cell == above for cell, above in zip(row, header, strict=True)):
            raise TrlapError(f"{name}: {_NO_HEADER}, {_NUMBERED}")

    def _numbered(self, name: str, width: int) -> list[int]:
        numbers = [int(column) for column in self.names]
        if max(numbers) > width:
            raise TrlapError(f"{name}: there is no column {max(numbers)}; it has {width}")
        return sorted(number - 1 for number in numbers)

    def _is_data(self, first_row: Sequence[str]) -> bool:
        asked = set(self.names)
        return any(
            _NUMBER.fullmatch(cell) or (cell in asked and _like_a_sentence(cell))
            for cell in first_row
        )


def columns_from(column: Any, header: bool) -> Columns:
    """`column=text`, `column=[title,body]`, or `header=false column=2`, as a config has them."""
    given = column if isinstance(column, list | tuple) else [column]
    names = tuple(str(each) for each in given)
    plain = all(isinstance(each, str | int | float) and each != "" for each in given)
    if not given or not plain or any(isinstance(each, bool) for each in given):
        raise TrlapError("column: give the name of a column, or several as column=[a,b]")
    if len(set(names)) < len(names):
        raise TrlapError("column: a column is named twice")
    if not header and not all(re.fullmatch(r"[1-9][0-9]{0,8}", each) for each in names):
        raise TrlapError(f"header=false: give column=N, {_NUMBERED}, or several as column=[1,3]")
    return Columns(names, header)


def missing(column: str, columns: Sequence[str]) -> str:
    """Why a column was not found. Names are shown only where they look like names."""
    named = f"no column {column!r}" if _IDENTIFIER.fullmatch(column) else "no such column"
    if columns and all(_IDENTIFIER.fullmatch(each) for each in columns):
        shown = ", ".join(columns[:_SHOWN]) + (", …" if len(columns) > _SHOWN else "")
        return f"{named}; it has {shown}; set column="
    many = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
    return f"{named} among {many}; set column=, or if there is no header, header=false column=N"


def _like_a_sentence(cell: str) -> bool:
    ends = cell.rstrip().endswith((".", "!", "?", "…", ",", ";", ":"))
    return ends or len(cell) > _LONGEST_NAME or len(cell.split()) > _MOST_WORDS
