import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from vector_helpers import draws, fits, make, projects_as_brute_force

from trlap.mechanisms.laplace import Laplace


@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 20.0])
def test_the_noise_is_laplace(epsilon: float) -> None:
    found = make(Laplace, epsilon)
    assert found.law.scale == pytest.approx(2 * math.sqrt(300) / epsilon)
    fits(found, stats.laplace(scale=found.law.scale).cdf, 2 * found.law.scale**2)


def test_no_draw_is_infinite() -> None:
    assert np.isfinite(draws(make(Laplace, 1.0), 20_000_000)).all()


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-3, 100), st.integers(1, 400), st.floats(1e-3, 100))
def test_published_is_pure_dp_and_tight(epsilon: float, dimension: int, clip: float) -> None:
    found = make(Laplace, epsilon, dimension=dimension, clip=clip)
    spread = np.full(dimension, 2 * clip / math.sqrt(dimension))
    assert found.claimed().log_delta == -math.inf
    assert found.log_delta(epsilon * (1 + 1e-9)) == -math.inf
    assert found.log_delta(epsilon * 0.99, spread) > -math.inf


def test_exact_needs_far_less_noise_once_a_delta_is_allowed() -> None:
    found = make(Laplace, 1.0, delta=1e-5, calibration="exact")
    assert found.law.scale == pytest.approx(7.470, abs=0.003)  # the analytic Gaussian: σ = 7.461
    assert found.log_delta(1.0) <= math.log(1e-5)
    assert make(Laplace, 1.0).law.scale == pytest.approx(34.64, abs=0.01)


def test_replacements_are_those_of_brute_force() -> None:
    found = make(Laplace, 12.0, dimension=3)
    projects_as_brute_force(found, lambda rng: rng.laplace(scale=found.law.scale, size=40_000))
