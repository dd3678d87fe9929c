"""A mechanism with a known noise asks that, and nobody else, for its guarantees."""

import math

import numpy as np
import pytest
from metric_helpers import random_space

from trlap.errors import TrlapError
from trlap.mechanisms import registry
from trlap.mechanisms._noise import NoiseMechanism
from trlap.mechanisms.cmp import MultivariatePerturbation

LOG_DELTA = math.log(1e-2)
BALLS = ("cmp", "mahalanobis", "pte", "vickrey")
every = pytest.mark.parametrize("name", ["gaussian", "laplace", "trlap", *BALLS])


def make(name: str, epsilon: float = 0.4) -> NoiseMechanism:
    made = registry.make(name, random_space(12, 4), epsilon, delta=1e-3, calibration="exact")
    assert isinstance(made, NoiseMechanism)
    return made


@every
def test_every_answer_is_the_noises(name: str) -> None:
    made = make(name)
    s = made.difference(0, 1)
    seen = made.in_own_coordinates(s)
    assert made.law.dimension == len(seen)
    assert made.log_delta(0.1) == made.law.log_delta(0.1)
    assert made.log_delta(0.1, s) == made.law.log_delta(0.1, seen)
    assert made.epsilon_at(LOG_DELTA) == made.law.epsilon_at(LOG_DELTA)
    assert made.epsilon_at(LOG_DELTA, s) == made.law.epsilon_at(LOG_DELTA, seen)
    assert made.pair_log_delta(0.1, 0, 1) == made.law.log_delta(0.1, seen)
    document = made.compose(LOG_DELTA, 3)
    assert document.epsilon == made.law.compose(3).epsilon_at(LOG_DELTA)
    assert document.method == "privacy-loss distribution"
    assert made.compose(LOG_DELTA, 1).epsilon == made.epsilon_at(LOG_DELTA)


@pytest.mark.parametrize("name", BALLS)
def test_distances_are_lengths_in_the_noises_own_coordinates(name: str) -> None:
    made = make(name)
    assert isinstance(made, MultivariatePerturbation)
    own = np.linalg.norm(made.in_own_coordinates(made.difference(2, 5)))
    assert made.distance_between(2, 5) == pytest.approx(own)
    assert made.epsilon_at_distance(LOG_DELTA, float(own)) == pytest.approx(
        made.pair_epsilon_at(LOG_DELTA, 2, 5)
    )
    assert made.largest_distance() == made.law.reach >= own
    # the longest difference there is, in any direction
    directions = np.random.default_rng(0).normal(size=(200, 4))
    directions *= 2 * made.clip / np.linalg.norm(directions, axis=1, keepdims=True)
    assert max(made.distance(s) for s in directions) <= made.law.reach * (1 + 1e-9)


def test_noise_that_cannot_be_had_is_refused_at_once() -> None:
    with pytest.raises(TrlapError, match="trlap in dimension 452 needs epsilon below"):
        registry.make("trlap", random_space(12, 4), 9.5, delta=1e-300)
