"""Which of two documents it was: against what can be enumerated, and against what a promise allows."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from audit_helpers import documents_of, make, matrix_of, released, scene_of, space_of
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor

from trlap.audit.attacks._telling import teller
from trlap.audit.attacks.base import Scene
from trlap.audit.attacks.which import WhichDocument, allowed, level, rate, scores_of, shown
from trlap.audit.texts import Texts
from trlap.mechanisms.base import Claim, Mechanism, WordMechanism
from trlap.randomness import block_generator
from trlap.runs.records import from_json, to_json
from trlap.runs.result import ToldApart, Which


def texts_of(documents: Sequence[Sequence[int]], **keys: Any) -> Texts:
    words = np.array([word for document in documents for word in document], np.int32)
    return Texts(words, np.cumsum([0, *map(len, documents)]), **keys)


def some_texts(words: int = 60, count: int = 80, seed: int = 0, **keys: Any) -> Texts:
    rng = np.random.default_rng(seed)
    return texts_of(
        [rng.integers(words, size=rng.integers(1, 7)).tolist() for _ in range(count)], **keys
    )


def played(found: Mechanism, texts: Texts, **keys: Any) -> Scene:
    scene = scene_of(found, **keys)
    lengths = [texts.answers] * len(texts) if texts.answers else texts.lengths.tolist()
    return replace(scene, texts=texts, composition=documents_of(found, lengths))


def which(found: Mechanism, texts: Texts, **keys: Any) -> Any:
    return WhichDocument().run(played(found, texts, **keys))


def told(scene: Scene, texts: Texts, pair: tuple[int, int], trials: int) -> ToldApart:
    """The same two documents again and again."""
    side = np.arange(trials) % 2
    pairs = np.tile(np.array(pair), (trials, 1))
    score = teller(scene.mechanism, texts.words, scene.seed)
    scores = scores_of(scene, texts, score, pairs, side, "audit/which/test")
    return rate(scores, side == 0, 0.999, None)


@dataclass(kw_only=True)
class Constant(WordMechanism):
    """Always the same word: there is nothing to find."""

    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        return torch.full_like(words, 3)

    def log_probabilities(self, words: Tensor) -> Tensor:
        rows = torch.full((len(words), len(self.space)), -math.inf, dtype=torch.float64)
        rows[:, 3] = 0.0
        return rows

    def claimed(self) -> Claim:
        return Claim("ε-DP", 0.0)

    def log_delta(self, epsilon: float) -> float:
        return -math.inf

    def epsilon_at(self, log_delta: float) -> float:
        return 0.0


class Silent(Constant):
    """The same, and nobody knows its channel."""

    def channel(self) -> Any:
        return None


# --------------------------------------------------------------------------------- the two ends


def test_without_noise_it_is_always_named() -> None:
    found = which(make("none", math.inf), some_texts())
    for told_apart in (found.any, found.equal, found.worst):
        assert told_apart.success == 1.0 and told_apart.allowed == 1.0
    assert found.equal.trials == 200 and found.optimal


def test_a_constant_answer_leaves_chance_and_counts_half() -> None:
    found = which(Constant(space=space_of(), epsilon=1.0), some_texts())
    for told_apart in (found.equal, found.worst):
        assert told_apart.success == 0.5
        assert told_apart.epsilon_lower == 0
    assert found.worst.allowed == 0.5
    # what differs in length is told by it, the rest is a coin
    assert found.any.success == pytest.approx((1 + found.by_length) / 2)


def test_a_constant_answer_of_an_unknown_channel_leaves_chance() -> None:
    found = which(Silent(space=space_of(), epsilon=1.0), some_texts())
    assert found.score == "inner product of vectors" and not found.optimal
    assert found.equal.interval[0] <= 0.5 <= found.equal.interval[1]
    assert found.worst.success == 0.5


# --------------------------------------------------------------------------------- brute force


def law_of_words(rows: Any, document: Sequence[int]) -> Any:
    """P(y₁ … y_n | D), every word on its own."""
    law = np.ones(1)
    for word in document:
        law = np.outer(law, rows[word]).ravel()
    return law


@pytest.mark.parametrize("name", ["krr", "crr", "tem"])
@pytest.mark.parametrize("pair", list(itertools.combinations(([0, 1], [1, 0], [2, 3], [3, 3]), 2)))
def test_words_are_told_apart_as_well_as_can_be(name: str, pair: Any) -> None:
    found = make(name, 1.5, space_of(3, 4))
    rows = found.log_probabilities(torch.arange(4)).exp().numpy()
    first, second = (law_of_words(rows, document) for document in pair)
    best = 0.5 + np.abs(first - second).sum() / 4
    texts = texts_of(pair)
    measured = told(played(found, texts), texts, (0, 1), 20_000)
    assert measured.interval[0] <= best <= measured.interval[1]
    assert best <= level(3.0, 0.0) + 1e-12


@pytest.mark.parametrize("pick", ["random", "rarest"])
@pytest.mark.parametrize("pair", [([0], [1, 2]), ([0, 0, 1], [2, 3]), ([3, 1], []), ([1], [1, 1])])
def test_one_picked_word_is_told_apart_as_well_as_can_be(pick: str, pair: Any) -> None:
    found = make("krr", 2.0, space_of(3, 4))
    rows = found.log_probabilities(torch.arange(4)).exp().numpy()
    # of rarest: the prior falls with the number of a word
    read = [
        [max(document, default=0)] if pick == "rarest" else document or [0] for document in pair
    ]
    first, second = (rows[document].mean(axis=0) for document in read)
    best = 0.5 + np.abs(first - second).sum() / 4
    texts = texts_of(pair, answers=1, pick=pick)
    measured = told(played(found, texts), texts, (0, 1), 20_000)
    assert measured.interval[0] <= best <= measured.interval[1]
    assert best <= level(2.0, 0.0) + 1e-12


@pytest.mark.parametrize("pick", ["random", "rarest"])
def test_the_law_of_every_answer_is_what_is_drawn(pick: str) -> None:
    """Three answers of documents with ties, with fewer words than answers, and with none."""
    prior = np.array([0.4, 0.2, 0.2, 0.2])
    texts = texts_of([[1, 2, 0, 3], [2, 0], [], [1, 1, 2]], answers=3, pick=pick)
    trials = 6000
    for number in range(len(texts)):
        pairs = np.full((trials, 2), number)
        chance = partial(block_generator, number, "test", 0, torch.device("cpu"))
        words = texts.given(pairs, np.zeros(trials, np.int64), prior, chance)
        laws, answers = texts.laws(pairs[:1], 0, prior)
        assert answers.tolist() == [3]
        starts = np.cumsum(laws.sizes) - laws.sizes
        for answer, (start, size) in enumerate(zip(starts, laws.sizes, strict=True)):
            expected = np.bincount(laws.words[start : start + size], minlength=4) / size
            seen = np.bincount(words.reshape(-1, 3)[:, answer], minlength=4) / trials
            assert np.abs(seen - expected).max() < 5 * 0.5 / math.sqrt(trials)


# ----------------------------------------------------------------------------------- what is allowed


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_drr_is_never_told_apart_better_than_its_promise_allows(epsilon: float) -> None:
    found = make("drr", epsilon, space_of(3, 5))
    rng = np.random.default_rng(1)
    choices = rng.integers(5, size=(80, 80))
    texts = some_texts(answers=1, choice=lambda place, document: int(choices[place, document]))
    result = which(found, texts, samples=20_000)
    assert result.unit == "document" and result.equal is None
    assert result.reasons == {"equal": "the number of words is not published"}
    bound = level(epsilon, 0.0)
    assert result.worst.allowed == pytest.approx(bound, abs=1e-5)
    for told_apart in (result.any, result.worst):
        assert told_apart.interval[0] <= bound
        assert told_apart.epsilon_lower <= epsilon
    # of two documents that choose different answers, exactly
    rows = found.log_probabilities(torch.arange(2)).exp().numpy()
    best = 0.5 + np.abs(rows[0] - rows[1]).sum() / 4
    assert result.worst.interval[0] <= best <= result.worst.interval[1]


@given(
    st.lists(st.floats(0.01, 1), min_size=3, max_size=6),
    st.lists(st.floats(0.01, 1), min_size=6, max_size=6),
    st.floats(0, 5),
)
def test_no_attacker_has_more_than_the_promise_allows(
    first: list[float], second: list[float], epsilon: float
) -> None:
    """½ + ½·TV, the best there is, against the exact δ of the two laws at that ε."""
    p = np.array(first) / sum(first)
    q = np.array(second[: len(first)]) / sum(second[: len(first)])
    best = 0.5 + np.abs(p - q).sum() / 4
    delta = max(
        float(np.maximum(one - math.exp(epsilon) * other, 0).sum())
        for one, other in ((p, q), (q, p))
    )
    assert best <= level(epsilon, delta) + 1e-12
    pure = float(np.abs(np.log(p / q)).max())
    assert best <= level(pure, 0.0) + 1e-12
    assert shown(best) <= pure + 1e-9


@given(st.floats(0, 30))
def test_a_success_shows_no_more_than_the_epsilon_that_allows_it(epsilon: float) -> None:
    assert shown(level(epsilon, 0.0)) <= epsilon + 1e-9 * math.exp(epsilon)
    assert level(epsilon, 0.0) <= level(epsilon + 1, 0.0) <= level(epsilon + 1, 0.5) <= 1


def test_nothing_is_allowed_where_nothing_is_known() -> None:
    composition = documents_of(released("mahalanobis", 0.5), [3])
    assert allowed(composition.median) is None
    assert allowed(None) is None
    assert allowed(documents_of(make("krr", 1.0), [1]).median) == pytest.approx(
        math.e / (1 + math.e), abs=1e-5
    )


# ------------------------------------------------------------------------------- length, and the rest


def test_length_alone_tells_words_apart_and_never_documents() -> None:
    found = Constant(space=space_of(), epsilon=1.0)
    different = [[1] * length for length in range(1, 30)]
    words = which(found, texts_of(different))
    assert words.any.success == words.by_length == 1.0 and words.any.allowed == 1.0
    assert (
        words.equal is None and "no two different documents of one length" in words.reasons["equal"]
    )
    documents = which(found, texts_of(different, answers=2))
    assert documents.by_length == 0.0 and documents.any.success == 0.5


def test_equal_documents_are_no_pair() -> None:
    found = make("krr", 1.0)
    assert which(found, texts_of([[1, 2], [1, 2], [1, 2]])).any is None
    pairs = texts_of([[1, 2], [1, 2], [2, 1], [4]]).pairs(500, np.random.default_rng(0), False)
    assert len(pairs) == 500 and not {(0, 1), (1, 0)} & {tuple(pair) for pair in pairs.tolist()}


@pytest.mark.parametrize("name", ["krr", "laplace"])
def test_a_word_that_is_let_through_tells_outright(name: str) -> None:
    found = make(name, 0.01)
    texts = texts_of([[1, 60], [2, 61], [3, 4], [61, 1]])
    for pair in itertools.combinations(range(4), 2):
        assert told(played(found, texts), texts, pair, 100).success == 1.0


def test_shared_noise_gives_every_document_away() -> None:
    found = released("trlap", 0.05)
    result = which(found, some_texts(count=30), tokens=40, samples=200)
    assert result.equal.success == result.worst.success == 1.0
    assert any("a batch of its own" in note for note in result.notes)


def test_noisy_vectors_of_bounded_noise_tell_where_words_hardly_do() -> None:
    found = make("trlap", 0.5, delta=1e-3)
    scene = played(found, some_texts())
    largest = replace(scene.vocabulary, largest=_pair(0, 1))
    result = WhichDocument().run(replace(scene, vocabulary=largest))
    assert result.vector is not None and result.worst is not None
    assert result.vector.success > result.worst.success
    assert result.vector.epsilon_lower > 1


def _pair(first: int, second: int) -> Any:
    from trlap.audit.records import PairCost

    return PairCost(("a", "b"), (first, second), 1.0, 0.5, -0.3, 1.0)


def test_twice_the_same_seed_is_twice_the_same_and_it_can_be_read_back() -> None:
    found = make("crr", 2.0)
    first, again = (which(found, some_texts()) for _ in range(2))
    assert first == again
    assert from_json(Which, to_json(first)) == first
    assert first != which(found, some_texts(), seed=1)


def test_without_words_it_is_left_out() -> None:
    scene = scene_of(make("krr", 1.0))
    assert WhichDocument().reason(scene) == "the test split has no words"
    assert WhichDocument().reason(replace(scene, texts=some_texts())) is None
    alone = replace(scene_of(make("none", 1.0, space_of(3, 1))), texts=some_texts(1))
    assert "one word" in (WhichDocument().reason(alone) or "")
    assert matrix_of(make("krr", 1.0)).error < 1e-9
