import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from trlap.errors import TrlapError
from trlap.privacy.multivariate_laplace import laplace_ball_epsilon, laplace_ball_log_delta


def by_cylinders(at: float, epsilon: float, distance: float, dimension: int) -> float:
    """∫ (f(z) − e^{ε'} f(z + s))₊ dz by brute force, in cylindrical coordinates around s.

    Adaptive along the axis and away from it; knows nothing of polar coordinates or of L.
    """
    surface = 2 * math.pi ** ((dimension - 1) / 2) / math.gamma((dimension - 1) / 2)
    ball = 2 * math.pi ** (dimension / 2) / math.gamma(dimension / 2)
    constant = surface * epsilon**dimension / (ball * math.gamma(dimension))

    def density(away: float, axis: float) -> float:
        here = math.exp(-epsilon * math.hypot(axis, away))
        there = math.exp(at - epsilon * math.hypot(axis + distance, away))
        return max(0.0, here - there) * away ** (dimension - 2) * constant

    def slice_(axis: float) -> float:
        # along a slice the event is an interval from 0 on: find its end
        high = 1.0
        while high < 100 / epsilon and density(high, axis) > 0:
            high *= 2
        return integrate.quad(density, 0, high, args=(axis,), limit=200, epsabs=1e-13)[0]

    edges = [-(distance - at / epsilon) / 2, 0, 1 / epsilon, 5 / epsilon, 40 / epsilon]
    return sum(
        integrate.quad(slice_, low, high, limit=100, epsabs=1e-11)[0]
        for low, high in itertools.pairwise(edges)
    )


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize(
    ("at", "epsilon", "distance"), [(0.0, 1.0, 1.0), (0.7, 2.0, 0.5), (2, 3, 2)]
)
def test_against_integration(at: float, epsilon: float, distance: float, dimension: int) -> None:
    found = math.exp(laplace_ball_log_delta(at, epsilon, distance, dimension))
    assert found == pytest.approx(
        by_cylinders(at, epsilon, distance, dimension), rel=1e-5, abs=1e-8
    )


def by_tails(at: float, a: float, d: int) -> float:
    """δ = Pr[L > ε'] − e^{ε'} Pr[L < −ε'], by symmetry, with the angle in closed form."""

    def tail(bound: float, side: int) -> float:
        def integrand(r: float) -> float:
            c = (2 * r * bound + bound**2 - a**2) / (2 * r * a)  # where L = bound
            inside = special.betainc((d - 1) / 2, (d - 1) / 2, np.clip((1 - side * c) / 2, 0, 1))
            return float(inside) * math.exp((d - 1) * math.log(r) - r - math.lgamma(d))

        width = 14 * math.sqrt(d)
        return integrate.quad(
            integrand, max(1e-9, d - width), d + width, limit=400, epsabs=0, epsrel=1e-12
        )[0]

    return tail(at, 1) - math.exp(at) * tail(-at, -1)


@pytest.mark.parametrize(
    ("at", "a"), [(0.0, 20.0), (5.6, 20.0), (10.0, 20.0), (0.2, 2.0), (90.0, 200.0)]
)
@pytest.mark.parametrize("dimension", [149, 300])
def test_against_closed_form_tails_in_many_dimensions(at: float, a: float, dimension: int) -> None:
    assert math.exp(laplace_ball_log_delta(at, 1.0, a, dimension)) == pytest.approx(
        by_tails(at, a, dimension), rel=1e-6
    )


@pytest.mark.parametrize("at", [0.0, 1.0, 3.0])
def test_against_monte_carlo(at: float) -> None:
    """300 dimensions, ε = 10, distance 2: within five standard errors (error rate 6e-7 each)."""
    rng = np.random.default_rng(0)
    d, epsilon, n = 300, 10.0, 1_000_000
    radius = rng.gamma(d, 1 / epsilon, n)
    cosine = 2 * rng.beta((d - 1) / 2, (d - 1) / 2, n) - 1
    loss = epsilon * (np.sqrt(radius**2 + 4 * radius * cosine + 4) - radius)
    values = np.maximum(0, -np.expm1(at - loss))
    error = 5 * values.std() / math.sqrt(n)
    assert math.exp(laplace_ball_log_delta(at, epsilon, 2.0, d)) == pytest.approx(
        values.mean(), abs=error
    )


