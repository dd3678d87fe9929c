"""Multivariate Laplace noise against integration, closed forms, Monte Carlo and dp-accounting."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from trlap.errors import TrlapError
from trlap.privacy.composition import dominating_losses
from trlap.privacy.gaussian import GaussianNoise
from trlap.privacy.laplace import LaplaceNoise
from trlap.privacy.multivariate_laplace import BallLaplaceNoise

LOG_1E6 = math.log(1e-6)


def noise(rate: float, reach: float, dimension: int, draws: int = 1) -> BallLaplaceNoise:
    return BallLaplaceNoise(rate=rate, reach=reach, dimension=dimension, draws=draws)


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
        return float(integrate.quad(density, 0, high, args=(axis,), limit=200, epsabs=1e-13)[0])

    edges = [-(distance - at / epsilon) / 2, 0, 1 / epsilon, 5 / epsilon, 40 / epsilon]
    return sum(
        float(integrate.quad(slice_, low, high, limit=100, epsabs=1e-11)[0])
        for low, high in itertools.pairwise(edges)
    )


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize(
    ("at", "epsilon", "distance"), [(0.0, 1.0, 1.0), (0.7, 2.0, 0.5), (2, 3, 2)]
)
def test_against_integration(at: float, epsilon: float, distance: float, dimension: int) -> None:
    expected = by_cylinders(at, epsilon, distance, dimension)
    found = math.exp(noise(epsilon, distance, dimension).log_delta(at))
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-8)
    difference = [0.6 * distance, 0.8 * distance]
    found = math.exp(noise(epsilon, 9.0, dimension).log_delta(at, difference))
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-8)


def by_tails(at: float, a: float, d: int) -> float:
    """δ = Pr[L > ε'] − e^{ε'} Pr[L < −ε'], by symmetry, with the angle in closed form."""
    return tail(at, a, d, 1) - math.exp(at) * tail(-at, a, d, -1)


def tail(bound: float, a: float, d: int, side: int) -> float:
    """Pr[L > bound] for side 1, Pr[L < bound] for side −1."""

    def integrand(r: float) -> float:
        # where L = bound
        c = (2 * r * bound + bound**2 - a**2) / (2 * r * a)
        inside = special.betainc((d - 1) / 2, (d - 1) / 2, np.clip((1 - side * c) / 2, 0, 1))
        return float(inside) * math.exp((d - 1) * math.log(r) - r - math.lgamma(d))

    width = 14 * math.sqrt(d)
    ends = max(1e-9, d - width), d + width
    return float(integrate.quad(integrand, *ends, limit=400, epsabs=0, epsrel=1e-12)[0])


@pytest.mark.parametrize(
    ("at", "a"), [(0.0, 20.0), (5.6, 20.0), (10.0, 20.0), (0.2, 2.0), (90.0, 200.0)]
)
@pytest.mark.parametrize("dimension", [149, 300])
def test_against_closed_form_tails_in_many_dimensions(at: float, a: float, dimension: int) -> None:
    assert math.exp(noise(1.0, a, dimension).log_delta(at)) == pytest.approx(
        by_tails(at, a, dimension), rel=1e-6
    )


def losses_of(d: int, epsilon: float, count: int, seed: int) -> np.ndarray:
    """Drawn losses at distance 2."""
    rng = np.random.default_rng(seed)
    radius = rng.gamma(d, 1 / epsilon, count)
    cosine = 2 * rng.beta((d - 1) / 2, (d - 1) / 2, count) - 1
    return np.asarray(epsilon * (np.sqrt(radius**2 + 4 * radius * cosine + 4) - radius))


@pytest.mark.parametrize("at", [0.0, 1.0, 3.0])
def test_against_monte_carlo(at: float) -> None:
    """300 dimensions, ε = 10, distance 2: within five standard errors (error rate 6e-7 each)."""
    n = 1_000_000
    values = np.maximum(0, -np.expm1(at - losses_of(300, 10.0, n, 0)))
    error = 5 * values.std() / math.sqrt(n)
    assert math.exp(noise(10.0, 2.0, 300).log_delta(at)) == pytest.approx(values.mean(), abs=error)


def test_one_dimension_is_the_laplace_mechanism() -> None:
    """δ(ε') = 1 − e^{(ε' − ε)/2} (Balle, Barthe & Gaboardi 2018), here by integration too."""
    grid = np.linspace(-60, 60, 2_400_001)
    here, there = stats.laplace.pdf(grid), stats.laplace.pdf(grid + 2.5)
    expected = np.trapezoid(np.maximum(0, here - math.e * there), grid)
    assert math.exp(noise(5.0, 0.5, 1).log_delta(1.0)) == pytest.approx(expected, rel=1e-8)


def test_documented_figures() -> None:
    for epsilon, expected in ((1, 0.457), (10, 5.630), (100, 103.69)):
        assert noise(epsilon, 2.0, 300).epsilon_at(LOG_1E6) == pytest.approx(expected, rel=1e-3)


def test_nearly_gaussian_in_very_many_dimensions() -> None:
    """L → N(μ²/2, μ²), μ = a/√d: the Gaussian mechanism's δ."""
    d, mu, at = 10**6, 1.0, 1.0
    a = mu * math.sqrt(d)
    gaussian = stats.norm.cdf(mu / 2 - at / mu) - math.e * stats.norm.cdf(-mu / 2 - at / mu)
    assert math.exp(noise(1.0, a, d).log_delta(at)) == pytest.approx(gaussian, rel=1e-2)


dimensions = st.integers(1, 2000)
products = st.floats(1e-4, 1e4)
shares = st.floats(0, 0.999)


@settings(max_examples=60, deadline=None)
@given(dimensions, products, shares, shares)
def test_delta_falls_with_epsilon_and_grows_with_distance(
    dimension: int, a: float, share: float, other: float
) -> None:
    low, high = sorted([share, other])
    one = noise(1.0, a, dimension)
    log_delta = one.log_delta(low * a)
    assert log_delta <= 0
    assert one.log_delta(high * a) <= log_delta + 1e-9
    assert noise(1.0, 1.1 * a, dimension).log_delta(low * a) >= log_delta - 1e-9
    # only ε × distance matters
    assert noise(7.0, a / 7, dimension).log_delta(low * a) == pytest.approx(log_delta, rel=1e-6)
    # no more than any ε-DP mechanism with the same pure ε
    pure = math.log(-math.expm1((low - 1) * a)) - math.log1p(math.exp(-a))
    assert log_delta <= pure + 1e-9


@settings(max_examples=30, deadline=None)
@given(dimensions, products, shares)
def test_epsilon_inverts_delta(dimension: int, a: float, share: float) -> None:
    one = noise(1.0, a, dimension)
    log_delta = one.log_delta(share * a)
    if log_delta < -1e-6:  # else δ is 1 but for rounding, and ε' is not determined by it
        assert one.epsilon_at(log_delta) == pytest.approx(share * a, rel=1e-6, abs=1e-6 * a)


@pytest.mark.parametrize("draws", [1, 4])
def test_limits(draws: int) -> None:
    ten, still = noise(10.0, 2.0, 300, draws), noise(10.0, 0.0, 300, draws)
    endless = noise(10.0, math.inf, 300, draws)
    assert ten.pure_epsilon == 20.0 * draws
    assert ten.log_delta(20.0 * draws) == -math.inf
    assert ten.epsilon_at(-math.inf) == 20.0 * draws
    assert ten.epsilon_at(-2000.0 * draws) == pytest.approx(20.0 * draws, rel=1e-2)
    assert ten.epsilon_at(0.0) == 0
    assert still.log_delta(0.0) == -math.inf
    assert still.epsilon_at(-5.0) == 0
    assert endless.log_delta(1.0) == 0
    assert endless.epsilon_at(-5.0) == math.inf
    # a δ that is no float; of several draws, a bound from a coarse grid
    deep = ten.log_delta(19.999 * draws)
    assert -5000 * draws < deep < (-800 if draws == 1 else -600) * draws
    for rate, reach, dimension, at in (
        (1.0, 1.0, 3, -1.0),
        (-1.0, 1.0, 3, 0.0),
        (1.0, 1.0, 0, 0.0),
        (1, 1, 3, math.nan),
    ):
        with pytest.raises(TrlapError):
            noise(rate, reach, dimension, draws).log_delta(at)


# -------------------------------------------------------------------------------------- calibration


@settings(max_examples=12, deadline=None)
@given(st.floats(0.05, 50), st.floats(-60, -0.1), st.integers(1, 800), st.floats(0.01, 10))
# δ is below what one rounding error in rate × reach costs
@example(4.90625, -36.0, 1, 0.01)
def test_calibration_is_tight(
    epsilon: float, log_delta: float, dimension: int, clip: float
) -> None:
    found = BallLaplaceNoise.calibrate(epsilon, log_delta, dimension, clip)
    assert found.reach == 2 * clip and found.dimension == dimension
    assert found.log_delta(epsilon) <= log_delta
    assert found.epsilon_at(log_delta) <= epsilon * (1 + 1e-9)
    assert noise(1.001 * found.rate, 2 * clip, dimension).log_delta(epsilon) > log_delta


def test_calibration_reference_values() -> None:
    pure = BallLaplaceNoise.calibrate(3.0, -math.inf, 300, 0.5)
    assert pure.rate == 3.0 and pure.pure_epsilon == 3.0
    one = BallLaplaceNoise.calibrate(1.0, math.log(1e-3), 1, 0.5)
    assert one.rate == pytest.approx(1 - 2 * math.log1p(-1e-3), rel=1e-9)
    # undoes the documented figures: a rate of 10 at C = 1 costs ε = 5.63
    epsilon = noise(10.0, 2.0, 300).epsilon_at(LOG_1E6)
    found = BallLaplaceNoise.calibrate(epsilon, LOG_1E6, 300, 1.0)
    assert found.rate == pytest.approx(10.0, rel=1e-8)
    # only the product of rate and reach matters
    stretched = BallLaplaceNoise.calibrate(epsilon, LOG_1E6, 300, 1.0, stretch=4.0)
    assert stretched.reach == 8.0
    assert stretched.rate == pytest.approx(2.5, rel=1e-8)


def test_calibrated_noise_is_nearly_the_gaussian_of_many_dimensions() -> None:
    """Its coordinates have the variance of the analytic Gaussian, within a percent at d = 3000."""
    ball = BallLaplaceNoise.calibrate(1.0, math.log(1e-5), 3000, 1.0)
    gaussian = GaussianNoise.calibrate(1.0, math.log(1e-5), 3000, 1.0)
    assert ball.variance == pytest.approx(gaussian.variance, rel=0.01)


@pytest.mark.parametrize("dimension", [1, 2, 30])
def test_variance(dimension: int) -> None:
    """E‖z‖² = E[r²], r ~ Gamma(d, 1/rate), is d times a coordinate's variance."""
    found = noise(2.5, 1.0, dimension).variance
    assert found * dimension == pytest.approx(stats.gamma(dimension, scale=1 / 2.5).moment(2))


# -------------------------------------------------------------------------------------- composition


@pytest.mark.parametrize("draws", [1, 7, 60])
def test_documents_against_dp_accounting_in_one_dimension(draws: int) -> None:
    """There the noise is Laplace noise of scale 1/rate."""
    theirs = privacy_loss_distribution.from_laplace_mechanism(1 / 0.4, sensitivity=2.0)
    ours = noise(0.4, 2.0, 1, draws)
    wanted = theirs.self_compose(draws).get_epsilon_for_delta(1e-6)
    assert ours.epsilon_at(LOG_1E6) == pytest.approx(wanted, rel=1e-3)
    lower = LaplaceNoise(scale=2.5, dimension=1, clip=1.0, draws=draws)
    assert lower.log_delta(ours.epsilon_at(LOG_1E6), [2.0], pessimistic=False) <= LOG_1E6
    for share in (0.1, 0.5, 0.9):
        at = share * 0.8 * draws
        exact = lower.log_delta(at, [2.0])
        assert exact - 1e-5 <= ours.log_delta(at) <= exact + 0.02 * max(1, -exact)


def test_two_draws_against_the_law_of_the_loss() -> None:
    """δ of two draws is the mean over the one's loss of δ of the other at ε' − L.

    With Pr[L > x] in closed form: midpoints of 200 bins, an error of second order, downwards. All
    but 1e-12 of the mass is in them.
    """
    d, a = 300, 20.0
    edges = np.linspace(-8, 11, 201)
    above = np.array([tail(x, a, d, 1) for x in edges])
    mass, middle = -np.diff(above), (edges[1:] + edges[:-1]) / 2
    one, two = noise(10.0, 2.0, d), noise(10.0, 2.0, d, draws=2)

    def single(at: float) -> float:
        if at >= 0:
            return math.exp(one.log_delta(at))
        return 1 - math.exp(at) * (1 - math.exp(one.log_delta(-at)))

    assert mass.sum() == pytest.approx(1, abs=1e-10)
    for at in (1.0, 6.0):
        exact = sum(p * single(at - x) for p, x in zip(mass, middle, strict=True))
        found = math.exp(two.log_delta(at))
        assert exact * (1 - 1e-6) <= found <= exact * 1.005


@pytest.mark.parametrize(("rate", "draws"), [(1.0, 20), (100.0, 5)])
def test_documents_cost_less_than_any_mechanism_and_more_than_a_draw(
    rate: float, draws: int
) -> None:
    word = noise(rate, 2.0, 300)
    document = word.compose(draws)
    found = document.epsilon_at(LOG_1E6)
    any_mechanism = dominating_losses(word.pure_epsilon).compose(draws).epsilon_at(LOG_1E6)
    assert word.epsilon_at(LOG_1E6) < found < any_mechanism <= document.pure_epsilon
    assert document.log_delta(found) == pytest.approx(LOG_1E6, abs=0.02)
    assert document.epsilon_at(LOG_1E6, [0.3, 0.4]) < found
    assert document.epsilon_at(LOG_1E6, [1.2, -1.6]) == pytest.approx(found)


def test_documents_against_monte_carlo() -> None:
    """Five draws in 300 dimensions: within five standard errors, and 0.5 % for the grid."""
    n, at = 400_000, 8.0
    losses = sum(losses_of(300, 10.0, n, seed) for seed in range(5))
    values = np.maximum(0, -np.expm1(at - losses))
    error = 5 * values.std() / math.sqrt(n)
    found = math.exp(noise(10.0, 2.0, 300, draws=5).log_delta(at))
    assert values.mean() - error <= found <= 1.005 * values.mean() + error


def test_reference_values_of_documents() -> None:
    """Upper bounds that were made with dp-accounting from the same 121 points of the curve."""
    for rate, draws, expected in (
        (1, 20, 2.333976795),
        (10, 20, 37.06573069),
        (1, 500, 15.0454342),
    ):
        assert noise(rate, 2.0, 300, draws).epsilon_at(LOG_1E6) == pytest.approx(expected, rel=1e-8)
    # there e^-1422 is no float for dp-accounting, which answers with the next point: 1422.99
    assert noise(100, 2.0, 300, 20).epsilon_at(LOG_1E6) == pytest.approx(1421.911, rel=1e-6)


@pytest.mark.parametrize(
    ("rate", "reach", "dimension", "log_delta"), [(0.1, 1.0, 2, -50.0), (1.0, 2.0, 5, -60.0)]
)
def test_the_smallest_epsilon_is_on_the_valid_side(
    rate: float, reach: float, dimension: int, log_delta: float
) -> None:
    found = noise(rate, reach, dimension)
    assert found.log_delta(found.epsilon_at(log_delta)) <= log_delta
