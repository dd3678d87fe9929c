import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_helpers import (
    ALPHA,
    PLANE,
    agrees,
    frequencies,
    generator,
    log_ratios,
    make_space,
    pairwise,
    points,
    random_space,
    shipped,
)
from scipy import stats

from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms import _exponential, registry
from trlap.mechanisms.santext import SanText


def make(space: Space, epsilon: float) -> SanText:
    made = registry.make("santext", space, epsilon)
    assert isinstance(made, SanText)
    return made


@pytest.mark.parametrize("word", range(5))
def test_output_law_on_five_words(word: int) -> None:
    space = make_space(PLANE)
    weights = np.exp(-3.0 / 2 * pairwise(points(space))[word])
    law = weights / weights.sum()
    made = make(space, 3.0)
    assert np.allclose(made.log_probabilities(torch.tensor([word])).exp().numpy()[0], law)
    assert agrees(frequencies(made, word), law)


def test_output_law_on_many_words() -> None:
    """A thousand words, a batch with every word in it, drawn together."""
    space = random_space(1000, 10)
    made = make(space, 8.0)
    words = torch.cat([torch.arange(1000), torch.full((200_000,), 7)])
    private = made.draw(words, generator(0))
    law = made.log_probabilities(torch.tensor([7])).exp().numpy()[0]
    assert agrees(np.bincount(private[1000:].numpy(), minlength=1000), law)


@settings(max_examples=40, deadline=None)
@given(st.floats(1e-3, 1e4), st.integers(2, 60), st.integers(1, 50), st.floats(0.01, 10))
def test_rows_sum_to_one_and_keep_the_metric_promise(
    epsilon: float, count: int, dimension: int, clip: float
) -> None:
    space = random_space(count, dimension, clip=clip)
    made = make(space, epsilon)
    log_q = made.log_probabilities(torch.arange(count)).numpy()
    distances = pairwise(points(space))
    assert np.isfinite(log_q).all()
    assert np.allclose(np.exp(log_q).sum(1), 1, atol=1e-12)
    slack = 1e-9 * (1 + epsilon * clip)
    assert (log_ratios(log_q) <= epsilon * distances + slack).all()
    assert made.epsilon_exact == pytest.approx(log_ratios(log_q).max(), rel=1e-9, abs=1e-9)
    assert made.epsilon_exact <= epsilon * distances.max() + slack


def test_distances_are_accurate_where_the_product_cancels() -> None:
    """Words 1e-5 apart, far from the origin, and one twice."""
    rng = np.random.default_rng(0)
    vectors = 10 + 1e-5 * rng.normal(size=(40, 20))
    vectors[3] = vectors[5]
    space = make_space(vectors, clip=None)
    made, expected = make(space, 1.0), pairwise(points(space))
    assert np.allclose(made.distances(torch.arange(40)).numpy(), expected, rtol=1e-12, atol=0)
    spread = random_space(40, 300)
    found = make(spread, 1.0).distances(torch.arange(40)).numpy()
    assert np.allclose(found, pairwise(points(spread)), rtol=2e-8, atol=0)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    space, words = random_space(200, 10), torch.randint(200, (500,), generator=generator(1))
    whole = make(space, 5.0)
    drawn, exact = whole.draw(words, generator(2)), whole.epsilon_exact
    monkeypatch.setattr(_exponential, "CELLS", 7 * 200)  # seven rows at a time
    parts = make(space, 5.0)
    assert torch.equal(parts.draw(words, generator(2)), drawn)
    assert parts.epsilon_exact == pytest.approx(exact, rel=1e-12)
    assert parts.draw(words[:0], generator(2)).shape == (0,)


def test_a_token_takes_its_own_uniform_whatever_the_order() -> None:
    """Equal words are looked up together; each still gets the answer of its place in the batch."""
    space = random_space(50, 5)
    made, words = make(space, 5.0), torch.tensor([3, 1, 3, 2, 1, 3])
    uniform = _exponential.uniform53(6, generator(4)).numpy()
    sums = made.log_probabilities(words).exp().numpy().cumsum(1)
    expected = [int((row <= u).sum()) for row, u in zip(sums, uniform, strict=True)]
    assert made.draw(words, generator(4)).tolist() == expected


def test_large_epsilon_keeps_every_word() -> None:
    space, words = random_space(100, 5), torch.arange(100)
    made = make(space, 1e6)
    assert torch.equal(made.draw(words, generator(0)), words)
    assert np.isfinite(made.log_probabilities(words).numpy()).all()
    assert math.isfinite(made.epsilon_exact)
    assert made.log_delta(1.0) == pytest.approx(0, abs=1e-12)


def test_uniforms_have_53_bits() -> None:
    u = _exponential.uniform53(100_000, generator(0))
    assert u.dtype == torch.float64
    assert u.min() >= 0 and u.max() < 1
    assert stats.kstest(u.numpy(), "uniform").pvalue > ALPHA
    assert ((u * 2**53) % 2 == 1).double().mean() == pytest.approx(0.5, abs=0.01)


def test_claim_and_keys() -> None:
    assert shipped("santext") == {}
    claim = make(make_space(PLANE), 3.0).claimed()
    assert (claim.notion, claim.epsilon, claim.distance) == ("metric DP", 3.0, "Euclidean")
    with pytest.raises(TrlapError):
        registry.make("santext", make_space(PLANE), 3.0, gamma=1.0)
