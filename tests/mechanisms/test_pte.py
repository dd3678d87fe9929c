import math
from typing import Any

import numpy as np
import pytest
import torch
from metric_helpers import (
    ALPHA,
    PLANE,
    agrees,
    frequencies,
    generator,
    make_space,
    plane_law,
    points,
    random_space,
    shipped,
)
from scipy import stats

from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms import registry
from trlap.mechanisms.pte import ProjectedPerturbation, projected_dimension


def make(space: Space, epsilon: float, **keys: Any) -> ProjectedPerturbation:
    made = registry.make("pte", space, epsilon, **keys)
    assert isinstance(made, ProjectedPerturbation)
    return made


def test_projected_dimension() -> None:
    assert projected_dimension(300, 0.5, 1e-6) == 149
    assert projected_dimension(1, 0.9, 0.99) == 1
    assert make(random_space(5, 300), 1.0).noise_dimension == 149


def test_the_projection_is_public_and_normal() -> None:
    space = random_space(5, 300)
    phi = make(space, 1.0).phi
    assert phi.shape == (149, 300)
    assert stats.kstest(phi.ravel(), stats.norm(scale=149**-0.5).cdf).pvalue > ALPHA
    assert np.array_equal(phi, make(space, 5.0, seed=0).phi)
    assert not np.array_equal(phi, make(space, 1.0, seed=1).phi)


def test_what_is_released_is_the_projected_vector_and_noise() -> None:
    space = random_space(30, 40)
    made = make(space, 2.0, m=7)
    words = torch.full((20_000,), 3)
    noisy = made.perturb(words, generator(0)).double().numpy()
    assert noisy.shape == (20_000, 7)
    z = noisy - made.phi @ points(space)[3]
    assert stats.kstest(np.linalg.norm(z, axis=1), stats.gamma(7, scale=0.5).cdf).pvalue > ALPHA
    variance = (7 + 1) / 2.0**2
    assert np.abs(np.cov(z.T) / variance - np.eye(7)).max() < 5 * math.sqrt(4 / len(z))


def test_without_noise_every_word_stays() -> None:
    made = make(random_space(200, 40), 1e7)
    assert torch.equal(made.draw(torch.arange(200), generator(0)), torch.arange(200))


@pytest.mark.parametrize("projection", ["clipped", "original"])
def test_output_law_on_five_words(projection: str) -> None:
    """Three dimensions projected to two; targets are the projected clipped or original words."""
    vectors = np.concatenate([PLANE, [[0.5], [-0.5], [0.4], [-0.8], [1.5]]], axis=1)
    space = make_space(vectors, projection=projection)
    made = make(space, 4.0, m=2, seed=3)
    targets = space.targets.double().numpy() @ made.phi.T
    for word in (0, 3):
        law = plane_law(made.phi @ points(space)[word], targets, 4.0)
        assert agrees(frequencies(made, word), law)


def test_guarantee() -> None:
    space = random_space(20, 40)
    made = make(space, 2.0, m=12, clip=1.0)
    s = points(space)[0] - points(space)[1]
    assert made.epsilon_at(-math.inf, s) == pytest.approx(2.0 * np.linalg.norm(made.phi @ s))
    left, largest, right = np.linalg.svd(made.phi)
    assert made.epsilon_at(-math.inf) == pytest.approx(2.0 * 2 * largest[0])
    assert made.epsilon_at(-math.inf, 2 * right[0]) == pytest.approx(made.epsilon_at(-math.inf))
    assert made.log_delta(1.0, 2 * right[0]) == pytest.approx(made.log_delta(1.0))
    assert made.epsilon_at(math.log(1e-6)) < made.epsilon_at(-math.inf)
    assert left.shape == (12, 12)


def test_claim_and_keys() -> None:
    space = make_space(PLANE)
    assert shipped("pte") == {"m": None, "beta": 0.5, "failure": 1e-6, "seed": 0}
    claim = make(space, 3.0).claimed()
    assert (claim.notion, claim.epsilon) == ("metric DP", 3.0)
    assert claim.distance == "Euclidean after projection"
    for keys in ({"m": 0}, {"m": 1.5}, {"beta": 0}, {"beta": 1}, {"failure": 1.0}, {"seed": -1}):
        with pytest.raises(TrlapError, match=next(iter(keys))):
            make(space, 3.0, **keys)


def test_what_the_authors_count_and_what_is_spent_here() -> None:
    """After projection ε is exact; before it, ε/(1 + β) suffices where Φ stretches at most 1 + β."""
    space = random_space(40, 300)
    # a seed that drew no vector of the space
    here, authors = make(space, 3.0, seed=5), make(space, 3.0 / 1.5, seed=5)
    stretch = here.reach / 2
    assert stretch == pytest.approx(np.linalg.norm(here.phi, 2)) and stretch > 1.5
    within = 0
    for first, second in ((0, 1), (2, 30), (17, 39), (5, 6)):
        s = here.difference(first, second)
        before, after = np.linalg.norm(s), np.linalg.norm(here.phi @ s)
        assert here.pair_epsilon_at(-math.inf, first, second) == pytest.approx(3 * after)
        assert here.claimed_epsilon(first, second) == pytest.approx(3 * after)
        spent = authors.pair_epsilon_at(-math.inf, first, second)
        assert (spent <= 3 * before) == (after <= 1.5 * before)
        within += after <= 1.5 * before
    assert within > 0
    # the worst two clipped vectors are dearer than the authors count
    assert authors.epsilon_at(-math.inf) > 3 * 2
    assert (
        f"up to {stretch:.3g}-fold" in here.notes(None)[0] and "(1 + β) = 2" in here.notes(None)[0]
    )
