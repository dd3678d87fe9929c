import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from trlap.errors import TrlapError
from trlap.privatize import streams
from trlap.privatize.streams import transform


def upper(texts: list[str], share: float | None) -> list[str]:
    assert share is None or 0 < share <= 1
    return [text.upper() for text in texts]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH", 3)


def through(tmp_path: Path, kind: str, content: str | bytes, column: str = "text") -> str:
    source, target = tmp_path / f"in{kind}", tmp_path / f"out{kind}"
    source.write_bytes(content.encode() if isinstance(content, str) else content)
    transform(str(source), target, kind, column, upper)
    return target.read_bytes().decode()


def test_lines_keep_their_number_and_order(tmp_path: Path) -> None:
    assert through(tmp_path, ".txt", "a\n\nb\r\nc é\nlast") == "A\n\nB\nC É\nLAST\n"
    # a byte-order mark is no text
    assert through(tmp_path, ".txt", b"\xef\xbb\xbfa\n") == "A\n"


def test_csv_keeps_other_columns(tmp_path: Path) -> None:
    rows = [["id", "text", "note"], ["1", 'a "quoted", b', "x,y"], ["2", "two\nlines", ""]]
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    found = list(csv.reader(io.StringIO(through(tmp_path, ".csv", file.getvalue()))))
    assert found == [rows[0], ["1", 'A "QUOTED", B', "x,y"], ["2", "TWO\nLINES", ""]]


def test_tsv_has_no_quoting(tmp_path: Path) -> None:
    content = 'text\tlabel\n" hello\t1\nsay "hi\t0\n'
    assert through(tmp_path, ".tsv", content) == 'text\tlabel\n" HELLO\t1\nSAY "HI\t0\n'


def test_json_lines(tmp_path: Path) -> None:
    content = '{"text": "é a", "n": 1}\n\n{"n": [2], "text": null}\n' + '{"text": "b"}\n' * 5
    found = [json.loads(line) for line in through(tmp_path, ".jsonl", content).splitlines()]
    assert found[:2] == [{"text": "É A", "n": 1}, {"n": [2], "text": ""}]
    assert len(found) == 7


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({"n": list(range(8)), "text": [*"abcdefg", None]})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=4)
    target = tmp_path / "out.parquet"
    transform(str(tmp_path / "in.parquet"), target, ".parquet", "text", upper)
    found = parquet.read_table(target).to_pydict()
    assert found == {"n": list(range(8)), "text": [*"ABCDEFG", ""]}


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (".txt", b"ok\n\xff\n", "line 2: not UTF-8"),
        (".csv", "a,b\n1,2\n", "no column 'text'; it has a, b; set column="),
        (".csv", "text,b\n1,2\n1\n", "line 3: 1 fields, but 2 columns"),
        (".csv", "", "the file is empty"),
        (".jsonl", '{"text": "a"}\n{"text": \n', "line 2: not JSON"),
        (".jsonl", '{"txt": "a"}\n', "line 1: no column 'text'; it has txt"),
        (".jsonl", '{"text": 5}\n', "line 1: column 'text' is not text"),
        (".jsonl", "[1]\n", "line 1: not an object"),
        (".parquet", "no", "not a parquet file"),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, kind: str, content: str, message: str) -> None:
    with pytest.raises(TrlapError, match=message):
        through(tmp_path, kind, content)
