"""Files of vectors that are damaged, cut off or of another shape: one line that says where."""

import gzip
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from trlap.config import schema
from trlap.embeddings.vectors import build_embedding, fingerprint
from trlap.errors import TrlapError

WORDS = ["<unk>", "good", "1999", ". . .", "bad"]
GOOD = "good 1 2 3\n1999 4 5 6\n. . . 7 8 9\nbad 1 0 1\n"
BINARY = b"2 3\n" + b"".join(
    word + b" " + np.array(values, np.float32).tobytes() + b"\n"
    for word, values in ((b"good", [1, 2, 3]), (b"bad", [4, 5, 6]))
)
PACKED = gzip.compress(GOOD.encode() * 1000)
NUMBERS = "numbers after the word, but embedding.dimension is 3"


def embedding(path: Path | str, dimension: int = 3) -> schema.Embedding:
    return schema.Embedding(name="mine", source="asset", path=str(path), dimension=dimension)


def one_line(path: Path | str, dimension: int = 3) -> str:
    """What is said where the vectors of a file are asked for; a warning would be a failure too."""
    with warnings.catch_warnings(), pytest.raises(TrlapError) as raised:
        warnings.simplefilter("error")
        build_embedding(embedding(path, dimension), WORDS)
    assert "\n" not in str(raised.value)
    return str(raised.value)


DAMAGED: dict[str, tuple[str, str | bytes, str]] = {
    "a number too many": ("v.txt", GOOD + "soup 1 2 3 4\n", f"line 5: 4 {NUMBERS}"),
    "two too many": ("v.txt", "good 1 2 3 4 5\n", f"line 1: 5 {NUMBERS}"),
    "too many after a word with spaces": (
        "v.txt",
        GOOD + ". . . 1 2 3 4\n",
        f"line 5: 4 {NUMBERS}",
    ),
    "a number too few": ("v.txt", GOOD + "soup 1 2\n", f"line 5: 2 {NUMBERS}"),
    "too few after a word with spaces": (
        "v.txt",
        GOOD + ". . . 1 2\n",
        "line 5: .* too few of them",
    ),
    "too many in an unwanted line": ("v.txt", GOOD + "other -1e-3 2 3 4\n", f"line 5: 4 {NUMBERS}"),
    "a word that is not wanted": ("v.txt", GOOD + "other x 2 3\n", "line 5: .* no number"),
    "an empty line": ("v.txt", GOOD + "\n" + GOOD, f"line 5: 0 {NUMBERS}"),
    "no word": ("v.txt", GOOD + " 1 2 3\n", "line 5: there is no word"),
    "the header says more words": ("v.txt", "9 3\n" + GOOD, "says 9 words, but 4 follow"),
    "the header says fewer words": ("v.vec", "3 3\n" + GOOD, "says 3 words, but 4 follow"),
    "the header says another dimension": ("v.vec", "4 2\n" + GOOD, "says 2 numbers a word"),
    "infinite": ("v.txt", "good 1 inf 3\n", "line 1: the vector of 'good' .* no number"),
    "not a number": ("v.txt", "good 1 nan 3\n", "line 1: the vector of 'good' .* no number"),
    "too large for float32": ("v.txt", "good 1 1e39 3\n", "a number too large for float32"),
    "too large for float64": ("v.txt", "good 1 1e999 3\n", "no number"),
    "underscores": ("v.txt", "good 1_0 2 3\n", "no number"),
    "a NUL": ("v.txt", "good 1 2\0 3\n", "no number"),
    "tabs": ("v.txt", "good\t1\t2\t3\n", "numbers after the word"),
    "cut off .gz": ("v.txt.gz", PACKED[:-20], "damaged or cut off"),
    "damaged .gz": ("v.txt.gz", PACKED[:40] + b"\0" * 20 + PACKED[60:], "damaged|numbers after"),
    "not gzip": ("v.txt.gz", GOOD, "damaged or cut off"),
    "cut off .bin": ("v.bin", BINARY[:-8], "not a whole word2vec"),
    "cut off word of .bin": ("v.bin", b"2 3\n" + b"x" * 40, "not a whole word2vec"),
    "absurd .bin": ("v.bin", b"999999999999 3\n" + BINARY, "cut off: 999,999,999,999 words need"),
    "no numbers in .bin": ("v.bin", b"good 3\n" + BINARY, "does not open with two numbers"),
    "cut off .bin.gz": ("v.bin.gz", gzip.compress(BINARY)[:-12], "damaged|not a whole"),
    "infinite .bin": (
        "v.bin",
        b"1 3\ngood " + np.array([1, np.inf, 2], np.float32).tobytes(),
        "not a number",
    ),
}


@pytest.mark.parametrize(("name", "content", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_files(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    data = content.encode() if isinstance(content, str) else content
    (tmp_path / name).write_bytes(data)
    assert re.search(message, one_line(tmp_path / name))


@pytest.mark.parametrize("header", ["", "4 3\n"])
def test_words_with_spaces_and_numbers_as_words(tmp_path: Path, header: str) -> None:
    (tmp_path / "v.txt").write_text(header + GOOD)
    made = build_embedding(embedding(tmp_path / "v.txt"), WORDS)
    assert made.known.tolist() == [False, True, True, True, True]
    assert made.vectors[2].tolist() == [4, 5, 6]
    assert made.vectors[3].tolist() == [7, 8, 9]


def test_one_number_a_word(tmp_path: Path) -> None:
    """A first line of a word and a number is no header."""
    (tmp_path / "v.txt").write_text("good 0.5\n1999 7\n")
    made = build_embedding(embedding(tmp_path / "v.txt", 1), WORDS)
    assert made.vectors[[1, 2], 0].tolist() == [0.5, 7.0]


def test_places_that_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "empty").touch()
    for place, message in {
        str(tmp_path / "folder"): "it is a folder",
        str(tmp_path / "pipe"): "no ordinary file",
        "/dev/null": "no ordinary file",
        str(tmp_path / "link"): "a link to a file that is not there",
        str(tmp_path / "empty"): "the file is empty",
        f"{tmp_path}/nul\0": "no such file",
        f"{tmp_path}/{'x' * 300}": "cannot be read (File name too long)",
        "~nobody-of-that-name/v.txt": "no such file",
    }.items():
        assert message in one_line(place)
        with pytest.raises(TrlapError):
            fingerprint(embedding(place))

    (tmp_path / "v.txt").write_text(GOOD)

    def denied(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", denied)
    assert "v.txt: cannot be read (Permission denied)" in one_line(tmp_path / "v.txt")


def test_the_dimension_is_checked_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text(GOOD)
    (tmp_path / "v.bin").write_bytes(BINARY)
    for name in ("v.txt", "v.bin"):
        with pytest.raises(TrlapError, match=r"embedding\.dimension is 4"):
            fingerprint(embedding(tmp_path / name, 4))
    glove = schema.Embedding(name="glove840b", source="asset", id="glove840b", dimension=50)
    with pytest.raises(TrlapError, match="dimension=50: the vectors of glove840b have 300 numbers"):
        fingerprint(glove)
    with pytest.raises(TrlapError, match="minilm: this asset holds no word vectors"):
        fingerprint(schema.Embedding(name="x", source="asset", id="minilm"))
