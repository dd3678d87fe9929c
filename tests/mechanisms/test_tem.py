import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_helpers import (
    PLANE,
    Floats,
    agrees,
    frequencies,
    log_ratios,
    make_space,
    pairwise,
    points,
    random_space,
    shipped,
)

from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms import registry
from trlap.mechanisms.base import WordMechanism
from trlap.mechanisms.tem import TruncatedExponential


def make(space: Space, epsilon: float, **keys: Any) -> TruncatedExponential:
    made = registry.make("tem", space, epsilon, **keys)
    assert isinstance(made, TruncatedExponential)
    return made


def as_published(distances: Floats, epsilon: float, gamma: float, draws: int) -> np.ndarray:
    """TEM to the letter: Gumbel noise on the scores of the near words and of ⊥."""
    rng = np.random.default_rng(7)
    near, far = np.flatnonzero(distances <= gamma), np.flatnonzero(distances > gamma)
    scores = np.append(-distances[near], -gamma + 2 / epsilon * np.log(len(far)))
    best = (scores + rng.gumbel(scale=2 / epsilon, size=(draws, len(scores)))).argmax(1)
    bottom = best == len(near)
    answers = np.empty(draws, np.int64)
    answers[~bottom] = near[best[~bottom]]
    answers[bottom] = rng.choice(far, bottom.sum())
    return np.bincount(answers, minlength=len(distances))


def test_closed_form_is_the_published_algorithm() -> None:
    space = make_space(PLANE)
    made = make(space, 3.0, gamma=1.0)
    distances = pairwise(points(space))
    assert (distances > 1.0).any(1).all()
    for word in range(5):
        law = made.log_probabilities(torch.tensor([word])).exp().numpy()[0]
        assert agrees(as_published(distances[word], 3.0, 1.0, 300_000), law)


@pytest.mark.parametrize("word", range(5))
def test_output_law_on_five_words(word: int) -> None:
    space = make_space(PLANE)
    weights = np.exp(-3.0 / 2 * np.minimum(pairwise(points(space))[word], 1.0))
    assert agrees(frequencies(make(space, 3.0, gamma=1.0), word), weights / weights.sum())


def test_metric_promise_on_five_words() -> None:
    space = make_space(PLANE)
    log_q = make(space, 3.0, gamma=1.0).log_probabilities(torch.arange(5)).numpy()
    assert np.allclose(np.exp(log_q).sum(1), 1, atol=1e-14)
    assert (log_ratios(log_q) <= 3.0 * np.minimum(pairwise(points(space)), 1.0) + 1e-12).all()


def test_default_threshold() -> None:
    """γ = (2/ε) ln((1 − β)(V − 1)/β): what lies beyond it has probability β at most."""
    space = random_space(200, 5, clip=None)
    made = make(space, 20.0, beta=0.01)
    assert made.threshold == pytest.approx(0.1 * math.log(0.99 * 199 / 0.01))
    distances = pairwise(points(space))
    beyond = distances > made.threshold
    assert beyond.any()
    q = made.log_probabilities(torch.arange(200)).exp().numpy()
    assert (q * beyond).sum(1).max() <= 0.01
    assert make(random_space(3, 2), 1.0, beta=0.9).threshold == 0


def test_without_truncation_it_is_santext() -> None:
    space, words = random_space(50, 5), torch.arange(50)
    tem, santext = make(space, 3.0), registry.make("santext", space, 3.0)
    assert isinstance(santext, WordMechanism)
    assert torch.equal(tem.log_probabilities(words), santext.log_probabilities(words))
    assert tem.epsilon_at(-math.inf) == santext.epsilon_at(-math.inf)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(1e-3, 500), st.integers(2, 40), st.integers(1, 30), st.floats(0.1, 5), st.floats(0, 3)
)
def test_exact_epsilon(epsilon: float, count: int, d: int, clip: float, gamma: float) -> None:
    """The shortcut over pairs is the maximum over pairs and outputs, and within ε·min(γ, D)."""
    space = random_space(count, d, clip=clip)
    made = make(space, epsilon, gamma=gamma)
    log_q = made.log_probabilities(torch.arange(count)).numpy()
    assert made.epsilon_exact == pytest.approx(log_ratios(log_q).max(), rel=1e-9, abs=1e-9)
    largest = pairwise(points(space)).max()
    assert made.distance() == pytest.approx(min(gamma, largest))
    assert made.epsilon_exact <= epsilon * min(gamma, largest) * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.1, 20), st.floats(0, 1.5), st.integers(0, 1000))
def test_delta_bounds_the_true_one(epsilon: float, share: float, seed: int) -> None:
    made = make(random_space(6, 3, seed), epsilon, gamma=0.8)
    log_q = made.log_probabilities(torch.arange(6)).numpy()
    at = share * made.epsilon_exact
    true = np.maximum(np.exp(log_q)[:, None] - np.exp(at + log_q)[None], 0).sum(2).max()
    bound = made.log_delta(at)
    assert true <= math.exp(bound) + 1e-12
    if share < 0.999:
        assert made.epsilon_at(bound) == pytest.approx(at, rel=1e-6, abs=1e-9)
    assert made.epsilon_at(-math.inf) == made.epsilon_exact
    assert made.log_delta(made.epsilon_exact) == -math.inf


def test_claim_and_keys() -> None:
    space = make_space(PLANE)
    assert shipped("tem") == {"gamma": None, "beta": 0.001}
    claim = make(space, 3.0, gamma=1.0).claimed()
    assert (claim.notion, claim.epsilon) == ("metric DP", 3.0)
    assert claim.distance == "min(Euclidean, 1)"
    for keys in ({"gamma": -1.0}, {"gamma": math.inf}, {"beta": 0.0}, {"beta": 1.0}):
        with pytest.raises(TrlapError, match=next(iter(keys))):
            make(space, 3.0, **keys)
