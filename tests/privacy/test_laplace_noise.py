"""Laplace noise against closed forms, brute force and dp-accounting."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from privacy_helpers import EVEN, PAPER, UNEVEN, Floats, brute_force, few
from scipy import integrate, stats

from trlap.errors import TrlapError
from trlap.privacy.composition import dominating_losses
from trlap.privacy.gaussian import GaussianNoise
from trlap.privacy.laplace import LaplaceNoise


def noise(scale: float, dimension: int = 300, clip: float = 1.0) -> LaplaceNoise:
    return LaplaceNoise(scale=scale, dimension=dimension, clip=clip)


@pytest.mark.parametrize("tau", [1e-4, 0.3, 2.0, 10.0, 900.0])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.9, 0.999])
def test_laplace_in_one_dimension_is_the_closed_form(tau: float, share: float) -> None:
    epsilon = share * tau
    exact = math.log(-math.expm1((epsilon - tau) / 2))
    upper = noise(2.0).log_delta(epsilon, [2 * tau])
    lower = noise(2.0).log_delta(epsilon, [2 * tau], pessimistic=False)
    assert lower <= exact + 1e-12 and exact - 1e-12 <= upper
    assert upper - lower < 2e-4


def test_laplace_is_pure_from_the_l1_norm_on() -> None:
    three = noise(3.0)
    pure = three.pure_epsilon(UNEVEN)
    assert pure == pytest.approx(np.abs(UNEVEN).sum() / 3)
    assert three.pure_epsilon() == pytest.approx(2 * math.sqrt(300) / 3)
    assert three.compose(5).pure_epsilon(UNEVEN) == pytest.approx(5 * pure)
    assert three.log_delta(pure, UNEVEN) == -math.inf
    assert -math.inf < three.log_delta(pure * (1 - 1e-6), UNEVEN) < 300 * math.log(0.5)
    assert three.epsilon_at(-math.inf, UNEVEN) == pytest.approx(pure)
    assert noise(1.0, 3).log_delta(1.0, np.zeros(3)) == -math.inf


@pytest.mark.parametrize("s", [[1.0], [0.7, -0.4], [0.5, 0.5], [1.0, 0.2, 0.6], [0.5, 0.5, 0.5]])
@pytest.mark.parametrize("share", [0.05, 0.4, 0.8])
def test_laplace_against_brute_force(share: float, s: list[float]) -> None:
    half = noise(0.5, len(s))
    epsilon = share * half.pure_epsilon(s)
    expected = brute_force(epsilon, s, stats.laplace(scale=0.5))
    assert math.exp(half.log_delta(epsilon, s)) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("s", [[0.3] * 20, [0.05, 0.1, 0.2, 0.35, 0.5, 0.8]])
def test_laplace_against_dp_accounting(s: list[float]) -> None:
    theirs = privacy_loss_distribution.identity()
    for t in s:
        theirs = theirs.compose(
            privacy_loss_distribution.from_laplace_mechanism(1.0, sensitivity=t)
        )
    one = noise(1.0, len(s))
    for epsilon in (0.1, 0.5, 1.5):
        upper = one.log_delta(epsilon, s)
        lower = one.log_delta(epsilon, s, pessimistic=False)
        assert upper == pytest.approx(math.log(theirs.get_delta_for_epsilon(epsilon)), abs=1e-5)
        assert lower <= upper <= lower + 1e-4


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7, 0.97])
@pytest.mark.parametrize("s", [EVEN, UNEVEN], ids=["even", "uneven"])
def test_laplace_in_300_dimensions_is_bracketed(s: Floats, share: float) -> None:
    five = noise(5.0)
    epsilon = share * five.pure_epsilon(s)
    upper = five.log_delta(epsilon, s)
    lower = five.log_delta(epsilon, s, pessimistic=False)
    assert lower <= upper < lower + (1e-5 if s is EVEN else 0.05)  # down to log₁₀ δ = −80
    assert five.epsilon_at(upper, s) == pytest.approx(epsilon, rel=1e-5)


@few
@given(st.lists(st.floats(0.01, 3), min_size=1, max_size=5), st.floats(0, 0.95), st.floats(0, 0.95))
def test_laplace_curves_fall(s: list[float], one: float, two: float) -> None:
    assume(abs(one - two) > 0.01)
    low, high = sorted((one, two))
    unit = noise(1.0, len(s))
    pure = unit.pure_epsilon(s)
    at_low, at_high = (unit.log_delta(x * pure, s) for x in (low, high))
    assert at_high < at_low
    assert unit.epsilon_at(at_high, s) > unit.epsilon_at(at_low, s)


def test_laplace_calibration_reference_values() -> None:
    """A fifth of the pure scale at (1, 1e-5), and about the analytic Gaussian's 7.461."""
    found = LaplaceNoise.calibrate(1.0, math.log(1e-5), 300, 1.0)
    assert found.scale == pytest.approx(7.470, abs=2e-3)
    assert found.log_delta(1.0, EVEN) <= math.log(1e-5)
    assert found.variance == 2 * found.scale**2
    pure = LaplaceNoise.calibrate(1.0, -math.inf, 300, 1.0)
    assert pure == LaplaceNoise.published(1.0, 300, 1.0)
    assert pure.scale == pytest.approx(34.641, abs=5e-4)
    # 4^-300 is below the probability 2^-300 of the largest loss: pure in all but name
    nearly_pure = LaplaceNoise.calibrate(1.0, PAPER, 300, 1.0)
    assert nearly_pure.scale == pytest.approx(2 * math.sqrt(300))
    one = LaplaceNoise.calibrate(1.0, math.log(1e-3), 1, 0.5)
    assert one.scale == pytest.approx(1 / (1 - 2 * math.log1p(-1e-3)), rel=1e-6)


