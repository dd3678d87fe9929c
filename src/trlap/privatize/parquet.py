"""Parquet: the text columns change; the schema, its metadata and all other columns stay (but times that are
stored as INT96, an outdated type, become INT64).

Metadata stay whatever they hold. A program that puts samples of a text there, or copies a text into an index,
publishes them.

A null stays a null. Texts are of type string, large_string or string_view, which they keep; a dictionary of
strings becomes plain strings. Groups of rows keep their sizes up to 65,536 rows, which is what is held in
memory at once; larger ones are cut. Pages are written anew, so that nothing of the old texts stays in
dictionaries or statistics.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from trlap.errors import TrlapError
from trlap.privatize import lines
from trlap.privatize.columns import Columns, missing
from trlap.privatize.lines import Change

if TYPE_CHECKING:
    import pyarrow as pa

# rows
GROUP = 65_536

Result = TypeVar("Result")


class Source:
    """A parquet file whose texts are wanted. Every failure to read it is one line that quotes nothing."""

    def __init__(self, name: str, columns: Columns) -> None:
        from pyarrow import parquet

        self.name = name
        self.file: Any = self._read(
            lambda: parquet.ParquetFile(name, page_checksum_verification=True),
            "not a parquet file, or a damaged one",
        )
        self.schema: pa.Schema = self._read(lambda: self.file.schema_arrow)
        self.count: int = self._read(lambda: self.file.metadata.num_rows)
        names = self._read(lambda: self.schema.names)
        for column in columns.names:
            if column not in names:
                raise TrlapError(f"{name}: {missing(column, names)}")
            if names.count(column) > 1:
                raise TrlapError(f"{name}: two columns have one name; rename one")
        self.places = sorted(names.index(column) for column in columns.names)
        for place in self.places:
            new = self._text_field(self.schema.field(place))
            self.schema = self.schema.set(place, new)

    def _text_field(self, field: "pa.Field") -> "pa.Field":
        """The field, with strings for a dictionary of strings."""
        import pyarrow as pa

        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if kind not in (pa.string(), pa.large_string(), pa.string_view()):
            raise TrlapError(f"{self.name}: a text column holds something that is not text")
        return field.with_type(kind)

    def groups(self) -> Iterator[Iterator["pa.RecordBatch"]]:
        """Groups of rows, in batches."""
        for group in range(self.file.num_row_groups):
            yield self._batches(group)

    def _batches(self, group: int) -> Iterator["pa.RecordBatch"]:
        batches = self._read(lambda: self.file.iter_batches(lines.BATCH, row_groups=[group]))
        while (batch := self._read(lambda: next(batches, None))) is not None:
            yield batch

    def texts(self, batch: "pa.RecordBatch") -> list[list[str | None]]:
        """The text columns of a batch."""

        def read() -> list[list[str | None]]:
            return [batch.column(place).to_pylist() for place in self.places]

        return self._read(read)

    def _read(self, action: Callable[[], Result], reason: str = "the file is damaged") -> Result:
        """What an action gives. Whatever fails while a file is read, the file is damaged."""
        try:
            return action()
        except FileNotFoundError:
            reason = "no such file"
        except PermissionError:
            reason = "permission denied"
        except Exception:
            pass
        raise TrlapError(f"{self.name}: {reason}")


def rewrite(name: str, output: BinaryIO, columns: Columns, change: Change) -> None:
    """Write a parquet file with its texts changed."""
    import pyarrow as pa
    from pyarrow import parquet

    source = Source(name, columns)
    done, waiting = 0, list[pa.RecordBatch]()
    # names inside of lists stay as they are, too
    writer = _written(
        name,
        lambda: parquet.ParquetWriter(output, source.schema, use_compliant_nested_type=False),
    )

    def write() -> None:
        table = pa.Table.from_batches(waiting, source.schema)
        _written(name, lambda: writer.write_table(table, GROUP))
        waiting.clear()

    with writer:
        for group in source.groups():
            for batch in group:
                done += len(batch)
                waiting.append(_changed(source, batch, done, change))
                if sum(map(len, waiting)) + lines.BATCH > GROUP:
                    write()
            if waiting:
                write()
    if done != source.count:
        raise TrlapError(f"{name}: the file is damaged")


def _written(name: str, action: Callable[[], Result]) -> Result:
    """What an action gives, or one line where a column is of a kind that pyarrow reads but cannot write."""
    import pyarrow as pa

    try:
        return action()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        pass
    raise TrlapError(f"{name}: a column is of a kind that cannot be written")


def texts_of(name: str, columns: Columns) -> Iterator[list[str]]:
    """The texts that each call of `change` gets from `rewrite`, in the same batches."""
    source = Source(name, columns)
    for group in source.groups():
        for batch in group:
            if texts := _given(source.texts(batch)):
                yield texts


def _given(columns: list[list[str | None]]) -> list[str]:
    """All texts that are no null, column after column."""
    return [text for column in columns for text in column if text is not None]


def _changed(
    source: Source, batch: "pa.RecordBatch", done: int, change: Change
) -> "pa.RecordBatch":
    import pyarrow as pa

    columns = source.texts(batch)
    texts = _given(columns)
    private = change(texts, min(1.0, done / max(1, source.count))) if texts else []
    if len(private) != len(texts):
        raise RuntimeError(f"{len(texts)} texts went in and {len(private)} came out")
    following = iter(private)
    arrays = list(batch.columns)
    for place, column in zip(source.places, columns, strict=True):
        new = [None if text is None else next(following) for text in column]
        arrays[place] = pa.array(new, source.schema.field(place).type)
    return pa.RecordBatch.from_arrays(arrays, schema=source.schema)
