import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from response_helpers import (
    LEVEL,
    cosines,
    epsilons,
    follows_the_formula,
    glove_space,
    is_expectation,
    is_tight,
    make,
    matrix,
    random_space,
    spaces,
)
from scipy import stats

from trlap.embeddings.space import Space
from trlap.mechanisms._response import best_constant, coin


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
def test_every_word_has_the_formulas_distribution(epsilon: float) -> None:
    found = make("krr", random_space(5), epsilon)
    follows_the_formula(found, [{w} for w in range(5)], set(range(5)))
    kept = math.exp(epsilon) / (math.exp(epsilon) + 4)
    np.testing.assert_allclose(np.exp(matrix(found)).diagonal(), kept, rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(spaces, epsilons)
def test_epsilon_is_exact(space: Space, epsilon: float) -> None:
    found = make("krr", space, epsilon)
    assert (found.claimed().notion, found.claimed().epsilon) == ("ε-DP", epsilon)
    assert found.claimed().log_delta == -math.inf
    is_tight(found)
    is_expectation(found)


@pytest.mark.parametrize("epsilon", [1e-4, 30.0, 700.0, 1000.0])
def test_extreme_epsilon(epsilon: float) -> None:
    found = make("krr", random_space(1000), epsilon)
    drawn = found.draw(torch.zeros(10_000, dtype=torch.int64), torch.Generator().manual_seed(0))
    share = float((drawn == 0).double().mean())
    assert share < 0.01 if epsilon < 1 else share == 1  # e^-30 · 999 · 10,000 is one in a million
    deltas = [found.log_delta(epsilon * share) for share in (0, 0.5, 0.9, 0.999999)]
    assert all(a >= b for a, b in pairwise(deltas))
    assert all(map(math.isfinite, deltas))
    is_expectation(found)


@pytest.mark.parametrize("exponent", [0.5, 15.0, 17.5, 20.0])
def test_coins_are_fair_however_rare(exponent: float) -> None:
    """Two-sided binomial test; a generator of 24-bit uniforms fails from 2^-20 on."""
    count = 2**22
    heads = int(coin(-exponent * math.log(2), count, torch.Generator().manual_seed(3)).sum())
    assert stats.binomtest(heads, count, 2**-exponent).pvalue > LEVEL


def test_a_draw_takes_its_randomness_from_the_generator_alone() -> None:
    found = make("krr", random_space(50), 3.0)
    words = torch.arange(50).repeat(20)
    first, second = (found.draw(words, torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, found.draw(words, torch.Generator().manual_seed(8)))
    assert len(found.draw(words[:0], torch.Generator())) == 0


def test_best_constant_is_the_best_column() -> None:
    space = random_space(30, clusters=3)
    cosine, weights = cosines(space)
    assert best_constant(space) == pytest.approx((weights @ cosine).max(), abs=1e-12)


def test_expected_cosine_of_real_words() -> None:
    space = glove_space(2000)
    found = [make("krr", space, epsilon).expected_cosine() for epsilon in (1, 3, 5, 8)]
    assert found == pytest.approx([0.01, 0.02, 0.07, 0.60], abs=0.02)


@pytest.mark.parametrize(("epsilon", "draws"), [(0.5, 1), (1.0, 20), (3.0, 100), (5.0, 12)])
def test_composition_is_that_of_dp_accounting(epsilon: float, draws: int) -> None:
    """Three outcomes tell two words apart: the one, the other, any third. dp-accounting rounds up."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    found = make("krr", random_space(40), epsilon)
    rows = found.log_probabilities(torch.tensor([0, 1])).numpy()
    laws = [{y: float(row[y]) for y in range(40)} for row in rows]
    theirs = pld.from_two_probability_mass_functions(
        *laws, value_discretization_interval=1e-4, pessimistic_estimate=True
    ).self_compose(draws)
    ours = found.compose(math.log(1e-6), draws).epsilon
    wanted = theirs.get_epsilon_for_delta(1e-6)
    assert wanted - 1e-3 * draws <= ours <= wanted + 1e-9
    assert ours <= epsilon * draws
