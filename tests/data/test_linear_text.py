"""Reading text takes a time that grows with its length and not with the square, and nothing is a panic.

No time itself is tested: only that four times the text takes well below sixteen times as long.
"""

import time
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trlap.config import schema
from trlap.data import cleaning, tokenizer
from trlap.data.cleaning import Reader
from trlap.data.sources import SourceSplit
from trlap.data.tokenizer import LONGEST, composed, tokenize, tokenize_batch
from trlap.errors import TrlapError

# each is repeated until the text is long
PIECES = (
    *(
        "a",
        "a-",
        "a.",
        "a@",
        "a+",
        "a_",
        "a'",
        "a.b-",
        "a.b@",
        "a@b.",
        "a@b-",
        "-a.b",
        "a.co.",
        "u.s.",
    ),
    *(
        "1",
        "1,",
        "1:",
        "1.",
        "1a",
        "5.",
        ".5",
        "$1",
        "#",
        "%",
        "'",
        ".",
        "-",
        "--",
        "...",
        "!?",
        ".'",
    ),
    *("www.", "http://", "http://!", "a.com/", "x.com", "co.uk", "n't", "n'", "'s", "<unk>", "a b"),
    *(
        "e\u0301",
        "\u0301",
        "\u0301\u0323",
        "\U0001f600\u200d",
        "\u05d0\u05d1 ",
        "\u202e",
        "\u4e2d\u3002",
    ),
    *(
        "a-" * 31 + ".",
        "a-" * 32 + "@",
        "a" * 63 + ".",
        "<a",
        "<",
        "&",
        "&#1",
        "&#",
        "a.I",
        "A.B. ",
        ". ",
    ),
)
SHORT = 4000


def cleaned(text: str) -> None:
    """What a reader does before it tokenises."""
    reader = Reader.__new__(Reader)
    reader.cfg = schema.Dataset(name="text", html=True, unknown="<unk>", sentences=True)
    reader.tokenized, reader.splitter = False, "nupunkt"
    reader._tokens(text)


def look(text: str) -> None:
    tokenizer.looks_tokenized([text])


def seconds(read: Callable[[str], object], text: str) -> float:
    """The least of three."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        read(text)
        taken.append(time.process_time() - start)
    return min(taken)


def assert_linear(read: Callable[[str], object], piece: str) -> None:
    text = piece * (4 * SHORT // len(piece) + 1)
    short, long = seconds(read, text[:SHORT]), seconds(read, text[: 4 * SHORT])
    # a hundredth of a second is nothing that a square would leave
    assert long < 8 * short + 0.01, (piece, short, long)


@pytest.mark.parametrize("read", [tokenize, cleaned, composed, look])
def test_time_is_linear(read: Callable[[str], object]) -> None:
    for piece in PIECES:
        assert_linear(read, piece)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=2, max_size=5).map("".join))
def test_time_is_linear_for_mixtures(piece: str) -> None:
    assert_linear(tokenize, piece)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), st.integers(1, 90))
def test_tokenising_long_chains_twice_changes_nothing(piece: str, times: int) -> None:
    tokens = tokenize(piece * times)
    assert tokenize(" ".join(tokens)) == tokens


def test_names_of_ordinary_length_stay_whole() -> None:
    for token in (
        "a-b.c-d.e.f.g.h.example.co.uk",
        "first.last+tag@mail.example.com",
        "a" * 63 + ".com",
    ):
        assert tokenize(token) == [token]


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_composed_is_nfc(text: str) -> None:
    # two libraries may know different versions of Unicode
    known = "".join(letter for letter in text if unicodedata.category(letter) != "Cn")
    assert composed(known) == unicodedata.normalize("NFC", known)


@pytest.mark.parametrize("piece", ["x", "http://!", "a-", "1", "\u0301", "www.", "'"])
def test_the_longest_word_is_no_panic_and_a_longer_one_is_one_line(piece: str) -> None:
    word = (piece * LONGEST)[:LONGEST]
    tokens = tokenize(f"{word} end") if piece == "x" else tokenize(f"{word[:100_000]} end")
    assert tokens[-1] == "end"
    with pytest.raises(
        TrlapError, match="1,000,001 characters without a space .* at most 1,000,000"
    ):
        tokenize(f"some words {word}{piece[0]}")


def test_a_panic_of_the_engine_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    # ten million letters, with the limit out of the way
    monkeypatch.setattr(tokenizer, "LONGEST", 10**9)
    with pytest.raises(TrlapError, match="gave up") as raised:
        tokenize("x" * 10_000_000)
    assert len(str(raised.value)) < 100


def test_who_asks_for_many_texts_is_told_which_one() -> None:
    secret = "secret" * LONGEST
    with pytest.raises(TrlapError, match="^text 2: ") as raised:
        tokenize_batch(["fine", secret])
    assert "secret" not in str(raised.value)
    with pytest.raises(TrlapError, match="^text 2,049: a lone surrogate"):
        tokenize_batch(["secret \ud800"], first=2049)


@pytest.mark.parametrize("tokenized", [True, False])
def test_a_reader_names_the_row(tokenized: bool) -> None:
    class Table:
        """No library holds such text."""

        texts = ("fine", "secret \udfff")

        def __len__(self) -> int:
            return len(self.texts)

        def __getitem__(self, rows: Iterable[int]) -> dict[str, list[str]]:
            return {"text": [self.texts[i] for i in rows]}

    rows: Any = Table()
    cfg = schema.Dataset(name="text", tokenized=tokenized)
    split = SourceSplit("mine.jsonl", rows)
    with pytest.raises(TrlapError, match="^mine.jsonl: row 2: a lone surrogate") as raised:
        Reader(cfg, split).take(split, np.arange(2), None)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (f"&#{'1' * 5000}; end", "\ufffd end"),
        (f"&#{'0' * 5000}65; end", "a end"),
        ("&#65; &#0065; &#x41;", "a a a"),
    ],
)
def test_numbers_of_characters_of_any_length(text: str, tokens: str) -> None:
    reader = Reader.__new__(Reader)
    reader.cfg, reader.tokenized, reader.splitter = schema.Dataset(name="x", html=True), False, None
    assert reader._tokens(text) == [tokens.split()]


def test_sentences_around_a_long_word() -> None:
    word = "!?" * 600
    assert cleaning._cut(f"One ends. Two {word} three. Four.") == [
        *("One ends.", "Two", word, " three.", "Four.")
    ]
    assert cleaning._cut("One ends. Two does.") == ["One ends.", "Two does."]
