"""Datasets that are damaged: one line that names the row and never shows the text."""

import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from corpus_helpers import everything, make
from pyarrow import parquet

from trlap.data import corpus as corpora
from trlap.data.vocabulary import vocabulary_from_file
from trlap.errors import TrlapError

ROWS = "".join(f"secret{i} row,{i % 2}\n" for i in range(8))
JSON = "".join(f'{{"text": "secret {i}"}}\n' for i in range(8))
CSV, TSV = "text,label\n" + ROWS, "text\tlabel\n" + ROWS.replace(",", "\t")
QUOTE = "has a quote that is not closed"
NUL = "holds a NUL"
NO_TEXT = "the column 'text' holds no text there but"

DAMAGED: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "unclosed quote": ("a.csv", CSV + '"secret,1\n' + ROWS, {}, f"row 9 {QUOTE}"),
    "unclosed at the end": ("a.csv", CSV + '"secret,1\n', {}, f"row 9 {QUOTE}"),
    "two stray quotes": (
        "a.csv",
        CSV + '"secret,1\n' + ROWS + 'the" end,1\n',
        {},
        f"row 9 {QUOTE}",
    ),
    "after a quote": ("a.csv", CSV + '"secret" after,1\n', {}, f"row 9 {QUOTE}"),
    "NUL in .csv": ("a.csv", CSV + "secret\0,1\n", {}, f"line 10 {NUL}"),
    "NUL in .tsv": ("a.tsv", TSV + "secret\0\t1\n", {}, f"line 10 {NUL}"),
    "NUL in .txt": ("a.txt", ROWS + "secret\0\n", {}, f"line 9 {NUL}"),
    "NUL in .jsonl": ("a.jsonl", JSON + '{"text": "secret\0"}\n', {}, f"line 9 {NUL}"),
    "a field too few": ("a.csv", CSV + "secret\n" + ROWS, {}, "row 9 has 1 fields, .* names 2"),
    "a tab too few": ("a.tsv", TSV + "secret\n", {}, "row 9 has 1 fields, .* names 2"),
    "a tab too many": ("a.tsv", TSV + "secret\t1\t2\n", {}, "Expected 2 fields in line 10, saw 3"),
    "two columns of one name": ("a.csv", "text,text\na,b\n", {}, "two columns have the same name"),
    "a blank first line": ("a.csv", "\n" + CSV, {}, "the first line must name the columns"),
    "no line of names": ("a.csv", "my secret, or two\n" * 5, {}, "two columns|no column 'text'"),
    "text for names": ("a.csv", "my secret\n" * 5, {}, "does the first line name the columns"),
    "a lone surrogate": ("a.jsonl", JSON + '{"text": "secret \\ud800"}\n', {}, "surrogate .* row"),
    "cut off .jsonl": ("a.jsonl", JSON + '{"text": "secr', {}, "cannot be read as .jsonl"),
    "no objects": ("a.jsonl", '"secret"\n5\n', {}, "cannot be read as .jsonl"),
    "a key twice": ("a.jsonl", '{"text": "secret", "text": "b"}\n', {}, "twice"),
    "objects": ("a.jsonl", '{"text": {"a": "secret"}}\n' * 5, {}, f"row .: {NO_TEXT} dict"),
    "lists": ("a.jsonl", '{"text": ["secret"]}\n' * 5, {}, f"{NO_TEXT} list"),
    "numbers": ("a.jsonl", '{"text": 5}\n' * 5, {}, f"{NO_TEXT} int"),
    "truth": ("a.jsonl", '{"text": true}\n' * 5, {}, f"{NO_TEXT} bool"),
    "one object": ("a.jsonl", JSON + '{"text": {"a": "secret"}}\n', {}, f"row 9: {NO_TEXT} dict"),
    "one number": ("a.jsonl", JSON + '{"text": 7}\n', {}, f"row 9: {NO_TEXT} int"),
    "one row": ("a.csv", "text,label\nsecret,1\n", {}, "1 sentences are too few"),
    "empty texts": ("a.csv", "text,label\n,1\n,0\n", {}, "0 sentences are too few"),
    "the text as label": ("a.csv", CSV, {"label": "text"}, "that is the column of the text"),
    "a long label": (
        "a.csv",
        "text,label\na,x\nb," + "secret " * 20 + "\n",
        {"label": "label", "label_names": ["x", "y"]},
        "row 2 has the label of 139 characters",
    ),
}


