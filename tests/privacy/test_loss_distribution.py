"""The one engine: known curves and atoms, composed, against brute force and dp-accounting."""

import math
from pathlib import Path

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy_helpers import Floats
from scipy import special

import trlap
from trlap.privacy.gaussian import GaussianNoise
from trlap.privacy.laplace import LaplaceNoise
from trlap.privacy.loss_distribution import LossDistribution

LOG_1E6 = math.log(1e-6)


def gaussian_curve(mu: float, largest: float, points: int) -> LossDistribution:
    """From the exact δ(ε) of Gaussian noise, whose compositions are exactly known too."""
    noise = GaussianNoise(sigma=2 / mu, dimension=1, clip=1.0)
    return LossDistribution.of_curve(noise.log_delta, largest, points)


def composed_gaussian(mu: float, draws: int) -> GaussianNoise:
    return GaussianNoise(sigma=2 / mu, dimension=1, clip=1.0, draws=draws)


def log_convolve(first: Floats, second: Floats) -> Floats:
    """ln of the convolution of two laws given by their logarithms: the plain sum, for any size."""
    result = np.full(len(first) + len(second) - 1, -np.inf)
    for i, x in enumerate(first):
        part = slice(i, i + len(second))
        result[part] = np.logaddexp(result[part], x + second)
    return result


def plain_log_delta(
    spacing: float, log_probability: Floats, log_infinity: float, draws: int, epsilon: float
) -> float:
    """ln δ(ε) of n draws of atoms at k·spacing, by n plain convolutions under the one word."""
    count = len(log_probability)
    below = log_probability[:0:-1] - spacing * np.arange(count - 1, 0, -1)
    one: Floats = np.concatenate([below, log_probability])
    total = np.zeros(1)
    for _ in range(draws):
        total = log_convolve(one, total)
    loss = spacing * (np.arange(len(total)) - len(total) // 2)
    above = loss > epsilon
    finite = special.logsumexp(total[above] + np.log(-np.expm1(epsilon - loss[above])))
    infinite = -math.expm1(draws * math.log1p(-math.exp(log_infinity)))
    return float(np.logaddexp(finite, math.log(infinite) if infinite else -math.inf))


# ------------------------------------------------------------------------------------------- atoms


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.01, 30),
    st.lists(st.floats(0.05, 1), min_size=1, max_size=5),
    st.floats(0, 1),
    st.integers(1, 12),
    st.floats(0, 0.99),
    st.sampled_from([1e-4, 1e-30]),
)
def test_atoms_against_plain_convolution(
    spacing: float,
    weights: list[float],
    zero: float,
    draws: int,
    share: float,
    infinite: float,
) -> None:
    k = np.arange(1, len(weights) + 1)
    both = 1 + np.exp(-spacing * k)
    total = (zero + float(np.dot(weights, both))) / (1 - infinite)
    with np.errstate(divide="ignore"):
        log_probability = np.log(np.array([zero, *weights]) / total)
    losses = LossDistribution.of_atoms(spacing, log_probability, math.log(infinite)).compose(draws)
    assert losses.largest == pytest.approx(spacing * len(weights) * draws)
    epsilon = share * losses.largest
    exact = plain_log_delta(spacing, log_probability, math.log(infinite), draws, epsilon)
    upper, lower = (losses.log_delta(epsilon, pessimistic=side) for side in (True, False))
    assert lower - 1e-12 <= exact <= upper + 1e-12
    assert upper == pytest.approx(lower, abs=1e-6)


def test_atoms_keep_their_digits_where_delta_is_no_float() -> None:
    """Down to ln δ = −3000, nearly all of 2,000 draws losing their most."""
    log_probability = np.log([1 - 0.2 * (1 + math.exp(-0.01)), 0.2])
    losses = LossDistribution.of_atoms(0.01, log_probability).compose(2000)
    for epsilon in (3.004, 19.906):
        upper, lower = (losses.log_delta(epsilon, pessimistic=side) for side in (True, False))
        exact = plain_log_delta(0.01, log_probability, -math.inf, 2000, epsilon)
        assert lower <= exact + 1e-9 and exact <= upper + 1e-9
        assert upper == pytest.approx(exact, abs=1e-6)
    assert exact < -3000


