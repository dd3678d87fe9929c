"""The distinguishing attack: it finds what is there and accuses no one falsely."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from audit_helpers import (
    VECTORS,
    WORDS,
    HalfGaussian,
    HalfLaplace,
    HalfResponse,
    build,
    every,
    guarantee_of,
    make,
    released,
    scene_of,
    space_of,
    vocabulary_of,
)
from scipy import stats

from trlap.audit.attacks._statistics import interval
from trlap.audit.attacks.distinguish import Distinguish, distinguish, tell_apart
from trlap.audit.records import Distinguished
from trlap.audit.vocabulary import row_cost
from trlap.embeddings.space import Space
from trlap.mechanisms._views import Pair
from trlap.mechanisms.base import Mechanism

PAIRS = [Pair(0, 1, "chosen"), Pair(2, 3, "random")]


def attack(
    found: Mechanism, samples: int = 4000, seed: int = 0, pairs: Sequence[Pair] = PAIRS
) -> Distinguished:
    return tell_apart(found, pairs, samples, 0.95, seed)


def accused(shown: Distinguished, log_delta: float) -> bool:
    """Whether a bound contradicts the claim."""
    lowest = max(bound.delta_lower for bound in (*shown.vector, *shown.word))
    return lowest > 0 and math.log(lowest) > log_delta


# ------------------------------------------------------------------------------------- the statistics


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (3, 10), (10, 10), (700, 1000)])
def test_clopper_pearson_is_scipys(hits: int, trials: int) -> None:
    low, high = interval(hits, trials, 0.95)
    expected = stats.binomtest(hits, trials).proportion_ci(0.95, "exact")
    assert low == pytest.approx(expected.low)
    assert high == pytest.approx(expected.high)


def test_a_known_gap_is_found_and_not_exceeded() -> None:
    """Scores with p = 0.5 and q = 0.1 above 0: δ(0) = 0.4 and the largest ε is ln 5."""
    rng = np.random.default_rng(0)
    first = np.where(rng.random(40_000) < 0.5, 1.0, -1.0)
    second = np.where(rng.random(40_000) < 0.1, 1.0, -1.0)
    bound = distinguish(first, second, 0.0, -math.inf, 0.05)
    assert 0.38 < bound.delta_lower < 0.4
    assert 0.9 * math.log(5) < bound.epsilon_lower < math.log(5)
    assert bound.epsilon_lower_at_delta_1e6 <= bound.epsilon_lower


def test_the_words_may_change_parts() -> None:
    """Only the second ever scores low: the event that tells is the other way round."""
    first, second = np.ones(10_000), np.where(np.arange(10_000) % 4 == 0, -1.0, 1.0)
    bound = distinguish(first, second, 5.0, -math.inf, 0.05)
    assert bound.hits == (1250, 0)
    assert 0.05 < bound.delta_lower < 0.25  # q is below 0.1 %, but e⁵ of that is a lot
    assert bound.epsilon_lower > 5


def test_an_impossible_event_is_not_merely_rare() -> None:
    first = np.where(np.arange(2000) % 2 == 0, math.inf, 0.0)
    second = np.zeros(2000)
    known = distinguish(first, second, 20.0, -math.inf, 0.05, bounded=True)
    assert known.impossible
    assert 0.4 < known.delta_lower < 0.5
    counted = distinguish(first, second, 20.0, -math.inf, 0.05)
    assert counted.delta_lower == 0  # no count of 1000 can exclude q = e⁻²⁰
    assert known.epsilon_lower == counted.epsilon_lower < 10  # ε is bounded by counting alone
    second[-1] = math.inf  # seen once: then it is not impossible
    seen = distinguish(first, second, 20.0, -math.inf, 0.05, bounded=True)
    assert not seen.impossible
    assert seen.delta_lower == 0


def test_a_large_epsilon_does_not_overflow() -> None:
    scores = np.random.default_rng(0).normal(size=1000)
    assert distinguish(scores, scores, 5000.0, -math.inf, 0.05).delta_lower == 0


# ---------------------------------------------------------------------------------- what it refutes


def test_it_refutes_the_published_claim_for_the_vector() -> None:
    """Exact 0.987; missed by a correct attack once in 20 seeds at most, and for this one not."""
    found = make("trlap", 0.1, space_of(300, 20))
    shown = attack(found, 8000)
    worst = shown.vector[0]
    assert worst.words is None
    assert 0.96 < worst.delta_lower <= 0.9866
    assert worst.impossible
    assert worst.event == "a coordinate outside the other's support"
    assert worst.epsilon_lower > 5


def test_it_refutes_the_published_claim_for_the_word() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(300, 300)).astype(np.float32)
    vectors[1] = -vectors[0]  # as far apart as words can be
    space = Space([str(i) for i in range(300)], vectors, np.full(300, 1 / 300))
    shown = attack(make("trlap", 0.1, space), 40_000, pairs=[Pair(0, 1, "opposite")])
    (word,) = shown.word
    assert 0.005 < word.delta_lower < 0.987


@pytest.mark.parametrize("epsilon", [10.0, 20.0])
def test_dummy_dimensions_do_not_save_the_claim(epsilon: float) -> None:
    found = make("trlap", epsilon, space_of(300, 20))
    worst = attack(found, 8000).vector[0]
    true = math.exp(found.log_delta(epsilon))
    assert true - 0.04 < worst.delta_lower <= true


@pytest.mark.parametrize("name", ["gaussian", "laplace", "trlap", "cmp", "pte"])
def test_shared_noise_hides_nothing(name: str) -> None:
    found = released(name, 0.1)
    bounds = attack(found, 1000).vector
    if found.claimed().notion == "metric DP":  # 500 draws cannot show more than this
        assert all(bound.epsilon_lower > 3.5 for bound in bounds)
    else:
        assert all(bound.delta_lower > 0.95 for bound in bounds)


def test_the_released_mahalanobis_can_be_attacked() -> None:
    shown = attack(released("mahalanobis", 1.0), 200)
    assert all(bound.draws == 100 for bound in shown.vector)


@pytest.mark.parametrize("kind", [HalfGaussian, HalfLaplace, HalfResponse])
def test_half_the_noise_is_caught(kind: type[Mechanism]) -> None:
    """The formulas still keep the promise; the draws do not."""
    space = space_of(1 if kind is HalfLaplace else 12)
    delta = 1e-5 if kind is HalfGaussian else "paper"
    exactly = "exact" if kind is HalfGaussian else "published"
    broken = kind(space=space, epsilon=1.0, delta=delta, calibration=exactly)
    assert guarantee_of(broken).holds is True
    assert accused(attack(broken, 60_000), broken.claimed().log_delta)


# ------------------------------------------------------------------------------- what it must not do


@every
def test_no_bound_exceeds_the_exact_value(spec: Any) -> None:
    """Error rate: 5 % for all bounds of a run together, and far less in fact; the seed is fixed."""
    found = build(spec)
    if found.name == "none":
        return
    shown = attack(found)
    log_delta, vectors = found.claimed().log_delta, found.space.vectors.double().numpy()
    differences = [vectors[pair.first] - vectors[pair.second] for pair in PAIRS]
    for s, bound in zip([None, *differences], shown.vector, strict=False):
        true = math.exp(found.log_delta(bound.claimed_epsilon, s))
        assert bound.delta_lower <= true + 1e-12
        assert bound.epsilon_lower <= found.epsilon_at(log_delta, s)
        assert bound.epsilon_lower_at_delta_1e6 <= found.epsilon_at(math.log(1e-6), s)
    for pair, s, bound in zip(PAIRS, differences, shown.word, strict=True):
        if found.name in WORDS:
            cost: Any = row_cost(found, pair.first, pair.second)
            assert bound.delta_lower <= cost.delta + 1e-12
            assert bound.epsilon_lower <= cost.epsilon * (1 + 1e-9)
        else:  # post-processing: no more than the vector
            true = math.exp(found.log_delta(bound.claimed_epsilon, s))
            assert bound.delta_lower <= true + 1e-12
    assert (found.name in VECTORS) == bool(shown.vector)


@pytest.mark.parametrize("name", ["laplace", "krr"])
def test_a_correct_mechanism_is_not_accused(name: str) -> None:
    """Both are tight: some event has exactly p = e^ε q.

    Each repetition may accuse with probability 5 % at most. 14 or more of 100 would then have
    probability below 0.0005.
    """
    space = space_of(1, 4)
    found = make(name, 1.0, space)
    accusations = sum(
        accused(attack(found, 1000, seed, pairs=[Pair(0, 1, "chosen")]), -math.inf)
        for seed in range(100)
    )
    assert accusations < 14


def test_bounds_on_a_tight_event_hold_at_their_rate() -> None:
    """δ is exactly 0.1 here. 5 % of 400 runs may exceed it; more than 35 have probability 0.001."""
    rng = np.random.default_rng(3)
    exceeded = 0
    for _ in range(400):
        first, second = (np.where(rng.random(2000) < p, 1.0, 0.0) for p in (0.3, 0.2))
        exceeded += distinguish(first, second, 0.0, -math.inf, 0.05).delta_lower > 0.1
    assert exceeded <= 35


def test_the_same_seed_gives_the_same_bounds() -> None:
    found = make("cmp", 2.0)
    assert attack(found, 3000) == attack(found, 3000)
    assert attack(found, 3000) != attack(found, 3000, seed=1)


def test_it_attacks_the_largest_pair_then_the_telling_ones_then_random_ones() -> None:
    found = make("gaussian", 2.0)
    largest = vocabulary_of(found).largest
    scene = scene_of(found, samples=200, pairs=2)
    shown = Distinguish().run(replace(scene, vocabulary=vocabulary_of(found)))
    whys = ["the largest pair", "most visible in projected words", "random", "random"]
    assert [bound.why for bound in shown.word] == whys
    assert [bound.why for bound in shown.vector] == ["the worst two clipped vectors", *whys]
    assert shown.word[0].words == list(largest.words)
    assert shown.trials == 9
    assert [bound.why for bound in Distinguish().run(scene).word] == whys[1:]


@pytest.mark.parametrize("words", [1, 60])
def test_it_says_why_there_is_nothing_to_tell_apart(words: int) -> None:
    name = "none" if words > 1 else "krr"
    reason = Distinguish().reason(scene_of(make(name, 1.0, space_of(words=words))))
    assert reason is not None and ("nothing" in reason)
    assert Distinguish().reason(scene_of(make("krr", 1.0))) is None
