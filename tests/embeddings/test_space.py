import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trlap.embeddings import space as spaces
from trlap.embeddings.space import Space, clipped
from trlap.mechanisms.laplace import Laplace


def make_space(count: int, dimension: int, seed: int = 0, **keys: object) -> Space:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, dimension)).astype(np.float32)
    return Space([str(i) for i in range(count)], vectors, np.full(count, 1 / count), **keys)  # type: ignore[arg-type]


def brute_force(space: Space, points: torch.Tensor) -> torch.Tensor:
    distances = (points.double()[:, None, :] - space.targets.double()[None]) ** 2
    return distances.sum(2).argmin(1)


def test_clipping_shortens_only_what_is_longer() -> None:
    vectors = np.array([[3, 4], [0.3, 0.4], [0, 0]], np.float32)
    assert np.allclose(clipped(vectors, 1.0), np.array([[0.6, 0.8], [0.3, 0.4], [0, 0]]))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 400), st.floats(-12, 12), st.floats(-3, 3))
def test_no_clipped_vector_is_longer_than_c_not_by_rounding_either(
    seed: int, dimension: int, log_clip: float, log_length: float
) -> None:
    """In float64, and in whole numbers; and none is shorter than rounding asks for."""
    rng, clip = np.random.default_rng(seed), 10**log_clip
    vectors = rng.normal(size=(20, dimension)) * clip * 10**log_length / dimension**0.5
    vectors[:5] *= rng.random((5, dimension)) < 0.05
    vectors[5:8] *= clip / np.linalg.norm(vectors[5:8], axis=1, keepdims=True)
    found = clipped(vectors.astype(np.float32), clip).astype(np.float64)
    lengths = np.linalg.norm(found, axis=1)
    assert (lengths <= clip).all()
    for row in found:
        assert sum(Fraction(value) ** 2 for value in row.tolist()) <= Fraction(clip) ** 2
    wanted = np.minimum(np.linalg.norm(vectors, axis=1), clip)
    assert (lengths >= wanted * (1 - 2**-22)).all()


def test_what_is_short_enough_stays_as_it_is() -> None:
    vectors = np.array([[1, 0], [0, -1], [0.6, 0.7], [-0.25, 0]], np.float32)
    assert np.array_equal(clipped(vectors, 1.0), vectors)


def test_a_pure_mechanism_stays_pure_for_clipped_words() -> None:
    """A pair that is one digit too far apart has δ = 7·10⁻⁹ where the promise is 0."""
    rng = np.random.default_rng(0)
    signs = np.where(rng.random((60, 100)) < 0.5, -1, 1) * rng.uniform(1, 3, size=(60, 1))
    vectors = np.concatenate([signs, -signs]).astype(np.float32)
    space = Space([str(i) for i in range(120)], vectors, np.full(120, 1 / 120))
    mechanism = Laplace(space=space, epsilon=1.0)
    for word in range(60):
        assert mechanism.pair_log_delta(1.0, word, word + 60) == -math.inf


@pytest.mark.parametrize("projection", ["clipped", "original"])
@pytest.mark.parametrize(
    ("count", "dimension"), [(2, 3), (127, 5), (128, 7), (129, 300), (1000, 20)]
)
def test_nearest_is_brute_force(count: int, dimension: int, projection: str) -> None:
    space = make_space(count, dimension, clip=1.5, projection=projection)
    points = torch.randn(200, dimension, generator=torch.Generator().manual_seed(1)) * 2
    assert torch.equal(space.nearest(points), brute_force(space, points))


def test_ties_go_to_the_smaller_index() -> None:
    vectors = np.array([[1, 0], [0, 1], [0, 1], [1, 0]], np.float32)
    space = Space(list("abcd"), vectors, np.full(4, 0.25))
    assert space.nearest(torch.tensor([[0.5, 0.5], [0.1, 2.0], [2.0, 0.1]])).tolist() == [0, 1, 0]


def test_near_ties_are_decided_in_float64() -> None:
    """Words that differ by a few float32 units, far from the origin of the noise."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=300)
    vectors = (base + 1e-6 * rng.normal(size=(500, 300))).astype(np.float32)
    space = Space([str(i) for i in range(500)], vectors, np.full(500, 1 / 500), clip=100.0)
    points = torch.from_numpy(rng.normal(size=(200, 300)).astype(np.float32) * 40)
    assert torch.equal(space.nearest(points), brute_force(space, points))


def test_the_answer_does_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    space = make_space(700, 50)
    points = torch.randn(300, 50, generator=torch.Generator().manual_seed(2)) * 5
    whole = space.nearest(points)
    # seven rows at a time
    monkeypatch.setattr(spaces, "SCORES", 7 * 768)
    assert torch.equal(space.nearest(points), whole)
    singly = torch.cat([space.nearest(point[None]) for point in points])
    assert torch.equal(singly, whole)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 300), st.integers(1, 40), st.integers(0, 10**6), st.floats(1e-3, 1e3))
def test_nearest_is_brute_force_at_every_scale(n: int, d: int, seed: int, scale: float) -> None:
    space = make_space(n, d, seed, clip=scale)
    points = torch.randn(20, d, generator=torch.Generator().manual_seed(seed)) * scale
    assert torch.equal(space.nearest(points), brute_force(space, points))