def test_rare_atoms_are_bounded_if_not_closely() -> None:
    """Between two sums the next is e^-50 times as likely: what rounding is allowed then counts."""
    log_probability = np.array([math.log1p(-2 * math.exp(-50)), -50.0])
    losses = LossDistribution.of_atoms(0.01, log_probability).compose(40)
    for epsilon in (0.15, 0.385):
        exact = plain_log_delta(0.01, log_probability, -math.inf, 40, epsilon)
        assert exact < losses.log_delta(epsilon) < exact + 50
        assert losses.log_delta(epsilon, pessimistic=False) < exact


def test_a_window_over_many_draws() -> None:
    """More sums than a window holds: the central limit, and the bounds on either side agree."""
    log_probability = np.log(
        [1 - 2 * 0.2 * math.cosh(0.005) * math.exp(0.005), 0.2 * math.exp(0.01)]
    )
    losses = LossDistribution.of_atoms(0.01, log_probability).compose(100_000)
    upper, lower = (losses.log_delta(3.0, pessimistic=side) for side in (True, False))
    assert lower <= upper <= lower + 1e-9
    p = np.exp(log_probability[1])
    mean = 100_000 * 0.01 * p * -math.expm1(-0.01)
    deviation = math.sqrt(100_000 * 1e-4 * p * (1 + math.exp(-0.01)))
    mu = GaussianNoise(sigma=2 / deviation, dimension=1, clip=1.0)
    assert mean == pytest.approx(deviation**2 / 2, rel=0.02)
    assert upper == pytest.approx(mu.log_delta(3.0), rel=0.02)


# ------------------------------------------------------------------------------------------- curves


@pytest.mark.parametrize(("mu", "draws"), [(0.1, 20), (0.1, 500), (1.0, 3), (1.0, 50), (8.0, 20)])
def test_a_curve_bounds_its_compositions_closely(mu: float, draws: int) -> None:
    """Gaussian noise composes in closed form: never below, above by less with every finer grid."""
    exact = composed_gaussian(mu, draws)
    largest = composed_gaussian(mu, 1).epsilon_at(LOG_1E6 - math.log(1e4 * draws))
    wanted = exact.epsilon_at(LOG_1E6)
    excess = []
    for points in (30, 120, 480):
        losses = gaussian_curve(mu, largest, points).compose(draws)
        excess.append(losses.epsilon_at(LOG_1E6) / wanted - 1)
        for epsilon in (0.0, 0.3 * wanted, wanted, 1.3 * wanted):
            assert losses.log_delta(epsilon) >= exact.log_delta(epsilon)
    assert 0 <= excess[2] < excess[1] < excess[0] < 0.05
    assert excess[1] < 2e-3 and excess[2] < 2e-4


def test_one_draw_of_a_curve_is_the_curve_at_its_points() -> None:
    """And above it between them, straight as a function of e^ε."""
    exact, losses = composed_gaussian(1.0, 1), gaussian_curve(1.0, 6.0, 60)
    for epsilon in (0.0, 0.1, 1.0, 5.9):
        assert losses.log_delta(epsilon) == pytest.approx(exact.log_delta(epsilon), rel=1e-9)
    left, right = (math.exp(exact.log_delta(e)) for e in (1.0, 1.1))
    share = math.expm1(0.03) / math.expm1(0.1)
    assert math.exp(losses.log_delta(1.03)) == pytest.approx(
        (1 - share) * left + share * right, rel=1e-9
    )
    assert losses.log_delta(7.0) == pytest.approx(exact.log_delta(6.0), rel=1e-9)
    assert losses.epsilon_at(exact.log_delta(6.0) - 1e-6) == math.inf


@pytest.mark.parametrize(("mu", "draws"), [(0.3, 1), (0.3, 40), (2.0, 7)])
def test_a_curve_is_that_of_dp_accounting(mu: float, draws: int) -> None:
    points, noise = 90, composed_gaussian(mu, 1)
    largest = noise.epsilon_at(math.log(1e-9))
    grid = np.arange(points + 1) * (largest / points)
    above = np.exp([noise.log_delta(e) for e in grid])
    below = 1 - np.exp(-grid[:0:-1]) * (1 - above[:0:-1])
    theirs = pld_pmf.create_pmf_pessimistic_connect_dots(
        largest / points, np.arange(-points, points + 1), np.concatenate([below, above])
    ).self_compose(draws)
    ours = gaussian_curve(mu, largest, points).compose(draws)
    for share in (0.0, 0.2, 0.6):
        epsilon = share * largest * math.sqrt(draws)
        wanted = float(theirs.get_delta_for_epsilon(epsilon))
        assert math.exp(ours.log_delta(epsilon)) == pytest.approx(wanted, rel=1e-6)
    wanted = float(theirs.get_epsilon_for_delta(1e-6))
    assert ours.epsilon_at(LOG_1E6) == pytest.approx(wanted, rel=1e-7)


