import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_helpers import draws, fits, make, projects_as_brute_force

from trlap.mechanisms.trlap import TruncatedLaplace
from trlap.privacy.truncated_laplace import published_variances


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 5.0, 10.0, 20.0, 40.0])
def test_the_noise_is_truncated_laplace(epsilon: float) -> None:
    found = make(TruncatedLaplace, epsilon)
    fits(found, found.law.cdf, found.law.variance)
    x = np.abs(draws(found, 1_000_000))
    assert 0.999 * found.law.bound < x.max() <= found.law.bound * (1 + 1e-7)


@pytest.mark.parametrize(
    ("epsilon", "dimension", "A"),
    [
        (0.05, 300, 4.01),
        (0.1, 300, 4.02),
        (1, 300, 4.25),
        (5, 300, 5.97),
        (10, 500, 10.05),
        (20, 1700, 14.48),
        (9, 405, None),
    ],
)
def test_truncation_and_dummy_dimensions(epsilon: float, dimension: int, A: float | None) -> None:
    found = make(TruncatedLaplace, epsilon, clip=2.0)
    assert found.nominal_dimension == dimension
    assert found.claimed().log_delta == pytest.approx(-dimension * math.log(4))
    if A is not None:
        assert pytest.approx(A, abs=0.005) == found.law.bound / 2
    noise = found.noise(2, torch.Generator())
    assert noise.shape == (2, 300)  # dummy coordinates are not drawn


@pytest.mark.parametrize(
    ("epsilon", "axis", "spread"),
    [
        (0.05, 0.249, 0.987),
        (0.1, 0.248, 0.987),
        (1, 0.228, 0.979),
        (5, 0.122, 0.843),
        (10, 0.033, 0.371),
        (20, 0.010, 0.123),
    ],
)
def test_the_claim_does_not_hold(epsilon: float, axis: float, spread: float) -> None:
    found = make(TruncatedLaplace, epsilon)
    one = np.zeros(300)
    one[0] = 2.0
    assert math.exp(found.log_delta(epsilon, one)) == pytest.approx(axis, abs=6e-4)
    assert math.exp(found.log_delta(epsilon)) == pytest.approx(spread, abs=6e-4)
    assert found.log_delta(epsilon) > found.claimed().log_delta
    assert found.epsilon_at(math.log(1e-6)) == math.inf


def test_the_support_tells_words_apart() -> None:
    """The counter-example drawn for real: how often does a coordinate leave the other's support?"""
    found = make(TruncatedLaplace, 0.1)
    shift = 2 / math.sqrt(300)
    noise = found.noise(20_000, torch.Generator().manual_seed(7)).double()
    outside = ((noise + shift).abs() > found.law.bound).any(1).double().mean().item()
    assert outside == pytest.approx(0.9866, abs=5 * math.sqrt(0.9866 * 0.0134 / 20_000))


def test_exact_truncation_keeps_its_promise_at_the_price_of_laplace() -> None:
    found = make(TruncatedLaplace, 1.0, delta=1e-5, calibration="exact")
    assert pytest.approx(374.9, abs=0.1) == found.law.bound
    assert found.log_delta(1.0) <= math.log(1e-5)
    laplace = 2 * (2 * math.sqrt(300)) ** 2
    assert found.law.variance / laplace == pytest.approx(0.9986, abs=1e-4)
    assert (
        pytest.approx(454.6, abs=0.1)
        == make(TruncatedLaplace, 1.0, delta=1e-6, calibration="exact").law.bound
    )


def test_theorem_2_where_its_condition_holds_and_where_not() -> None:
    for epsilon in (0.05, 1.0, 5.0):
        gaussian, laplace, ours = published_variances(epsilon, -300 * math.log(4), 300, 1.0)
        assert ours < gaussian and ours < laplace
    gaussian, laplace, ours = published_variances(4.9, math.log(0.1), 10, 1.0)
    assert ours == pytest.approx(2.443, abs=5e-4) and gaussian == pytest.approx(0.842, abs=5e-4)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-4, 30), st.integers(1, 400), st.floats(1e-3, 100))
def test_every_budget_gives_finite_noise_within_its_bounds(
    epsilon: float, dimension: int, clip: float
) -> None:
    found = make(TruncatedLaplace, epsilon, dimension=dimension, clip=clip)
    x = draws(found, 2000)
    assert np.isfinite(x).all() and np.abs(x).max() <= found.law.bound * (1 + 1e-6)
    assert 2 * clip < found.law.bound  # B > Δ∞, without which the theorem says nothing


def test_replacements_are_those_of_brute_force() -> None:
    found = make(TruncatedLaplace, 0.5, dimension=3)

    def rejection(rng: np.random.Generator) -> np.ndarray:
        """As the paper samples: Laplace draws outside [−A, A] are thrown away."""
        x = rng.laplace(scale=1 / found.law.alpha, size=2_000_000)
        return x[np.abs(x) <= found.law.bound][:40_000]

    projects_as_brute_force(found, rejection)
