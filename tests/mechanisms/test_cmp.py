import math

import numpy as np
import pytest
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
    plane_law,
    points,
    random_space,
    shipped,
    vector_mechanism,
)
from scipy import stats

from trlap.errors import TrlapError
from trlap.mechanisms import registry


@pytest.mark.parametrize(("dimension", "epsilon"), [(1, 2.0), (2, 0.1), (3, 1e-4), (300, 10.0)])
def test_lengths_are_gamma_and_directions_uniform(dimension: int, epsilon: float) -> None:
    """Kolmogorov–Smirnov on 20,000 draws, at level ALPHA each."""
    made = vector_mechanism("cmp", random_space(5, dimension), epsilon)
    z = made.noise(20_000, generator(1)).double().numpy()
    lengths = np.linalg.norm(z, axis=1)
    assert stats.kstest(lengths, stats.gamma(dimension, scale=1 / epsilon).cdf).pvalue > ALPHA
    direction = np.random.default_rng(0).normal(size=dimension)
    cosine = z @ direction / np.linalg.norm(direction) / lengths
    if dimension == 1:
        assert stats.binomtest(int((cosine > 0).sum()), len(z)).pvalue > ALPHA
    else:
        half = (dimension - 1) / 2
        assert stats.kstest((1 + cosine) / 2, stats.beta(half, half).cdf).pvalue > ALPHA
        assert stats.spearmanr(lengths, cosine).pvalue > ALPHA


def test_one_dimension_is_laplace() -> None:
    z = vector_mechanism("cmp", random_space(5, 1), 3.0).noise(50_000, generator(2)).numpy()[:, 0]
    assert stats.kstest(z, stats.laplace(scale=1 / 3).cdf).pvalue > ALPHA


def test_mean_and_covariance() -> None:
    """E z = 0 and E zzᵀ = (d + 1)/ε² I; within five standard errors of each entry, roughly."""
    d, epsilon, n = 10, 2.0, 200_000
    z = vector_mechanism("cmp", random_space(5, d), epsilon).noise(n, generator(3)).double().numpy()
    variance = (d + 1) / epsilon**2
    assert np.abs(z.mean(0)).max() < 5 * math.sqrt(variance / n)
    assert np.abs(np.cov(z.T) / variance - np.eye(d)).max() < 5 * math.sqrt(4 / n)


@pytest.mark.parametrize("word", range(5))
def test_output_law_on_five_words(word: int) -> None:
    space = make_space(PLANE)
    law = plane_law(points(space)[word], points(space), 4.0)
    assert agrees(frequencies(registry.make("cmp", space, 4.0), word), law)


def test_five_words_on_a_line_in_closed_form() -> None:
    space = make_space(np.array([[-0.9], [-0.2], [0.1], [0.3], [1.0]]))
    x = points(space)[:, 0]
    edges = np.concatenate([[-np.inf], (x[1:] + x[:-1]) / 2, [np.inf]])
    for word in range(5):
        law = np.diff(stats.laplace(loc=x[word], scale=1 / 5).cdf(edges))
        assert agrees(frequencies(registry.make("cmp", space, 5.0), word, seed=word), law)


def test_the_words_keep_the_metric_promise() -> None:
    space = make_space(PLANE)
    log_q = np.log([plane_law(x, points(space), 4.0) for x in points(space)])
    assert (log_ratios(log_q) <= 4.0 * pairwise(points(space)) + 1e-3).all()


@settings(max_examples=25, deadline=None)
@given(st.floats(1e-3, 50), st.integers(1, 400), st.floats(1e-2, 10))
def test_guarantee(epsilon: float, dimension: int, clip: float) -> None:
    made = vector_mechanism("cmp", random_space(4, dimension, clip=clip), epsilon, clip=clip)
    pure = epsilon * 2 * clip
    assert made.log_delta(pure) == -math.inf
    assert made.epsilon_at(-math.inf) == pytest.approx(pure)
    assert made.epsilon_at(math.log(1e-6)) <= pure
    x = points(made.space)
    pair = made.log_delta(0.1 * pure, x[0] - x[1])
    assert pair <= made.log_delta(0.1 * pure) + 1e-9
    distance = float(np.linalg.norm(x[0] - x[1]))
    assert made.epsilon_at(-math.inf, x[0] - x[1]) == pytest.approx(epsilon * distance)


def test_claim_and_keys() -> None:
    assert shipped("cmp") == {}
    claim = registry.make("cmp", make_space(PLANE), 3.0).claimed()
    assert (claim.notion, claim.epsilon, claim.distance) == ("metric DP", 3.0, "Euclidean")
    with pytest.raises(TrlapError):
        registry.make("cmp", make_space(PLANE), 3.0, lam=0.5)
