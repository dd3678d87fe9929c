"""Files of every format, their labels, and what is wrong with bad ones."""

from pathlib import Path
from typing import Any

import pytest
from corpus_helpers import everything, make, numbered, sizes, write

from trlap.data import corpus as corpora
from trlap.errors import TrlapError


@pytest.fixture(autouse=True)
def _no_local_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRLAP_DATA", raising=False)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".CSV"])
def test_formats(tmp_path: Path, suffix: str) -> None:
    rows = [
        {"id": "x", "text": 'He said "null".', "stars": 5},
        {"id": "y", "text": "NA", "stars": 1},
        {"id": "z", "text": 'nan, "naïve, yes', "stars": 1},
        {"id": "w", "text": "Fourth", "stars": 5},
    ]
    write(tmp_path / f"mine{suffix.lower()}", rows).rename(tmp_path / f"mine{suffix}")
    corpus = corpora.load(make("text", path=tmp_path / f"mine{suffix}", label="stars"))
    assert corpus.label_names == ["1", "5"]
    assert sorted(everything(corpus)) == [
        ("fourth", 1),
        ('he said " null " .', 1),
        ("na", 0),
        ('nan , " naïve , yes', 0),
    ]


def test_text_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes('\ufeffOne, two.\r\n\r\nNA\r\n  \r\n"Three"\nfour'.encode())
    corpus = corpora.load(make("text", path=path))
    assert corpus.label_names is None
    assert {text for text, _ in everything(corpus)} == {"one , two .", "na", '" three "', "four"}
    assert "2 rows without text left out" in corpus.info.notes


