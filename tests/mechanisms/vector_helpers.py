"""What the tests of the i.i.d. noises share."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from scipy import stats

from trlap.embeddings.space import Space
from trlap.mechanisms import registry
from trlap.mechanisms.base import VectorMechanism

Kind = TypeVar("Kind", bound=VectorMechanism)

# Every statistical test below has a fixed seed; it was drawn once, and a correct sampler fails such a
# test for one seed in 10,000.
LEVEL = 1e-4


def space_of(dimension: int, words: int = 5, seed: int = 0, clip: float = 1.0) -> Space:
    vectors = np.random.default_rng(seed).normal(size=(words, dimension)).astype(np.float32) * 3
    return Space([str(i) for i in range(words)], vectors, np.full(words, 1 / words), clip=clip)


def make(kind: type[Kind], epsilon: float, dimension: int = 300, **keys: Any) -> Kind:
    space = space_of(dimension, clip=keys.get("clip", 1.0))
    made = registry.make(kind.name, space, epsilon, **keys)
    assert isinstance(made, kind)
    return made


def draws(found: VectorMechanism, count: int, seed: int = 1) -> np.ndarray:
    """`count` coordinates of its noise."""
    rows = -(-count // found.dimension)
    noise = found.noise(rows, torch.Generator().manual_seed(seed))
    assert noise.dtype == torch.float32
    return noise.double().flatten().numpy()[:count]


def fits(found: VectorMechanism, cdf: Callable[[np.ndarray], np.ndarray], variance: float) -> None:
    """Kolmogorov–Smirnov against the closed form; mean and variance within five standard errors."""
    x = draws(found, 200_000)
    assert stats.kstest(x, cdf).pvalue > LEVEL
    assert abs(x.mean()) < 5 * np.sqrt(variance / len(x))
    spread = np.sqrt((np.mean((x**2 - variance) ** 2)) / len(x))
    assert abs((x**2).mean() - variance) < 5 * spread


def projects_as_brute_force(
    found: VectorMechanism, noise: Callable[[np.random.Generator], np.ndarray]
) -> None:
    """The replacement of each of 5 words has the distribution of an independent float64 simulation."""
    size = 40_000
    rng = np.random.default_rng(5)
    vectors = found.space.vectors.double().numpy()
    for word in range(len(found.space)):
        words = torch.full((size,), word)
        ours = found.draw(words, torch.Generator().manual_seed(word)).numpy()
        noisy = (
            vectors[word] + np.stack([noise(rng) for _ in range(found.dimension)], axis=1)[:size]
        )
        theirs = ((noisy[:, None] - vectors[None]) ** 2).sum(2).argmin(1)
        table = np.stack([np.bincount(x, minlength=len(vectors)) for x in (ours, theirs)])
        table = table[:, table.sum(0) > 0]
        if table.shape[1] > 1:
            assert stats.chi2_contingency(table).pvalue > LEVEL
