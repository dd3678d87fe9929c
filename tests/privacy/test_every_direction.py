"""Worst cases are bounds for every direction: against random ones, climbed ones, and dp-accounting."""

import math
from decimal import Decimal, localcontext
from functools import partial

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import example, given, settings
from hypothesis import strategies as st
from privacy_helpers import Floats
from scipy import integrate

from trlap.privacy import cover
from trlap.privacy.cover import Corner, largest
from trlap.privacy.every_direction import EveryDirection
from trlap.privacy.exits import largest_hazard, log_exit_of_any
from trlap.privacy.laplace import LaplaceNoise
from trlap.privacy.moments import Moments
from trlap.privacy.numerics import log_largest_weight
from trlap.privacy.truncated_laplace import TruncatedLaplaceNoise

# at d = 4, ε = 1.5, δ = 0.2 no candidate of the scan is as bad as this one
MISSED = np.array([1.2377, 0.692, 1.2363, 0.6789])
MISSED *= 2 / np.linalg.norm(MISSED)
lengths = st.lists(st.floats(0, 1), min_size=2, max_size=5).filter(lambda x: sum(x) > 0.01)


def directions(dimension: int, count: int, seed: int = 0) -> Floats:
    """Of length 2, near an axis, even, and all between."""
    rng = np.random.default_rng(seed)
    shapes = rng.choice([0.1, 0.5, 2.0, 50.0], size=count)
    return 2 * np.sqrt([rng.dirichlet(np.full(dimension, shape)) for shape in shapes])


def climbed(corner: Corner, s: Floats, seed: int = 0) -> float:
    """The largest ln δ that is met from there uphill."""
    rng = np.random.default_rng(seed)
    values = corner.log_delta(s)
    best, at = float(values.max()), s[int(np.argmax(values))]
    for step in np.repeat([0.3, 0.1, 0.03, 0.01, 0.003], 4):
        near = np.abs(at + step * rng.normal(size=(200, len(at))))
        near *= 2 / np.linalg.norm(near, axis=1, keepdims=True)
        values = corner.log_delta(near)
        if float(values.max()) > best:
            best, at = float(values.max()), near[int(np.argmax(values))]
    return best


def test_the_direction_that_a_scan_misses_keeps_the_promise() -> None:
    """By dp-accounting, from below and from above; the scan alone gave b = 1.22619 and δ = 0.200175."""

    def theirs(scale: float, pessimistic: bool) -> float:
        one = partial(
            privacy_loss_distribution.from_laplace_mechanism,
            scale,
            pessimistic_estimate=pessimistic,
            use_connect_dots=pessimistic,
        )
        losses = [one(sensitivity=t) for t in MISSED]
        total = losses[0]
        for other in losses[1:]:
            total = total.compose(other)
        return float(total.get_delta_for_epsilon(1.5))

    assert theirs(1.22619, pessimistic=False) > 0.2001
    found = LaplaceNoise.calibrate(1.5, math.log(0.2), 4, 1.0)
    assert found.scale == pytest.approx(1.234, abs=0.001)
    assert theirs(found.scale, pessimistic=True) <= 0.2
    assert climbed(Corner(1.5, 1 / found.scale, math.inf), directions(4, 500)) <= math.log(0.2)


@settings(max_examples=12, deadline=None)
@given(lengths, st.floats(0.1, 3), st.floats(0, 0.99), st.sampled_from([2.0, 2.6, 9.0, math.inf]))
@example(MISSED.tolist(), 1 / 1.22619, 0.46, math.inf)
def test_no_direction_is_above_either_bound(
    weights: list[float], alpha: float, share: float, bound: float
) -> None:
    d, s = len(weights), 2 * np.array(weights) / np.linalg.norm(weights)
    epsilon = share * 2 * alpha * math.sqrt(d)
    noise = TruncatedLaplaceNoise(alpha=alpha, bound=bound, dimension=d, clip=1.0)
    met = noise.log_delta(epsilon, s, pessimistic=False)
    finite = EveryDirection(alpha, bound, d, 2.0, 1).log_delta(epsilon)
    assert met <= np.logaddexp(noise.worst_log_infinity(), finite) + 1e-9
    # a cover is valid whenever one stops
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cover, "EVALUATIONS", 3000)
        assert met <= cover.largest(Corner(epsilon, alpha, bound), d, 2.0) + 1e-9


@pytest.mark.parametrize("bound", [math.inf, 3.0])
@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_a_cover_is_close_to_what_is_met(dimension: int, bound: float) -> None:
    for epsilon, alpha in ((0.1, 0.4), (1.0, 0.8), (2.5, 1.5)):
        corner = Corner(epsilon, alpha, bound)
        upper = largest(corner, dimension, 2.0)
        found = climbed(corner, directions(dimension, 300))
        assert found <= upper <= found + (0.002 if dimension < 4 else 0.05)


@pytest.mark.parametrize("epsilon", [1e-5, 1e-11, 1e-13, 1e-15])
@pytest.mark.parametrize("dimension", [8, 300])
def test_tiny_budgets_lose_nothing_to_rounding(dimension: int, epsilon: float) -> None:
    """All coordinates have their largest loss with probability 2⁻ᵈ, which alone is that much of δ."""
    above = 1.01 if dimension == 8 else 1 + 1 / 3000
    scale = 2 * math.sqrt(dimension) / (above * epsilon)
    noise = LaplaceNoise(scale=scale, dimension=dimension, clip=1.0)
    excess = noise.largest_loss - epsilon
    met = math.log(-math.expm1(-excess)) - dimension * math.log(2)
    assert noise.worst_log_delta(epsilon) >= met - 1e-3
    assert noise.log_renyi(epsilon) >= met - 1e-3


