import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_helpers import (
    PLANE,
    Floats,
    agrees,
    frequencies,
    generator,
    make_space,
    plane_law,
    points,
    random_space,
    shipped,
)
from numpy.typing import NDArray

from trlap.embeddings import space as spaces
from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms import registry


def auction(t: float, noisy: Floats, targets: Floats) -> Floats:
    """The authors' choice between the two nearest, by brute force: a probability for every word."""
    distances = np.linalg.norm(noisy[:, None] - targets, axis=2)
    order = np.argsort(distances, axis=1, kind="stable")[:, :2]
    first, second = np.take_along_axis(distances, order, 1).T
    p = (1 - t) * second / (t * first + (1 - t) * second)
    law = np.zeros_like(distances)
    np.put_along_axis(law, order, np.stack([p, 1 - p], axis=1), 1)
    return law


@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 1.0])
def test_output_law_on_five_words(t: float) -> None:
    space = make_space(PLANE)
    made = registry.make("vickrey", space, 4.0, t=t)
    for word in (0, 4):
        law = plane_law(
            points(space)[word], points(space), 4.0, choice=lambda z, words: auction(t, z, words)
        )
        assert agrees(frequencies(made, word), law)


def test_t_0_is_cmp() -> None:
    space, words = random_space(300, 20), torch.arange(300)
    first, second = (
        registry.make(name, space, 30.0, **keys).draw(words, generator(1))
        for name, keys in (("cmp", {}), ("vickrey", {"t": 0.0}))
    )
    assert torch.equal(first, second)


def test_t_1_is_the_second_nearest() -> None:
    space, words = random_space(300, 20), torch.arange(300)
    made = registry.make("vickrey", space, 1e6, t=1.0)
    distances = torch.cdist(space.vectors.double(), space.vectors.double())
    assert torch.equal(
        made.draw(words, generator(1)), distances.topk(2, largest=False).indices[:, 1]
    )


def test_guarantee_is_that_of_cmp() -> None:
    space = random_space(10, 50)
    made, cmp = (registry.make(name, space, 3.0) for name in ("vickrey", "cmp"))
    assert made.epsilon_at(-math.inf) == pytest.approx(6.0)
    assert made.epsilon_at(math.log(1e-6)) == cmp.epsilon_at(math.log(1e-6))
    assert made.log_delta(1.0) == cmp.log_delta(1.0)


def test_claim_and_keys() -> None:
    space = make_space(PLANE)
    assert shipped("vickrey") == {"t": 0.5}
    claim = registry.make("vickrey", space, 3.0).claimed()
    assert (claim.notion, claim.epsilon, claim.distance) == ("metric DP", 3.0, "Euclidean")
    for t in (-0.1, 1.1, "half"):
        with pytest.raises(TrlapError, match=r"mechanism\.t"):
            registry.make("vickrey", space, 3.0, t=t)
    with pytest.raises(TrlapError, match="two words"):
        registry.make("vickrey", make_space(np.ones((1, 2))), 3.0)


# ------------------------------------------------------------------ Space.nearest_two


def brute_force(space: Space, noisy: torch.Tensor) -> tuple[NDArray[np.int64], Floats]:
    differences = noisy.double().numpy()[:, None] - space.targets.double().numpy()
    distances = np.linalg.norm(differences, axis=2)
    order = np.argsort(distances, axis=1, kind="stable")[:, :2]
    return order, np.take_along_axis(distances, order, 1)


def check(space: Space, noisy: torch.Tensor) -> None:
    found, distances = space.nearest_two(noisy)
    order, expected = brute_force(space, noisy)
    assert np.array_equal(found.numpy(), order)
    assert np.allclose(distances.numpy(), expected, rtol=1e-5, atol=0)
    assert torch.equal(found[:, 0], space.nearest(noisy))


@pytest.mark.parametrize("projection", ["clipped", "original"])
@pytest.mark.parametrize(("count", "d"), [(2, 3), (127, 5), (128, 7), (129, 300), (1000, 20)])
def test_two_nearest_are_brute_force(count: int, d: int, projection: str) -> None:
    space = random_space(count, d, clip=1.5, projection=projection)
    check(space, torch.randn(100, d, generator=generator(1)) * 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 300), st.integers(1, 40), st.integers(0, 10**6), st.floats(1e-3, 1e3))
def test_two_nearest_at_every_scale(n: int, d: int, seed: int, scale: float) -> None:
    space = random_space(n, d, seed, clip=None)
    check(space, torch.randn(20, d, generator=generator(seed)) * scale)


@pytest.mark.parametrize("clear_winner", [False, True])
def test_near_ties_are_decided_in_float64(clear_winner: bool) -> None:
    """500 words a few float32 units apart. With one far from them, only the second is in doubt."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=300)
    vectors = base + 1e-6 * rng.normal(size=(500, 300))
    noisy = rng.normal(size=(50, 300)) * 40
    if clear_winner:
        vectors[77] = -base
        noisy = rng.normal(size=(50, 300)) - 2 * base
    space = make_space(vectors, clip=100.0)
    check(space, torch.from_numpy(noisy.astype(np.float32)))


def test_ties_go_to_the_smaller_index() -> None:
    space = make_space(np.array([[1.0, 0], [0, 1], [0, 1], [1, 0]]))
    found, distances = space.nearest_two(torch.tensor([[0.5, 0.5], [0.1, 2.0], [1.0, 0.0]]))
    assert found.tolist() == [[0, 1], [1, 2], [0, 3]]
    assert distances[2].tolist() == [0, 0]


def test_two_nearest_do_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    space = random_space(700, 50)
    noisy = torch.randn(300, 50, generator=generator(2)) * 5
    whole = space.nearest_two(noisy)[0]
    monkeypatch.setattr(spaces, "SCORES", 7 * 768)  # seven rows at a time
    assert torch.equal(space.nearest_two(noisy)[0], whole)