@settings(max_examples=6, deadline=None)
@given(st.floats(0.1, 10), st.floats(-20, -1.5), st.sampled_from([2, 5, 12]), st.floats(0.1, 10))
def test_laplace_calibration_is_tight(
    epsilon: float, log_delta: float, dimension: int, clip: float
) -> None:
    found = LaplaceNoise.calibrate(epsilon, log_delta, dimension, clip)
    assert found.worst_log_delta(epsilon) <= log_delta
    assert noise(0.999 * found.scale, dimension, clip).log_delta(epsilon) > log_delta


def test_the_even_spread_is_not_always_the_worst_for_laplace() -> None:
    """Atoms of the loss sit better with eight coordinates than with ten."""
    five = noise(5.0, 10)
    worst, s = five.largest_found(1.0)
    even = five.log_delta(1.0, np.full(10, 2 / math.sqrt(10)))
    assert worst == pytest.approx(-7.390, abs=2e-3) and even == pytest.approx(-7.572, abs=2e-3)
    assert np.count_nonzero(s > 0.5) == 8
    assert five.log_delta(1.0, pessimistic=False) == worst < five.log_delta(1.0)


def test_the_worst_epsilon_is_where_the_worst_delta_is() -> None:
    """Of two bounds: δ at ε, and ε at δ."""
    for draws in (1, 3):
        five = noise(5.0, 10).compose(draws)
        worst = five.worst_log_delta(1.0)
        epsilon = five.worst_epsilon(worst)
        assert epsilon == pytest.approx(1.0, rel=1e-2)
        assert five.epsilon_at(worst) == epsilon


def test_the_renyi_bound_on_laplace_holds_in_every_direction() -> None:
    for epsilon, b in ((1.0, 7.5), (0.1, 60.0), (10.0, 1.0)):
        proven = noise(b).log_renyi(epsilon)
        found = [noise(b).log_delta(epsilon, s) for s in (EVEN, UNEVEN, EVEN[:1], [2.0])]
        assert max(found) < noise(b).worst_log_delta(epsilon) <= proven < max(found) + 2
    assert noise(8.03).log_renyi(1.0) <= math.log(1e-5)
    assert noise(34.65).log_renyi(1.0) == -math.inf


def test_laplace_moments_are_concave_in_the_squared_shift() -> None:
    """What the proof rests on, without its algebra: Simpson's rule for ∫ e^{(λ+1/2)ℓ} dP."""
    x = np.linspace(-60, 60, 240_001)
    for order in (1.1, 2.0, 20.0):
        shifts = np.sqrt(np.linspace(0.01, 9, 12))
        moments = [
            integrate.simpson(
                np.exp((order - 1) * (np.abs(x - t) - np.abs(x)) - np.abs(x)) / 2, x=x
            )
            for t in shifts
        ]
        assert (np.diff(np.log(moments), 2) < 1e-9).all()


def test_draws_are_copies_of_the_coordinates() -> None:
    s = UNEVEN[:6]
    three = noise(0.3, 18).log_delta(1.0, np.tile(s, 3))
    assert noise(0.3, 6).compose(3).log_delta(1.0, s) == pytest.approx(three, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("draws", [20, 500])
def test_a_document_of_laplace_words(epsilon: float, draws: int) -> None:
    """Laplace noise at its pure scale, the even spread: bracketed for up to 150,000 coordinates."""
    document = LaplaceNoise.published(epsilon, 300, 1.0).compose(draws)
    found = document.epsilon_at(math.log(1e-6), EVEN)
    lower = document.log_delta(found, EVEN, pessimistic=False)
    assert math.log(1e-6) - 1e-3 < lower <= math.log(1e-6)
    any_mechanism = dominating_losses(epsilon).compose(draws).epsilon_at(math.log(1e-6))
    assert found < any_mechanism <= draws * epsilon
    # almost Gaussian, with the Fisher information 1/b² of a Laplace coordinate
    gaussian = GaussianNoise(sigma=document.scale, dimension=300, clip=1.0, draws=draws)
    assert found == pytest.approx(gaussian.epsilon_at(math.log(1e-6)), rel=0.05)


def test_huge_losses_do_not_overflow() -> None:
    """Vectors that were not clipped, noise scaled for small ones: ε in the thousands."""
    s, tenth = 15 * UNEVEN, noise(0.1)
    found = tenth.epsilon_at(math.log(1e-6), s)
    assert 3000 < found < tenth.pure_epsilon(s)
    upper = tenth.log_delta(found, s)
    assert upper == pytest.approx(math.log(1e-6), abs=0.01)


@pytest.mark.parametrize("wrong", [math.inf, math.nan])
def test_a_difference_that_is_no_number_is_refused(wrong: float) -> None:
    noise = LaplaceNoise(scale=1.0, clip=1.0, dimension=3)
    for ask in (noise.log_delta, noise.epsilon_at):
        with pytest.raises(TrlapError, match="no finite number"):
            ask(-0.5, [wrong, 1.0, 0.0])
