"""Composition of any mechanism, and of randomised response, against sums, brute force and peers."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import common, privacy_loss_distribution
from scipy import special

from trlap.privacy.composition import (
    basic_composition,
    dominating_losses,
    log_to_log10,
    paper_log_delta,
    response_losses,
)


def response_log_delta(at: float, epsilon: float, draws: int) -> float:
    """n-fold randomised response, by its binomial sum in logarithms (Kairouz et al. 2015)."""
    k = np.arange(draws + 1)
    loss = (2 * k - draws) * epsilon
    binomial = special.gammaln(draws + 1) - special.gammaln(k + 1) - special.gammaln(draws - k + 1)
    log_p = binomial + k * epsilon - draws * np.logaddexp(0, epsilon)
    kept = loss > at
    terms = log_p[kept] + np.log(-np.expm1(at - loss[kept]))
    return float(special.logsumexp(terms)) if kept.any() else -math.inf


@pytest.mark.parametrize(
    ("epsilon", "draws"), [(0.01, 500), (0.1, 1), (0.1, 300), (1.0, 40), (5.0, 500), (60.0, 30)]
)
@pytest.mark.parametrize("share", [0.0, 0.123, 0.6, 0.99])
def test_composed_response_is_the_binomial_sum(epsilon: float, draws: int, share: float) -> None:
    at = share * epsilon * draws
    exact = response_log_delta(at, epsilon, draws)
    found = dominating_losses(epsilon).compose(draws).log_delta(at)
    assert found == pytest.approx(exact, rel=1e-7, abs=1e-8)  # down to log₁₀ δ ≈ −130


def test_composition_against_dp_accounting() -> None:
    parameters = common.DifferentialPrivacyParameters(0.3, 1e-7)
    theirs = privacy_loss_distribution.from_privacy_parameters(parameters).self_compose(50)
    ours = dominating_losses(0.3, math.log(1e-7)).compose(50)
    found = ours.epsilon_at(math.log(1e-5))
    assert found == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=1e-3)
    assert ours.log_delta(15.0) == pytest.approx(math.log(50e-7), abs=1e-5)
    assert ours.epsilon_at(math.log(4e-6)) == math.inf
    tiny = dominating_losses(0.3, paper_log_delta(1700)).compose(50).log_delta(15.0)
    assert tiny == pytest.approx(paper_log_delta(1700) + math.log(50))


def test_basic_composition_is_an_upper_bound() -> None:
    epsilon, log_delta = basic_composition(0.5, math.log(1e-8), 20)
    assert epsilon == 10 and log_delta == pytest.approx(math.log(2e-7))
    assert dominating_losses(0.5, math.log(1e-8)).compose(20).log_delta(10.0) <= log_delta
    pure = dominating_losses(0.5).compose(20)
    assert pure.epsilon_at(math.log(1e-6)) < 10
    assert pure.epsilon_at(-math.inf) == 10


def test_huge_losses_of_any_mechanism_do_not_overflow() -> None:
    found = dominating_losses(900.0).compose(200).epsilon_at(math.log(1e-6))
    assert found == pytest.approx(180_000, rel=1e-6)


def test_units_of_delta() -> None:
    assert paper_log_delta(2) == pytest.approx(math.log(1 / 16))
    assert log_to_log10(math.log(1e-5)) == pytest.approx(-5)
    assert log_to_log10(-math.inf) == -math.inf


# --------------------------------------------------------------------- randomised response over words


@pytest.mark.parametrize(("epsilon", "reach"), [(0.3, 0.2), (1.0, 0.6), (2.0, 0.01), (5.0, 0.99)])
@pytest.mark.parametrize("draws", [1, 2, 5])
def test_word_response_against_all_sequences(epsilon: float, reach: float, draws: int) -> None:
    """δ(x) = Σ (P(y) − e^x Q(y))₊ over all 3^n sequences of answers: the one, the other, any third."""
    here = np.array([reach, reach * math.exp(-epsilon), 0.0])
    here[2] = 1 - here.sum()
    there = here[[1, 0, 2]]
    losses = response_losses(epsilon, math.log(reach)).compose(draws)
    sequences = [list(answers) for answers in itertools.product(range(3), repeat=draws)]
    p = np.array([here[answers].prod() for answers in sequences])
    q = np.array([there[answers].prod() for answers in sequences])
    for share in (0.0, 0.2, 0.55, 0.9):
        at = share * epsilon * draws
        exact = float(np.maximum(p - math.exp(at) * q, 0).sum())
        assert math.exp(losses.log_delta(at)) == pytest.approx(exact, rel=1e-8)
        assert losses.log_delta(at) >= math.log(exact) - 1e-12
        assert losses.log_delta(at, pessimistic=False) <= math.log(exact) + 1e-12
        if share:
            assert losses.epsilon_at(math.log(exact)) == pytest.approx(at, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "draws"), [(0.5, 1), (1.0, 20), (3.0, 100), (5.0, 12)])
@pytest.mark.parametrize("words", [2, 40])
def test_word_response_against_dp_accounting(epsilon: float, draws: int, words: int) -> None:
    """Which rounds losses up to its grid."""
    log_total = math.log(math.exp(epsilon) + words - 1)
    laws = [{y: (epsilon if y == w else 0.0) - log_total for y in range(words)} for w in range(2)]
    theirs = privacy_loss_distribution.from_two_probability_mass_functions(
        *laws, value_discretization_interval=1e-4, pessimistic_estimate=True
    ).self_compose(draws)
    losses = response_losses(epsilon, epsilon - log_total).compose(draws)
    wanted = theirs.get_epsilon_for_delta(1e-6)
    # ours is the smallest to a relative 1e-10
    assert wanted - 1e-3 * draws <= losses.epsilon_at(math.log(1e-6)) <= wanted * (1 + 1e-10)


def test_two_words_are_the_response_that_dominates_all() -> None:
    """Where every answer is the one word or the other, there is no third."""
    for epsilon in (0.1, 3.0, 40.0):
        reach = -math.log1p(math.exp(-epsilon))
        for draws in (1, 30):
            two = response_losses(epsilon, reach).compose(draws)
            every = dominating_losses(epsilon).compose(draws)
            for at in (0.0, 0.3 * epsilon * draws):
                assert two.log_delta(at) == pytest.approx(every.log_delta(at), abs=1e-9)


def test_word_response_below_what_a_sum_of_floats_can_tell() -> None:
    """δ = e^-200, where probabilities added up to 1 are good to 1e-16: still below any mechanism's."""
    losses = response_losses(5.0, math.log(0.05)).compose(20)
    found = losses.epsilon_at(-40.0)
    # sixteen of twenty draws lose 5 with probability C(20, 16) 0.05^16: e^-39.4
    assert 75 < found < 80
    assert losses.epsilon_at(-200.0) == pytest.approx(100.0)
    assert losses.epsilon_at(-math.inf) == 100
    assert dominating_losses(5.0).compose(20).epsilon_at(-40.0) > found


def test_words_that_nothing_tells_apart_lose_nothing() -> None:
    losses = response_losses(5.0, -math.inf).compose(20)
    assert losses.epsilon_at(math.log(1e-6)) == losses.epsilon_at(-math.inf) == 0
    assert losses.log_delta(0.0) == -math.inf


@pytest.mark.parametrize("log_delta", [0.0, -1e-18])
def test_where_everything_is_told_no_epsilon_is_finite(log_delta: float) -> None:
    losses = dominating_losses(1.0, log_delta).compose(3)
    assert losses.epsilon_at(-5.0) == math.inf
    assert losses.log_delta(3.0) == 0.0