def test_a_curve_brackets_laplace_noise_together_with_the_lower_bound() -> None:
    """Two ways to one distribution: the curve's upper bound and the coordinates' lower one."""
    noise = LaplaceNoise(scale=1.0, dimension=1, clip=0.4)
    for draws in (1, 10, 200):
        curve = LossDistribution.of_curve(
            lambda e: math.log(-math.expm1((e - 0.8) / 2)) if e < 0.8 else -math.inf, 0.8, 400
        ).compose(draws)
        coordinates = noise.compose(draws)
        for share in (0.0, 0.1, 0.4, 0.9):
            epsilon = share * 0.8 * draws
            upper = curve.log_delta(epsilon)
            assert coordinates.log_delta(epsilon, [0.8], pessimistic=False) <= upper
            assert upper == pytest.approx(coordinates.log_delta(epsilon, [0.8]), abs=2e-3)
        assert curve.epsilon_at(-math.inf) == pytest.approx(0.8 * draws)


def test_a_curve_in_logarithms() -> None:
    """δ = e^-3000 and losses of 2000 are no problem."""
    noise = composed_gaussian(20.0, 1)
    largest = noise.epsilon_at(-4000.0)
    losses = LossDistribution.of_curve(noise.log_delta, largest, 400).compose(5)
    exact = composed_gaussian(20.0, 5)
    found = losses.epsilon_at(-3000.0)
    assert exact.epsilon_at(-3000.0) <= found < 1.01 * exact.epsilon_at(-3000.0)
    assert losses.log_delta(found) == pytest.approx(-3000.0, rel=1e-6)


def test_a_curve_has_no_lower_bound() -> None:
    losses = gaussian_curve(1.0, 6.0, 60).compose(3)
    with pytest.raises(ValueError, match="from above only"):
        losses.log_delta(1.0, pessimistic=False)


# ----------------------------------------------------------------------------------- both, and grids


def test_there_is_one_engine() -> None:
    """dp-accounting is an oracle of the tests and nothing that a user has to install."""
    package = Path(trlap.__file__).parent
    sources = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert len(sources) > 50
    assert not [path for path, source in sources.items() if "dp_accounting" in source]


def test_composition_multiplies_draws() -> None:
    losses = gaussian_curve(1.0, 6.0, 60)
    assert losses.compose(3).compose(4).draws == 12
    assert losses.compose(12).largest == 12 * losses.largest
    assert losses.compose(3).compose(4).log_delta(2.0) == losses.compose(12).log_delta(2.0)
    lost = math.exp(losses.log_infinity)
    assert losses.compose(12).log_infinity == pytest.approx(
        math.log(-math.expm1(12 * math.log1p(-lost))), rel=1e-9
    )


def test_a_coarse_grid_errs_on_the_safe_side() -> None:
    noise = LaplaceNoise(scale=5.0, dimension=30, clip=1.0)
    s = np.linspace(0.1, 0.6, 30)
    fine, coarse = noise.losses(s), noise.losses(s).coarse()
    lower = fine.log_delta(0.8, pessimistic=False)
    assert lower <= fine.log_delta(0.8) <= coarse.log_delta(0.8) < lower + 0.05
    assert coarse.log_delta(0.8, pessimistic=False) <= lower
    assert fine.epsilon_at(LOG_1E6) <= coarse.epsilon_at(LOG_1E6)


def test_renyi_bounds_delta() -> None:
    losses = LaplaceNoise(scale=5.0, dimension=30, clip=1.0).losses(np.linspace(0.1, 0.6, 30))
    for epsilon in (0.1, 0.8, 2.0):
        bound = losses.best_renyi(epsilon)[1]
        assert losses.log_delta(epsilon) < bound < losses.log_delta(epsilon) + 3
        for x in (-3.0, 0.0, 3.0):
            assert losses.log_renyi(x) - math.exp(x) * epsilon >= bound - 1e-6
