"""One column of a file, changed batch by batch in constant memory; all else stays as it is."""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO

from trlap.errors import TrlapError

FORMATS = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
# rows
BATCH = 2048
# takes texts and the share of the input that was read; gives as many texts back
Change = Callable[[list[str], float | None], list[str]]
csv.field_size_limit(2**31 - 1)


class Tabs(csv.excel):
    """Tab-separated text as corpora have it: no quoting, so a quotation mark is a character."""

    delimiter = "\t"
    quoting = csv.QUOTE_NONE
    quotechar = None


def transform(source: str, target: Path | None, kind: str, column: str, change: Change) -> None:
    """Read `source` (`-`: standard input), change the texts, write to `target` (None: standard output)."""
    if kind == ".parquet":
        if source == "-" or target is None:
            raise TrlapError("parquet cannot be streamed; give input= and output= as files")
        _parquet(source, target, column, change)
        return
    with ExitStack() as stack:
        reader = Lines(stack.enter_context(Path(source).open("rb")) if source != "-" else None)
        writer: IO[str] = sys.stdout
        if target is not None:
            writer = stack.enter_context(target.open("w", encoding="utf-8", newline=""))
        formats: dict[str, Callable[[Lines, IO[str], str, Change], None]] = {
            ".txt": _lines,
            ".jsonl": _json_lines,
            ".csv": partial(_table, dialect=csv.excel),
            ".tsv": partial(_table, dialect=Tabs),
        }
        formats[kind](reader, writer, column, change)
        writer.flush()


class Lines:
    """The lines of a UTF-8 file, counted, so that an error can name one and a bar can move."""

    def __init__(self, file: IO[bytes] | None) -> None:
        self.name = "standard input" if file is None else str(file.name)
        self.size = None if file is None else max(1, Path(file.name).stat().st_size)
        self.file = sys.stdin.buffer if file is None else file
        self.number = self.bytes = 0

    def __iter__(self) -> Iterator[str]:
        for line in self.file:
            self.number += 1
            self.bytes += len(line)
            try:
                yield line.decode("utf-8-sig" if self.number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise self.error("not UTF-8") from error

    @property
    def share(self) -> float | None:
        return None if self.size is None else self.bytes / self.size

    def error(self, reason: str) -> TrlapError:
        return TrlapError(f"{self.name}, line {self.number:,}: {reason}")


def _lines(reader: Lines, writer: IO[str], column: str, change: Change) -> None:
    lines = iter(reader)
    while batch := [line.rstrip("\r\n") for line in islice(lines, BATCH)]:
        writer.writelines(text + "\n" for text in change(batch, reader.share))


def _json_lines(reader: Lines, writer: IO[str], column: str, change: Change) -> None:
    def parse(line: str) -> dict[str, object]:
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise reader.error(f"not JSON ({error.msg})") from error
        if not isinstance(row, dict):
            raise reader.error(f"not an object with a column {column!r}")
        if column not in row:
            raise reader.error(_missing(column, row))
        if not isinstance(row[column], str | None):
            raise reader.error(f"column {column!r} is not text")
        return row

    rows = (parse(line) for line in reader if line.strip())
    while batch := list(islice(rows, BATCH)):
        texts = change([str(row[column] or "") for row in batch], reader.share)
        for row, text in zip(batch, texts, strict=True):
            writer.write(json.dumps({**row, column: text}, ensure_ascii=False) + "\n")


def _table(
    reader: Lines, writer: IO[str], column: str, change: Change, dialect: type[csv.Dialect]
) -> None:
    rows = csv.reader(reader, dialect)
    header = next(rows, None)
    if header is None:
        raise TrlapError(f"{reader.name}: the file is empty")
    if column not in header:
        raise TrlapError(f"{reader.name}: {_missing(column, header)}")
    place = header.index(column)
    output = csv.writer(writer, dialect, lineterminator="\n")
    output.writerow(header)

    def whole(row: list[str]) -> list[str]:
        if len(row) != len(header):
            raise reader.error(f"{len(row)} fields, but {len(header)} columns")
        return row

    filled = (whole(row) for row in rows if row)
    while batch := list(islice(filled, BATCH)):
        texts = change([row[place] for row in batch], reader.share)
        output.writerows(
            [*row[:place], text, *row[place + 1 :]] for row, text in zip(batch, texts, strict=True)
        )


def _parquet(source: str, target: Path, column: str, change: Change) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(source)
    except pa.ArrowInvalid as error:
        raise TrlapError(f"{source}: not a parquet file") from error
    names = table.schema_arrow.names
    if column not in names:
        raise TrlapError(f"{source}: {_missing(column, names)}")
    place, done = names.index(column), 0
    schema = table.schema_arrow.set(place, pa.field(column, pa.string()))
    with parquet.ParquetWriter(target, schema) as writer:
        for batch in table.iter_batches(BATCH):
            done += len(batch)
            texts = [text or "" for text in batch.column(place).to_pylist()]
            arrays = list(batch.columns)
            arrays[place] = pa.array(change(texts, done / table.metadata.num_rows), pa.string())
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))


def _missing(column: str, columns: Iterable[str]) -> str:
    return f"no column {column!r}; it has {', '.join(columns)}; set column="
