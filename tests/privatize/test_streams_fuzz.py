"""Files by chance, whole and damaged: refused with one line, or the same rows with new texts.

What comes out is read by parsers that are not ours: Python's csv and json, and pyarrow.
"""

import csv
import io
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from trlap.errors import TrlapError
from trlap.privatize import lines, output
from trlap.privatize.columns import Columns
from trlap.privatize.streams import transform

# It has signs that no name of a column has, so that no list of names can hold it by chance.
SECRET = "w@iter w#s rüde"
TRIALS = int(os.environ.get("TRLAP_FUZZ", "300"))
fuzz = settings(
    max_examples=TRIALS,
    derandomize="TRLAP_FUZZ" not in os.environ,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)


def marked(text: str) -> str:
    """A new text from which the old one can be told, with signs that need care where they may stand."""
    return f'",{text.upper()}","' if text else ""


def shouted(text: str) -> str:
    return text.upper()


def changed(
    folder: Path, kind: str, content: bytes, columns: Columns, new: Callable[[str], str]
) -> bytes | None:
    """The file after the change; None where it was refused, with nothing written and nothing quoted."""
    source, target = folder / f"in{kind}", folder / f"out{kind}"
    target.unlink(missing_ok=True)
    source.write_bytes(content)
    try:
        with output.opened(target) as stream:
            transform(
                str(source), stream, kind, columns, lambda texts, share: [new(t) for t in texts]
            )
    except TrlapError as error:
        message = str(error)
        refused = True
        kept = error.__context__ or error.__cause__
    else:
        refused = False
    if refused:
        assert [path.name for path in folder.iterdir()] == [source.name]
        assert "w@iter" not in message and "w#s" not in message and "\n" not in message
        assert kept is None
        return None
    return target.read_bytes()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lines, "BATCH", 2)
    return tmp_path


SIGNS = [*(bytes([i]) for i in b'",\n\r\t\\ {}[]:a1\0\xff'), b"\r\n", b'""', "é\u2028\x85\ufeff".encode()]  # fmt: skip
WORDS = [
    SECRET,
    "",
    " ",
    "a",
    "né",
    'say "hi"',
    "a, b",
    "two\nlines",
    "\u2028\x85\x0b",
    "null",
    "7",
]
cells = st.sampled_from(WORDS)
ends = st.sampled_from(["\n", "\r\n"])
damages = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 3), st.sampled_from([b"", *SIGNS])), max_size=3
)
noise = st.lists(st.sampled_from(SIGNS), max_size=30).map(b"".join)


def damaged(content: bytes, damages: list[tuple[float, int, bytes]]) -> bytes:
    """Some bytes are taken out at some places, and others put there."""
    for place, length, sign in damages:
        start = int(place * len(content))
        content = content[:start] + sign + content[start + length :]
    return content


@st.composite
def tables(draw: Any, delimiter: str) -> tuple[bytes, Columns]:
    names = draw(st.sampled_from([("id", "text"), ("text",), ("text", "n", "more"), ("a", "text", "b")]))  # fmt: skip
    header = draw(st.booleans())
    rows = draw(st.lists(st.lists(cells, min_size=len(names), max_size=len(names)), max_size=6))
    file = io.StringIO()
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
    for row in [list(names)] * header + rows:
        end = draw(ends)
        if delimiter == "\t":
            file.write("\t".join(cell.replace("\n", " ") for cell in row) + end)
        else:
            csv.writer(file, quoting=quoting, lineterminator=end).writerow(row)
        file.write(end * draw(st.integers(0, 1)))
    content = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + file.getvalue().encode()
    content = damaged(content, draw(damages))
    if draw(st.integers(0, 9)) == 0:
        content = draw(noise)
    chosen = names.index("text") + 1
    return content, Columns(("text",)) if header else Columns((str(chosen),), header=False)


def rows_of(content: bytes, delimiter: str) -> list[list[str]]:
    """Python's own reading."""
    file = io.StringIO(content.decode("utf-8-sig"), newline="")
    if delimiter == ",":
        return list(csv.reader(file, strict=True))
    return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None))