def one_line(path: Path, **keys: Any) -> str:
    with pytest.raises(TrlapError) as raised:
        corpora.load(make("text", path=path, **keys))
    line = str(raised.value)
    assert "\n" not in line and "secret" not in line
    return line


@pytest.mark.parametrize(("name", "content", "keys", "message"), DAMAGED.values(), ids=DAMAGED)
def test_damaged(
    tmp_path: Path, name: str, content: str, keys: dict[str, Any], message: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert re.search(message, one_line(tmp_path / name, **keys))


SOUND: dict[str, tuple[str, str, int]] = {
    "carriage returns": ("a.csv", CSV.replace("\n", "\r"), 8),
    "carriage returns in .tsv": ("a.tsv", TSV.replace("\n", "\r"), 8),
    "carriage returns in .txt": ("a.txt", ROWS.replace("\n", "\r"), 8),
    "quotes inside": ("a.csv", CSV + 'a "quoted" word,1\n', 9),
    "quotes in .tsv": ("a.tsv", TSV + '"a quoted word\t1\n', 9),
    "blank lines": ("a.csv", CSV + "\n\n", 8),
    "two lines in a field": ("a.csv", CSV + '"one\ntwo",1\n', 9),
    "a long field": ("a.csv", CSV + '"' + "word " * 40_000 + '",1\n', 9),
    "a NUL that is written out": ("a.jsonl", JSON + '{"text": "a\\u0000b"}\n', 9),
}


@pytest.mark.parametrize(("name", "content", "count"), SOUND.values(), ids=SOUND)
def test_sound(tmp_path: Path, name: str, content: str, count: int) -> None:
    (tmp_path / name).write_bytes(content.encode())
    assert len(everything(corpora.load(make("text", path=tmp_path / name)))) == count


def test_damaged_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": [f"secret {i}" for i in range(2000)]}), path)
    whole = path.read_bytes()
    for damaged in (whole[:-100], whole[:200] + b"\xff" * 80 + whole[280:], b"PAR1" * 3, whole[:4]):
        path.write_bytes(damaged)
        assert "cannot be read as .parquet" in one_line(path)


def test_places_that_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "nowhere")
    (tmp_path / "train").mkdir()
    (tmp_path / "folder" / "train.csv").mkdir(parents=True)
    for place, message in {
        "pipe.csv": "no ordinary file",
        "link.csv": "a link to a file that is not there",
        "folder": "train.csv: it is a folder",
        "x" * 300: "File name too long",
        "nul\0.csv": "no such file",
    }.items():
        assert message in one_line(tmp_path / place)
    with pytest.raises(TrlapError, match="it is a folder"):
        vocabulary_from_file(tmp_path / "train")

    (tmp_path / "a.csv").write_text(CSV)

    def denied(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", denied)
    for ask in (corpora.load, corpora.fingerprint):
        with pytest.raises(TrlapError, match=r"a\.csv: cannot be read \(Permission denied\)"):
            ask(make("text", path=tmp_path / "a.csv"))
    with pytest.raises(TrlapError, match=r"a\.csv: cannot be read \(Permission denied\)"):
        vocabulary_from_file(tmp_path / "a.csv")
    monkeypatch.undo()
    monkeypatch.setattr(Path, "iterdir", denied)
    assert "cannot be read (Permission denied)" in one_line(tmp_path)