def test_folder_with_all_splits_is_taken_as_it_is(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", numbered(30))
    write(tmp_path / "dev.jsonl", numbered(5, start=100))
    write(tmp_path / "test.tsv", numbered(7, start=200))
    corpus = corpora.load(make("text", path=tmp_path, label="label"))
    assert sizes(corpus) == (30, 5, 7)
    assert corpus.splits["train"].texts == [f"row {i} , here ." for i in range(30)]
    assert corpus.splits["test"].labels == [0, 1, 0, 1, 0, 1, 0]
    files = corpus.info.source["files"]
    assert isinstance(files, dict)
    assert set(files) == {"train", "validation", "test"}


@pytest.mark.parametrize(
    ("labels", "names", "expected"),
    [
        ([0, 1, 2, 1], None, ["0", "1", "2"]),
        ([10, 9, 1, 9], None, ["1", "9", "10"]),
        (["pos", "neg", "pos", "neg"], None, ["neg", "pos"]),
        (["pos", "neg", "pos", "neg"], ["pos", "neg"], ["pos", "neg"]),
        ([0, 1, 1, 0], ["bad", "good"], ["bad", "good"]),
        ([1.0, 0.0, 1.0, 0.0], None, ["0", "1"]),
    ],
)
def test_labels(
    tmp_path: Path, labels: list[Any], names: list[str] | None, expected: list[str]
) -> None:
    rows = [{"text": f"row {i}", "label": label} for i, label in enumerate(labels)]
    path = write(tmp_path / "mine.parquet", rows)
    keys = {"label_names": names} if names else {}
    corpus = corpora.load(make("text", path=path, label="label", **keys))
    assert corpus.label_names == expected
    for text, i in everything(corpus):
        label = labels[int(text.split()[1])]
        assert i is not None
        by_position = names == ["bad", "good"]
        assert i == label if by_position else float(i) == expected.index(f"{label}".split(".")[0])


GOOD = "text,label\n" + "".join(f"Row {i}.,{i % 2}\n" for i in range(10))


BAD: dict[str, tuple[str, bytes, dict[str, Any], str]] = {
    "empty file": ("a.csv", b"", {}, "the file is empty"),
    "header alone": ("a.csv", b"text,label\n", {}, "no rows"),
    "only blank lines": ("a.txt", b"\n \n\n", {}, "too few"),
    "empty jsonl": ("a.jsonl", b"\n", {}, "no rows"),
    "not UTF-8": ("a.csv", b"text\nok\nna\xefve\n", {}, r"not UTF-8 at byte 11 \(line 3\)"),
    "UTF-16": ("a.txt", "text".encode("utf-16"), {}, r"not UTF-8 at byte 1 "),
    "no text column": ("a.csv", GOOD.encode(), {"text": "body"}, "'body', it has text, label"),
    "no label column": ("a.csv", GOOD.encode(), {"label": "y"}, "'y', it has text, label"),
    "label of .txt": ("a.txt", b"a\nb\n", {"label": "y"}, "'y', it has text"),
    "missing label": ("a.csv", b"text,label\na,1\nb,\n", {"label": "label"}, "row 2 has no label"),
    "null label": (
        "a.jsonl",
        b'{"text": "a", "label": 1}\n{"text": "b"}\n',
        {"label": "label"},
        "row 2 has no label",
    ),
    "label out of range": (
        "a.csv",
        b"text,label\na,0\nb,7\n",
        {"label": "label", "label_names": ["x", "y"]},
        "row 2 has the label '7', not one of 0, 1",
    ),
    "label without a name": (
        "a.csv",
        b"text,label\na,x\nb,z\n",
        {"label": "label", "label_names": ["x", "y"]},
        "row 2 has the label 'z', not one of x, y",
    ),
    "negative label": (
        "a.csv",
        b"text,label\na,0\nb,-1\n",
        {"label": "label", "label_names": ["x", "y"]},
        "row 2 has the label '-1'",
    ),
    "extension": ("a.xlsx", b"x", {}, "supported: .csv .tsv .txt .jsonl .json .parquet"),
    "too many fields": ("a.csv", b"text,label\na, b,1\nc, d,1\n", {}, "cannot be read as .csv"),
    "more fields later": ("a.csv", b"text,label\na,1\nc, d,1\n", {}, "Expected 2 fields in line 3"),
    "broken json": ("a.jsonl", b'{"text": "a"}\n{"text":\n', {}, "cannot be read as .jsonl"),
    "broken parquet": ("a.parquet", b"nonsense", {}, "cannot be read as .parquet"),
    "too small": ("a.txt", b"one row\n", {}, "1 sentences are too few for train and test"),
    "too small to validate": ("a.txt", b"one\ntwo\n", {}, "too few for validation"),
    "test too large": ("a.csv", GOOD.encode(), {"split__test": 10}, "too few for train and test"),
    "balance without labels": ("a.csv", GOOD.encode(), {"split__per_label": 2}, "needs labels"),
    "all too long": ("a.csv", GOOD.encode(), {"max_words": 1}, "too few"),
}


@pytest.mark.parametrize(("file", "content", "keys", "message"), BAD.values(), ids=BAD.keys())
def test_bad_files(
    tmp_path: Path, file: str, content: bytes, keys: dict[str, Any], message: str
) -> None:
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(TrlapError, match=message) as error:
        corpora.load(make("text", path=path, **keys))
    assert "\n" not in str(error.value)


def test_bad_places(tmp_path: Path) -> None:
    with pytest.raises(TrlapError, match=r"needs dataset\.path="):
        corpora.fingerprint(make("text"))
    with pytest.raises(TrlapError, match=r"nowhere\.csv: no such file"):
        corpora.fingerprint(make("text", path=tmp_path / "nowhere.csv"))
    with pytest.raises(TrlapError, match="no train file"):
        corpora.fingerprint(make("text", path=tmp_path))
    (tmp_path / "train.csv").touch()
    with pytest.raises(TrlapError, match=r"train\.csv: the file is empty"):
        corpora.fingerprint(make("text", path=tmp_path))
    write(tmp_path / "train.tsv", numbered(5))
    with pytest.raises(TrlapError, match=r"train\.csv or train\.tsv"):
        corpora.fingerprint(make("text", path=tmp_path))
    with pytest.raises(TrlapError, match="dataset=demo is embedded"):
        corpora.fingerprint(make("demo", path=tmp_path))
