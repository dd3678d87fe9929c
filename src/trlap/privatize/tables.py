"""CSV and TSV: rows are cut into their fields, and all but the texts is written back as it stands.

CSV is read strictly, as RFC 4180 has it: a field that begins with a quotation mark ends with one, and a
quotation mark inside is written twice. A mark anywhere else is refused, for programs disagree on where such
a row ends. TSV is as corpora have it: no quoting, so that a quotation mark is a character. A field that begins
with one and does not close it is refused, for a program that quotes fields would go on over tabs and lines.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from trlap.errors import TrlapError
from trlap.privatize.columns import Columns
from trlap.privatize.lines import LONGEST, Lines, Row, cut_end

# Rows whose cells may show that the first row is data. Fewer than a batch, so that nothing is written yet.
CHECKED = 2000
# Rows in which the separator is looked for, and what separates fields in files that are no CSV.
FIRST = 50
SEPARATORS = {";": "semicolon", "|": "vertical bar", "\t": "tab"}
# It never gives back what it took, so that a field without its end does not match.
_QUOTED = re.compile(r'"(?:[^"]++|"")*+"')
_BARE = re.compile(r'[^",]*')
_BREAKS_ROW = re.compile(r"[\t\r\n]")
_NEEDS_QUOTES = re.compile(r'[",\r\n]')


class Table:
    """Fields between delimiters; the columns are found in the first row that is not blank."""

    misplaced = (
        "a field begins with a quotation mark that is not closed in it, so that programs disagree on "
        "where it ends; save the file as .csv"
    )

    def __init__(self, columns: Columns, delimiter: str) -> None:
        self.columns, self.delimiter = columns, delimiter
        self.width = 0

    def rows(self, lines: Lines) -> Iterator[Row]:
        places: list[int] | None = None
        header: list[str] = []
        checks = CHECKED
        for number, body, end in self.records(lines):
            # in a table of one column a blank row is an empty text, of which there is no other way to write it
            if not body and (places is None or self.width != 1):
                yield Row((end,), (), ())
                continue
            fields = self.split(body) if body else [""]
            if fields is None:
                raise lines.error(self.misplaced, number)
            if places is None:
                self.width = len(fields)
                header = [self.decode(field) for field in fields]
                places = self.columns.places(lines.name, header)
                if self.columns.header:
                    yield Row((body + end,), (), ())
                    continue
            if len(fields) != self.width:
                raise lines.error(f"{len(fields)} fields, but {self.width} columns", number)
            if checks and self.columns.header:
                checks -= 1
                self.columns.check_row(lines.name, header, [self.decode(each) for each in fields])
            yield self._row(fields, places, end)
        if places is None:
            raise TrlapError(f"{lines.name}: the file is empty")

    def _row(self, fields: list[str], places: Sequence[int], end: str) -> Row:
        raw = [fields[place] for place in places]
        gaps, start = [], 0
        for place in places:
            gaps.append(self._joined(fields, start, place))
            start = place + 1
        last = self.delimiter + self.delimiter.join(fields[start:]) if start < len(fields) else ""
        return Row([*gaps, last + end], [self.decode(field) for field in raw], raw)

    def _joined(self, fields: list[str], start: int, stop: int) -> str:
        """What stands before the field at `stop`, from the end of the field before `start` on."""
        before = "".join([field + self.delimiter for field in fields[start:stop]])
        return self.delimiter + before if start else before

    def records(self, lines: Lines) -> Iterator[tuple[int, str, str]]:
        """Each row: the number of its first line, its fields, the end of its last line."""
        for line in lines:
            body, end = cut_end(line)
            yield lines.number, body, end

    def split(self, body: str) -> list[str] | None:
        """The fields as they are written; None where a quotation mark is out of place."""
        fields = body.split(self.delimiter)
        if '"' in body and any(field[:1] == '"' and field.count('"') % 2 for field in fields):
            return None
        return fields

    def decode(self, field: str) -> str:
        return field

    def encode(self, text: str) -> str:
        if _BREAKS_ROW.search(text):
            raise RuntimeError("a private text holds a tab or more than one line")
        return text


class Commas(Table):
    """CSV. A row goes over several lines where a quoted field does.

    Some programs separate fields by other signs and call it CSV. Read with commas, such a file would lose its
    columns, and parts of a text would pass in the clear. Where each of the first rows has as many of such a
    sign outside quotation marks as the first one, the file is refused.
    """

    misplaced = (
        'a quotation mark where none can be; a field with one is written "in ""such"" marks"'
    )

    def __init__(self, columns: Columns) -> None:
        super().__init__(columns, ",")

    def records(self, lines: Lines) -> Iterator[tuple[int, str, str]]:
        records = self._records(lines)
        first = list(islice(records, FIRST))
        bare = [_QUOTED.sub("", body) for _, body, _ in first]
        self._check_separator(lines.name, [Counter(body) for body in bare if body.strip()])
        yield from first
        yield from records

    def _records(self, lines: Lines) -> Iterator[tuple[int, str, str]]:
        """Rows end where every quotation mark that was opened is closed, which counting tells."""
        parts: list[str] = []
        first = marks = size = 0
        for line in lines:
            first = first if parts else lines.number
            parts.append(line)
            marks += line.count('"')
            size += len(line)
            if size > LONGEST:
                break
            if marks % 2 == 0:
                yield first, *cut_end("".join(parts))
                parts, marks, size = [], 0, 0
        if parts:
            raise lines.error(
                "a quotation mark is opened in the row that begins here, and never closed", first
            )

    @staticmethod
    def _check_separator(name: str, seen: list[Counter[str]]) -> None:
        for sign, word in SEPARATORS.items():
            times = {row[sign] for row in seen}
            # in one row alone, one such sign may be a mark of the text
            if len(times) == 1 and times.pop() >= (1 if len(seen) > 1 else 2):
                raise TrlapError(
                    f"{name}: every row has as many {word}s, so that these seem to separate the fields; "
                    f"save the file with commas, or put fields that hold a {word} into quotation marks"
                )

    def split(self, body: str) -> list[str] | None:
        if '"' not in body:
            return body.split(",")
        fields, place = [], 0
        while True:
            pattern = _QUOTED if body.startswith('"', place) else _BARE
            field = pattern.match(body, place)
            if field is None:
                return None
            fields.append(field.group())
            place = field.end() + 1
            if field.end() == len(body):
                return fields
            if body[field.end()] != ",":
                return None

    def decode(self, field: str) -> str:
        return field[1:-1].replace('""', '"') if field.startswith('"') else field

    def encode(self, text: str) -> str:
        # alone in its row, nothing would be a blank line
        if _NEEDS_QUOTES.search(text) or (not text and self.width == 1):
            doubled = text.replace('"', '""')
            return f'"{doubled}"'
        return text


def commas(columns: Columns) -> Table:
    return Commas(columns)


def tabs(columns: Columns) -> Table:
    return Table(columns, "\t")