@pytest.mark.parametrize("order", [1e-2, 1.0, 1e6, 1e12, 1e16, 1e20])
def test_the_largest_weight_of_any_order(order: float) -> None:
    with localcontext(prec=60):
        k = Decimal(order)
        exact = k * k.ln() - (k + 1) * (k + 1).ln()
        assert log_largest_weight(order) == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize("dimension", [1, 4])
def test_just_below_the_largest_loss_something_is_left(dimension: int) -> None:
    noise = LaplaceNoise(scale=2.0, dimension=dimension, clip=1.0)
    epsilon = noise.largest_loss * (1 - 9e-13)
    atom = 2.0**-dimension * -math.expm1(epsilon - noise.largest_loss)
    assert math.log(atom) - 1e-3 <= noise.worst_log_delta(epsilon) <= math.log(1e-12 * epsilon)
    assert noise.worst_log_delta(noise.largest_loss) == -math.inf


def test_the_two_bounds_agree() -> None:
    noise = LaplaceNoise(scale=47.34947460667867, dimension=3, clip=1.0)
    assert noise.worst_log_delta(noise.worst_epsilon(-10.0)) <= -10.0
    # where no budget is spent, none is said to be
    assert noise.worst_epsilon(math.log(0.9)) == 0


@pytest.mark.parametrize("bound", [math.inf, 2.5])
def test_corners_are_the_loss_distribution(bound: float) -> None:
    rng = np.random.default_rng(3)
    for dimension in (1, 2, 4, 6):
        noise = TruncatedLaplaceNoise(alpha=0.9, bound=bound, dimension=dimension, clip=1.0)
        for s in rng.uniform(0, 1.2, size=(2, dimension)):
            for epsilon in (0.0, 0.7):
                found = float(Corner(epsilon, 0.9, bound).log_delta(s[None])[0])
                assert noise.log_delta(epsilon, s, pessimistic=False) <= found + 1e-9
                assert found <= noise.log_delta(epsilon, s) + 1e-9


@pytest.mark.parametrize(
    ("dimension", "epsilon", "alpha", "bound", "draws"),
    [
        (300, 1.0, 1 / 7.5, math.inf, 1),
        (300, 5.0, 1 / 34.64, math.inf, 500),
        (300, 1.0, 1 / 7.5, 60.0, 1),
        (40, 2.0, 0.3, 12.0, 3),
        (12, 0.5, 0.5, math.inf, 1),
    ],
)
def test_many_dimensions_cost_little(
    dimension: int, epsilon: float, alpha: float, bound: float, draws: int
) -> None:
    """The bound is above all directions tried, and not far above the largest."""
    noise = TruncatedLaplaceNoise(
        alpha=alpha, bound=bound, dimension=dimension, clip=1.0, draws=draws
    )
    upper = noise.worst_log_delta(epsilon)
    tried = [*directions(dimension, 6), noise.even_spread()]
    found = max(noise.losses(s).coarse().log_delta(epsilon, pessimistic=False) for s in tried)
    assert found <= upper < found + 1
    at = noise.worst_epsilon(upper)
    assert at == pytest.approx(epsilon, rel=0.02)
    assert noise.worst_log_delta(at) <= upper + 1e-9


def test_the_integral_behind_it_bounds_every_product() -> None:
    """Moments from their integral, products of them at random directions, at and beyond the last ξ."""
    order, radius, alpha, bound = 3.0, 1.2, 0.6, 2.5
    cut = math.exp(-alpha * bound)
    xi = np.array([0.0, 0.7, 2.0, 9.0])

    def moment(tau: float, z: complex) -> complex:
        atom, scale = 1 - cut * math.exp(tau), math.exp(-tau / 2) / (2 * (1 - cut))
        lam = z + 0.5
        between, _ = integrate.quad(lambda x: np.exp(lam * x) / 2, -tau, tau, complex_func=True)
        ends = np.exp(lam * tau) + np.exp(-lam * tau)
        return complex(scale * (atom * ends + between))

    moments = Moments(order, xi, radius, cut, 3)
    for eta in (-1.0, 0.0, 2.0):
        bounds = moments.largest(eta)
        for s in directions(3, 8):
            tau = s * radius / 2
            real = sum(math.log(abs(moment(t, order))) for t in tau)
            for row, frequency in enumerate([*xi, 9.3, 40.0]):
                value = sum(math.log(abs(moment(t, order + 1j * frequency))) for t in tau)
                assert value + eta * real <= bounds[min(row, len(xi))] + 1e-9


@settings(max_examples=40, deadline=None)
@given(lengths, st.floats(0.01, 6), st.floats(0.6, 20))
@example([1.0, 0.0], 3.0, 0.9)
def test_no_direction_leaves_the_support_oftener(
    weights: list[float], alpha: float, bound: float
) -> None:
    d, s = len(weights), 2 * np.array(weights) / np.linalg.norm(weights)
    upper = largest_hazard(alpha, bound, d, 2.0)
    assert log_exit_of_any(s, alpha, bound) <= upper + 1e-12
    if bound >= 2:
        noise = TruncatedLaplaceNoise(alpha=alpha, bound=bound, dimension=d, clip=1.0)
        assert upper <= noise.log_hazard(noise.worst_direction()) + 1e-5


def test_what_a_scan_finds_is_a_lower_bound() -> None:
    noise = LaplaceNoise(scale=1.22619, dimension=4, clip=1.0)
    found, s = noise.largest_found(1.5)
    assert found < noise.log_delta(1.5, MISSED) <= noise.log_delta(1.5)
    assert noise.log_delta(1.5, pessimistic=False) == found
    assert np.linalg.norm(s) == pytest.approx(2)
