"""Gaussian noise against mpmath, dp-accounting and brute force."""

import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from privacy_helpers import LN10, PAPER, brute_force, epsilons, log_deltas, many
from scipy import optimize, stats

from trlap.errors import TrlapError
from trlap.privacy.composition import log_to_log10, paper_log_delta
from trlap.privacy.gaussian import GaussianNoise


def noise(sigma: float, distance: float = 2.0) -> GaussianNoise:
    """Noise between vectors that are at most so far apart."""
    return GaussianNoise(sigma=sigma, dimension=300, clip=distance / 2)


def published(epsilon: float, log_delta: float) -> GaussianNoise:
    return GaussianNoise.published(epsilon, log_delta, 300, 1.0)


@pytest.mark.parametrize(
    ("epsilon", "sigma", "distance"),
    [
        (0.0, 1.0, 1.0),
        (0.0, 1.0, 1e-3),
        (1.0, 3.7, 1.0),
        (1.0, 0.1, 2.0),  # δ close to 1
        (0.01, 900.0, 2.0),
        (20.0, published(20, PAPER).sigma, 2.0),  # log₁₀ δ ≈ −180
        (20.0, published(20, paper_log_delta(1700)).sigma, 2.0),
        (800.0, 0.05, 2.0),  # e^ε is no float
        (5000.0, 0.02, 2.0),
        (1.0, 900.0, 1.0),
        (10.0, 300.0, 1.0),  # both terms agree in seven digits
    ],
)
def test_gaussian_delta_against_mpmath(epsilon: float, sigma: float, distance: float) -> None:
    with mpmath.workdps(80):
        mu, e = mpmath.mpf(distance) / mpmath.mpf(sigma), mpmath.mpf(epsilon)

        def phi(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

        exact = mpmath.log(phi(mu / 2 - e / mu) - mpmath.exp(e) * phi(-mu / 2 - e / mu))
        for difference in (None, [distance], [0.6 * distance, -0.8 * distance]):
            found = noise(sigma, distance).log_delta(epsilon, difference)
            assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("log10_delta", [-3, -6, -12])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_gaussian_against_dp_accounting(epsilon: float, log10_delta: int) -> None:
    sigma = dp_accounting.get_sigma_gaussian(epsilon, 10.0**log10_delta)
    found = GaussianNoise.calibrate(epsilon, log10_delta * LN10, 300, 0.5)
    assert found.sigma == pytest.approx(sigma)
    assert noise(sigma, 1.0).epsilon_at(log10_delta * LN10) == pytest.approx(epsilon)


def test_gaussian_reference_values() -> None:
    found = GaussianNoise.calibrate(1.0, math.log(1e-5), 300, 1.0)
    assert found.sigma == pytest.approx(7.461, abs=5e-4)
    assert found.variance == found.sigma**2
    log10_delta = log_to_log10(published(20.0, PAPER).log_delta(20.0))
    assert log10_delta == pytest.approx(-179.88, abs=5e-3)
    assert log_to_log10(PAPER) == pytest.approx(-180.62, abs=5e-3)


@pytest.mark.parametrize(
    ("log_delta", "limit"), [(PAPER, 16.9), (math.log(1e-5), 8.42), (math.log(1e-6), 8.78)]
)
def test_published_gaussian_is_valid_up_to_a_limit(log_delta: float, limit: float) -> None:
    def excess(epsilon: float) -> float:
        return published(epsilon, log_delta).log_delta(epsilon) - log_delta

    assert all(excess(e) < 0 for e in (1e-3, 0.05, 0.5, 1, 2, 5, 0.99 * limit))
    assert all(excess(e) > 0 for e in (1.01 * limit, 20, 50))
    digits = 5e-2 if log_delta == PAPER else 5e-3
    assert optimize.brentq(excess, 2, 40) == pytest.approx(limit, abs=digits)


@many
@given(epsilons, log_deltas, st.floats(0.01, 100))
def test_gaussian_calibration_is_tight(epsilon: float, log_delta: float, distance: float) -> None:
    found = GaussianNoise.calibrate(epsilon, log_delta, 300, distance / 2)
    assert found.log_delta(epsilon) <= log_delta
    assert noise(0.999 * found.sigma, distance).log_delta(epsilon) > log_delta
    assert found.epsilon_at(log_delta) == pytest.approx(epsilon, rel=1e-6)


@many
@given(st.floats(0, 50), st.floats(0.001, 20), log_deltas, st.floats(0.02, 50))
def test_gaussian_curves_fall(epsilon: float, more: float, log_delta: float, sigma: float) -> None:
    one, two = (noise(sigma, 1.0).log_delta(e) for e in (epsilon, epsilon + more))
    assert two < one or one > -1e-12
    one, two = (noise(sigma, 1.0).epsilon_at(ld) for ld in (log_delta, log_delta * 1.01))
    assert two > one or one == two == 0


def test_gaussian_at_the_ends() -> None:
    one = noise(1.0, 1.0)
    assert one.log_delta(1.0, [0.0]) == -math.inf
    assert one.epsilon_at(-1.0, [0.0]) == 0
    assert one.epsilon_at(-math.inf, [0.0]) == 0
    assert one.epsilon_at(-math.inf) == math.inf
    assert noise(10.0, 1.0).epsilon_at(math.log(0.5)) == 0
    assert one.log_delta(1e9) == pytest.approx(-5e17, rel=1e-8)
    with pytest.raises(TrlapError, match="delta above 0"):
        GaussianNoise.calibrate(1.0, -math.inf, 300, 0.5)


@pytest.mark.parametrize("s", [[1.0], [0.7, -0.4], [1.0, 0.2, 0.6]])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.5])
def test_gaussian_against_brute_force(epsilon: float, s: list[float]) -> None:
    sigma = 0.8
    expected = brute_force(epsilon, s, stats.norm(scale=sigma))
    found = math.exp(noise(sigma).log_delta(epsilon, s))
    assert found == pytest.approx(expected, rel=1e-3)
    assert noise(sigma, float(np.linalg.norm(s))).log_delta(epsilon) == pytest.approx(
        math.log(found)
    )


def test_draws_add_up_in_squares() -> None:
    three = noise(2.0, math.sqrt(3)).log_delta(1.0)
    assert noise(2.0, 1.0).compose(3).log_delta(1.0) == pytest.approx(three, abs=1e-12)
    assert noise(2.0, 1.0).compose(3).compose(2) == noise(2.0, 1.0).compose(6)


@pytest.mark.parametrize("separation", [9.9e-7, 1e-9, 1e-15, 1e-17])
@pytest.mark.parametrize("multiple", [0, 1, 10, 100, 2000])
def test_words_that_are_almost_the_same_against_mpmath(separation: float, multiple: int) -> None:
    epsilon = multiple * separation
    found = GaussianNoise(sigma=1 / separation, clip=0.5, dimension=3).log_delta(epsilon)
    with mpmath.workdps(60):
        mu, exact = mpmath.mpf(separation), mpmath.mpf(epsilon)
        first = mpmath.ncdf(mu / 2 - exact / mu)
        delta = first - mpmath.e**exact * mpmath.ncdf(-mu / 2 - exact / mu)
        assert found == pytest.approx(float(mpmath.log(delta)), rel=1e-9)


def test_at_an_infinite_epsilon_nothing_is_lost() -> None:
    assert GaussianNoise(sigma=1.0, clip=1.0, dimension=3).log_delta(math.inf) == -math.inf