def test_one_dimension_is_the_laplace_mechanism() -> None:
    """δ(ε') = 1 − e^{(ε' − ε)/2} (Balle, Barthe & Gaboardi 2018), here by integration too."""
    grid = np.linspace(-60, 60, 2_400_001)
    here, there = stats.laplace.pdf(grid), stats.laplace.pdf(grid + 2.5)
    expected = np.trapezoid(np.maximum(0, here - math.e * there), grid)
    assert math.exp(laplace_ball_log_delta(1.0, 5.0, 0.5, 1)) == pytest.approx(expected, rel=1e-8)


def test_documented_figures() -> None:
    at = math.log(1e-6)
    for epsilon, expected in ((1, 0.457), (10, 5.630), (100, 103.69)):
        assert laplace_ball_epsilon(at, epsilon, 2.0, 300) == pytest.approx(expected, rel=1e-3)


def test_nearly_gaussian_in_very_many_dimensions() -> None:
    """L → N(μ²/2, μ²), μ = a/√d: the Gaussian mechanism's δ."""
    d, mu, at = 10**6, 1.0, 1.0
    a = mu * math.sqrt(d)
    gaussian = stats.norm.cdf(mu / 2 - at / mu) - math.e * stats.norm.cdf(-mu / 2 - at / mu)
    assert math.exp(laplace_ball_log_delta(at, 1.0, a, d)) == pytest.approx(gaussian, rel=1e-2)


dimensions = st.integers(1, 2000)
products = st.floats(1e-4, 1e4)
shares = st.floats(0, 0.999)


@settings(max_examples=60, deadline=None)
@given(dimensions, products, shares, shares)
def test_delta_falls_with_epsilon_and_grows_with_distance(
    dimension: int, a: float, share: float, other: float
) -> None:
    low, high = sorted([share, other])
    log_delta = laplace_ball_log_delta(low * a, 1.0, a, dimension)
    assert log_delta <= 0
    assert laplace_ball_log_delta(high * a, 1.0, a, dimension) <= log_delta + 1e-9
    assert laplace_ball_log_delta(low * a, 1.0, 1.1 * a, dimension) >= log_delta - 1e-9
    # only ε × distance matters
    assert laplace_ball_log_delta(low * a, 7.0, a / 7, dimension) == pytest.approx(
        log_delta, rel=1e-6
    )
    # no more than any ε-DP mechanism with the same pure ε
    pure = math.log(-math.expm1((low - 1) * a)) - math.log1p(math.exp(-a))
    assert log_delta <= pure + 1e-9


@settings(max_examples=30, deadline=None)
@given(dimensions, products, shares)
def test_epsilon_inverts_delta(dimension: int, a: float, share: float) -> None:
    log_delta = laplace_ball_log_delta(share * a, 1.0, a, dimension)
    if log_delta < -1e-6:  # else δ is 1 but for rounding, and ε' is not determined by it
        assert laplace_ball_epsilon(log_delta, 1.0, a, dimension) == pytest.approx(
            share * a, rel=1e-6, abs=1e-6 * a
        )


def test_limits() -> None:
    assert laplace_ball_log_delta(20.0, 10.0, 2.0, 300) == -math.inf
    assert laplace_ball_epsilon(-math.inf, 10.0, 2.0, 300) == 20.0
    assert laplace_ball_epsilon(-2000.0, 10.0, 2.0, 300) == pytest.approx(20.0, rel=1e-2)
    assert laplace_ball_epsilon(0.0, 10.0, 2.0, 300) == 0
    assert laplace_ball_log_delta(0.0, 10.0, 0.0, 300) == -math.inf
    assert laplace_ball_epsilon(-5.0, 10.0, 0.0, 300) == 0
    assert laplace_ball_log_delta(1.0, 10.0, math.inf, 300) == 0
    assert laplace_ball_epsilon(-5.0, 10.0, math.inf, 300) == math.inf
    deep = laplace_ball_log_delta(19.999, 10.0, 2.0, 300)
    assert -5000 < deep < -800  # a δ that is no float
    for arguments in (
        (-1.0, 1.0, 1.0, 3),
        (0.0, -1.0, 1.0, 3),
        (0.0, 1.0, 1.0, 0),
        (math.nan, 1, 1, 3),
    ):
        with pytest.raises(TrlapError):
            laplace_ball_log_delta(*arguments)
