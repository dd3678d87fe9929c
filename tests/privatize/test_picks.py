"""A document answers for the words it picks: by enumeration, the promise holds between any two documents."""

import math
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trlap.privatize.picks import picks

WORDS = 3
EPSILON = 1.3
Document = tuple[int, ...]
# answers so far, and the probability of each word to be picked next
Rule = Callable[[Document, tuple[int, ...]], dict[int, float]]


def channel(epsilon: float) -> list[list[float]]:
    """Randomised response over three words."""
    total = math.exp(epsilon) + WORDS - 1
    return [
        [(math.exp(epsilon) if w == y else 1) / total for y in range(WORDS)] for w in range(WORDS)
    ]


def documents(longest: int) -> Iterator[Document]:
    for length in range(longest + 1):
        yield from product(range(WORDS), repeat=length)


def at_random(document: Document, before: tuple[int, ...]) -> dict[int, float]:
    if not document:
        return {0: 1.0}
    return {w: document.count(w) / len(document) for w in set(document)}


def adversarial(document: Document, before: tuple[int, ...]) -> dict[int, float]:
    """A rule that wants to be found out: the answers before and all of the document choose the word."""
    if not document:
        return {0: 1.0}
    return {document[(sum(before) + len(document)) % len(document)]: 1.0}


def law(document: Document, rule: Rule, answers: int) -> dict[tuple[int, ...], float]:
    """The probability of every sequence of answers."""
    rows = channel(EPSILON / answers)
    known: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(answers):
        longer: dict[tuple[int, ...], float] = {}
        for before, chance in known.items():
            for word, share in rule(document, before).items():
                for answer in range(WORDS):
                    added = chance * share * rows[word][answer]
                    longer[*before, answer] = longer.get((*before, answer), 0.0) + added
        known = longer
    return known


@pytest.mark.parametrize("rule", [at_random, adversarial])
@pytest.mark.parametrize("answers", [1, 2, 3])
def test_any_two_documents(rule: Rule, answers: int) -> None:
    laws = [law(document, rule, answers) for document in documents(4)]
    assert all(sum(known.values()) == pytest.approx(1) for known in laws)
    largest = max(
        math.log(first[y] / second[y]) for first in laws for second in laws for y in first
    )
    assert largest <= EPSILON * (1 + 1e-12)
    # and for documents of one word each it is reached
    assert largest == pytest.approx(EPSILON)


def picked(how: str, count: int, texts: list[list[int]], seed: int = 0) -> list[list[int]]:
    lengths = [len(text) for text in texts]
    words = np.array([word for text in texts for word in text], np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    rule = picks(how, count, prior, lambda: torch.Generator().manual_seed(seed))
    chosen, ends = rule((words, offsets))
    assert ends.tolist() == [i * count for i in range(len(texts) + 1)]
    return chosen.reshape(len(texts), count).tolist()


texts = st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=6)


@given(texts, st.integers(1, 4), st.sampled_from(["random", "rarest"]))
def test_every_document_gives_as_many_answers(
    given_texts: list[list[int]], count: int, how: str
) -> None:
    for text, chosen in zip(given_texts, picked(how, count, given_texts), strict=True):
        assert len(chosen) == count
        if not text:
            assert set(chosen) == {0}
            continue
        # no word more often than it stands there, before all have had their turn
        rounds = -(-count // len(text))
        assert all(chosen.count(word) <= rounds * text.count(word) for word in chosen)
        if how == "rarest":
            assert (
                sorted(chosen[: len(text)], reverse=True)
                == (sorted(text, reverse=True)[: min(count, len(text))])
            )


def test_chance_is_fair() -> None:
    many = [[0, 1, 1, 2]] * 8000
    first = np.array(picked("random", 1, many, seed=5)).ravel()
    shares = np.bincount(first, minlength=3) / len(first)
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=4 * math.sqrt(0.25 / 8000))
