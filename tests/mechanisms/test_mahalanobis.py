import math

import numpy as np
import pytest
from conftest import ROOT
from metric_helpers import (
    ALPHA,
    PLANE,
    agrees,
    frequencies,
    generator,
    make_space,
    plane_law,
    points,
    random_space,
    shipped,
    vector_mechanism,
)
from scipy import linalg, stats

from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms import mahalanobis, registry
from trlap.mechanisms.mahalanobis import Mahalanobis
from trlap.mechanisms.released.mahalanobis import LAM


def regularised(space: Space, lam: float) -> np.ndarray:
    """λΣ + (1 − λ)I with Σ scaled to trace d, from its definition."""
    covariance = np.cov(points(space).T)
    d = space.dimension
    return lam * covariance * d / np.trace(covariance) + (1 - lam) * np.eye(d)


def stretched(count: int, dimension: int) -> Space:
    rng = np.random.default_rng(5)
    return make_space(rng.normal(size=(count, dimension)) * np.linspace(0.1, 0.5, dimension))


def test_covariance_of_the_noise() -> None:
    """E zzᵀ = (d + 1)/ε² R; within five standard errors of each entry, roughly."""
    space, epsilon, n = stretched(50, 6), 2.0, 200_000
    z = (
        vector_mechanism("mahalanobis", space, epsilon, lam=0.7)
        .noise(n, generator(1))
        .double()
        .numpy()
    )
    expected = (space.dimension + 1) / epsilon**2 * regularised(space, 0.7)
    assert np.abs(np.cov(z.T) / expected.max() - expected / expected.max()).max() < 5 * math.sqrt(
        4 / n
    )


def test_lengths_in_its_own_norm_are_gamma() -> None:
    space = stretched(100, 20)
    z = (
        vector_mechanism("mahalanobis", space, 3.0, lam=0.5)
        .noise(20_000, generator(2))
        .double()
        .numpy()
    )
    inverse = np.linalg.inv(regularised(space, 0.5))
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", z, inverse, z))
    assert stats.kstest(lengths, stats.gamma(20, scale=1 / 3).cdf).pvalue > ALPHA


def test_without_the_covariance_it_is_cmp() -> None:
    space = stretched(20, 4)
    noise = [
        vector_mechanism(name, space, 1.0, **keys).noise(100, generator(3)).numpy()
        for name, keys in (("cmp", {}), ("mahalanobis", {"lam": 0.0}))
    ]
    assert np.allclose(noise[0], noise[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("word", [0, 2, 4])
def test_output_law_on_five_words(word: int) -> None:
    space = make_space(PLANE * [1.0, 0.3])
    root = linalg.sqrtm(regularised(space, 0.9)).real
    law = plane_law(points(space)[word], points(space), 4.0, root)
    assert agrees(frequencies(registry.make("mahalanobis", space, 4.0, lam=0.9), word), law)
    assert not agrees(frequencies(registry.make("cmp", space, 4.0), word), law)  # the test can fail


def test_guarantee() -> None:
    space = stretched(50, 6)
    made = registry.make("mahalanobis", space, 2.0, lam=0.7)
    assert isinstance(made, Mahalanobis)
    matrix = regularised(space, 0.7)
    s = points(space)[0] - points(space)[1]
    own = math.sqrt(s @ np.linalg.inv(matrix) @ s)
    assert made.distance(s) == pytest.approx(own)
    assert made.epsilon_at(-math.inf, s) == pytest.approx(2.0 * own)
    worst = 2 / math.sqrt(np.linalg.eigvalsh(matrix).min())
    assert made.epsilon_at(-math.inf) == pytest.approx(2.0 * worst)
    assert made.log_delta(1.0) > made.log_delta(1.0, s)
    # the density ratio at any point stays below the promise, and reaches it behind a word
    inverse = np.linalg.inv(linalg.sqrtm(matrix).real)
    z = np.concatenate([np.random.default_rng(0).normal(size=(1000, 6)) * 3, [1e-9 * s]])
    losses = 2.0 * (np.linalg.norm((z + s) @ inverse, axis=1) - np.linalg.norm(z @ inverse, axis=1))
    assert losses.max() == pytest.approx(2.0 * own, rel=1e-6)


def test_claim_and_keys() -> None:
    space = make_space(PLANE)
    assert shipped("mahalanobis") == {"lam": 0.2}
    claim = registry.make("mahalanobis", space, 3.0).claimed()
    assert (claim.notion, claim.epsilon) == ("metric DP", 3.0)
    assert claim.distance == "regularised Mahalanobis"
    for lam in (-0.1, 1.1, "much"):
        with pytest.raises(TrlapError, match="lam"):
            registry.make("mahalanobis", space, 3.0, lam=lam)


def test_directions_without_noise_are_refused() -> None:
    with pytest.raises(TrlapError, match="fewer than 10"):
        registry.make("mahalanobis", random_space(5, 10), 1.0, lam=1.0)
    with pytest.raises(TrlapError, match="the same"):
        registry.make("mahalanobis", make_space(np.ones((3, 2))), 1.0)


def test_where_lambda_differs_from_the_released_code_a_reader_finds_it() -> None:
    assert (Mahalanobis.lam, LAM) == (0.2, 0.5)
    pages = [ROOT / "README.md", ROOT / "conf" / "mechanism" / "mahalanobis.yaml"]
    for text in (mahalanobis.__doc__ or "", *(page.read_text(encoding="utf-8") for page in pages)):
        assert "0.2" in text and "0.5" in text
