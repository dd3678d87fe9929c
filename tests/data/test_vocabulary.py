import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trlap.data.tokenizer import UNK, tokenize
from trlap.data.vocabulary import (
    Vocabulary,
    build_vocabulary,
    public_vocabulary,
    vocabulary_from_file,
)
from trlap.errors import TrlapError


def check(vocabulary: Vocabulary, size: int) -> None:
    assert vocabulary.words[0] == UNK
    assert len(vocabulary.words) == len(set(vocabulary.words)) == len(vocabulary.prior) == size
    assert vocabulary.prior.dtype == np.float64
    assert vocabulary.prior.min() > 0
    assert vocabulary.prior.sum() == pytest.approx(1, abs=1e-12)


def test_vocabulary_is_by_frequency_then_alphabet() -> None:
    texts = ["b a c", "b a d", "b <unk> <unk> <unk> <unk>", "z y x"]
    vocabulary = build_vocabulary(texts, 6)
    check(vocabulary, 6)
    assert vocabulary.words == [UNK, "b", "a", "c", "d", "x"]
    # y and z are unknown
    counts = np.array([4 + 2, 3, 2, 1, 1, 1]) + 1
    np.testing.assert_allclose(vocabulary.prior, counts / counts.sum())
    assert not vocabulary.public
    assert build_vocabulary(texts, 100).words == [UNK, "b", "a", "c", "d", "x", "y", "z"]


def test_ties_do_not_depend_on_the_order_of_texts() -> None:
    words = [f"w{i}" for i in range(3000)]
    random.Random(0).shuffle(words)
    first = build_vocabulary(words, 1000)
    assert first.words == [UNK, *sorted(words)[:999]]
    assert build_vocabulary(words[::-1], 1000).words == first.words


def test_encode() -> None:
    vocabulary = build_vocabulary(["a a b", "c"], 3)
    ids, offsets = vocabulary.encode(["b a", "", "c a <unk>", "a"])
    assert ids.dtype == np.int32
    assert offsets.dtype == np.int64
    assert ids.tolist() == [2, 1, 0, 1, 0, 1]
    assert offsets.tolist() == [0, 2, 2, 5, 6]
    ids, offsets = vocabulary.encode([])
    assert ids.tolist() == []
    assert offsets.tolist() == [0]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6).map(" ".join), min_size=1))
def test_encode_and_prior_agree_with_counting(texts: list[str]) -> None:
    vocabulary = build_vocabulary(texts, 5)
    ids, offsets = vocabulary.encode(texts)
    words = [vocabulary.words[i] for i in ids]
    for i, text in enumerate(texts):
        expected = [word if word in vocabulary.words else UNK for word in text.split()]
        assert words[offsets[i] : offsets[i + 1]] == expected
    count = Counter(words)
    weights = np.array([count[word] + 1 for word in vocabulary.words])
    np.testing.assert_allclose(vocabulary.prior, weights / weights.sum())


def test_public_vocabulary() -> None:
    glove = ["the", "and", "10", *(f"word{i}" for i in range(20_000))]
    vocabulary = public_vocabulary(glove, 10_000)
    check(vocabulary, 10_000)
    assert vocabulary.public
    words = vocabulary.words
    expected = "the . , ! ? n't 's 'll 're 've 'd 'm ... monday 7:30 11:45 $7 $7.99 85% 1987 1990s"
    assert set(f"{expected} 0 100 300 5000 2,000 1st 22nd 31st word0".split()) <= set(words)
    assert words.index(".") < words.index("word50") < words.index("monday") < words.index("7:30")
    assert words.count("10") == 1
    assert words.index("10") < 10
    prior = dict(zip(words, vocabulary.prior, strict=True))
    assert prior["the"] == prior["."] > prior["n't"] > prior["monday"] > prior["7:30"]
    assert 0.05 < prior[UNK] < 0.2
    assert prior["the"] / prior["word97"] == pytest.approx((101 + 2.7) / (1 + 2.7))
    check(public_vocabulary(glove, 50), 50)
    everything = public_vocabulary(["the", UNK, "and"], 10_000)
    check(everything, len(everything.words))


def test_every_public_entry_is_one_token() -> None:
    words = public_vocabulary(["the"], 10_000).words
    broken = [word for word in words if tokenize(word) != [word]]
    # quotes of corpora that are tokenised already
    assert set(broken) <= {"``", "''"}


def test_vocabulary_save_and_read(tmp_path: Path) -> None:
    vocabulary = public_vocabulary(["the", "na\u00efve"], 100)
    vocabulary.save(tmp_path)
    again = Vocabulary.read(tmp_path)
    assert again.words == vocabulary.words
    assert again.public is True
    np.testing.assert_array_equal(again.prior, vocabulary.prior)


def test_vocabulary_from_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("\ufeffThe\nand\n\nthe\nna\u00efve\n", encoding="utf-8")
    vocabulary = vocabulary_from_file(path)
    check(vocabulary, 4)
    assert vocabulary.words == [UNK, "the", "and", "na\u00efve"]
    assert vocabulary.public
    assert vocabulary_from_file(path, 3).words == [UNK, "the", "and"]

    path.write_text("rare\t1\nThe\t5\nthe\t4\n<unk>\t2\nand\t7\n", encoding="utf-8")
    vocabulary = vocabulary_from_file(path)
    check(vocabulary, 4)
    assert vocabulary.words == [UNK, "the", "and", "rare"]
    np.testing.assert_allclose(vocabulary.prior, np.array([3, 10, 8, 2]) / 23)
    smaller = vocabulary_from_file(path, 3)
    np.testing.assert_allclose(smaller.prior, np.array([4, 10, 8]) / 22)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "no word"),
        (b"good\nb\xe9d\n", r"not UTF-8 at byte 7 \(line 2\)"),
        (b"two words\n", "line 1 is not one word"),
        (b"ok\t5\nword\tmany\n", "line 2 is not one word"),
        (None, "no such file"),
    ],
)
def test_bad_vocabulary_files(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "words.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TrlapError, match=message) as error:
        vocabulary_from_file(path)
    assert "\n" not in str(error.value)