@pytest.mark.parametrize(("kind", "delimiter", "new"), [(".csv", ",", marked), (".tsv", "\t", shouted)])  # fmt: skip
def test_tables(folder: Path, kind: str, delimiter: str, new: Callable[[str], str]) -> None:
    fates = []

    @fuzz
    @given(tables(delimiter))
    def trial(example: tuple[bytes, Columns]) -> None:
        content, columns = example
        found = changed(folder, kind, content, columns, new)
        fates.append(found is None)
        if found is None:
            return
        before, after = rows_of(content, delimiter), rows_of(found, delimiter)
        assert len(before) == len(after)
        full = [row for row in before if row]
        place = full[0].index("text") if columns.header else int(columns.names[0]) - 1
        for number, (old, now) in enumerate(zip(before, after, strict=True)):
            expected = list(old)
            if old and not (columns.header and before.index(full[0]) == number):
                expected[place] = new(old[place])
            assert now == expected
        assert found.count(b"\xef\xbb\xbf") >= content.startswith(b"\xef\xbb\xbf")

    trial()
    assert 0.1 < sum(fates) / len(fates) < 0.9


@st.composite
def json_lines(draw: Any) -> bytes:
    values = st.one_of(
        cells, st.none(), st.integers(), st.floats(), st.booleans(), st.lists(cells, max_size=2)
    )
    content = b""
    for _ in range(draw(st.integers(0, 6))):
        text = draw(st.one_of(cells, cells, st.none()))
        pairs = [("text", text), *draw(st.lists(st.tuples(cells, values), max_size=2))]
        random.Random(len(content)).shuffle(pairs)
        colon = draw(st.sampled_from([":", " : "]))
        plain = draw(st.booleans())
        inside = ",".join(
            json.dumps(key, ensure_ascii=plain) + colon + json.dumps(value, ensure_ascii=plain)
            for key, value in pairs
        )
        content += (draw(st.sampled_from(["", " "])) + "{" + inside + "}" + draw(ends)).encode()
        content += draw(ends).encode() * draw(st.integers(0, 1))
    return damaged(content, draw(damages)) if draw(st.integers(0, 9)) else draw(noise)


def pairs_of(content: bytes) -> list[Any]:
    """Python's own reading, with keys that stand there twice and numbers as they are written."""
    return [
        json.loads(line, object_pairs_hook=list, parse_int=str, parse_float=str, parse_constant=str)
        if line.strip(" \t\r")
        else None
        for line in content.decode("utf-8-sig").split("\n")
    ]


def test_json_lines(folder: Path) -> None:
    fates = []

    @fuzz
    @given(json_lines())
    def trial(content: bytes) -> None:
        found = changed(folder, ".jsonl", content, Columns(), marked)
        fates.append(found is None)
        if found is None:
            return
        before, after = pairs_of(content), pairs_of(found)
        for row in before:
            for place, (key, value) in enumerate(row or ()):
                if key == "text":
                    assert isinstance(value, str | None)
                    row[place] = (key, None if value is None else marked(value))
        assert after == before

    trial()
    assert 0.1 < sum(fates) / len(fates) < 0.9


@fuzz
@given(content=st.one_of(noise, st.lists(st.tuples(cells, ends)).map(
    lambda rows: "".join(text.replace("\n", " ") + end for text, end in rows).encode())))  # fmt: skip
def plain_text(folder: Path, content: bytes) -> None:
    found = changed(folder, ".txt", content, Columns(), shouted)
    if found is not None:
        assert found.decode() == content.decode().upper()
        assert found.count(b"\n") == content.count(b"\n")


def test_plain_text(folder: Path) -> None:
    plain_text(folder)


TABLE = pa.table(
    {
        "n": pa.array(range(20), pa.int32()),
        "text": [SECRET, "a", None, ""] * 5,
        "label": pa.array(["x", "yy", None, "z"] * 5).dictionary_encode(),
        "list": [[1], None, [], [2, 3]] * 5,
    }
).replace_schema_metadata({"mine": "yes"})


@pytest.mark.parametrize("checked", [True, False])
def test_parquet(folder: Path, checked: bool) -> None:
    """Without checksums a damage may be a value like any other; then it is the same in the output."""
    file = io.BytesIO()
    parquet.write_table(TABLE, file, row_group_size=8, write_page_checksum=checked)
    content, fates = file.getvalue(), []
    changes = st.tuples(st.floats(0, 1), st.integers(0, 3), st.binary(max_size=3))

    @fuzz
    @given(st.lists(changes, max_size=3))
    def trial(damages: list[tuple[float, int, bytes]]) -> None:
        found = changed(folder, ".parquet", damaged(content, damages), Columns(), shouted)
        fates.append(found is None)
        if found is None:
            return
        before = parquet.read_table(folder / "in.parquet")
        after = parquet.read_table(pa.BufferReader(found))
        texts = [text and text.upper() for text in before["text"].to_pylist()]
        assert after["text"].to_pylist() == texts
        assert after.schema.equals(before.schema, check_metadata=True)
        assert after.drop(["text"]).equals(before.drop(["text"]))

    trial()
    assert 0.05 < sum(fates) / len(fates) < 0.999
