"""What the tests of the metric-DP mechanisms share: small vocabularies and their exact laws."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import OmegaConf
from scipy import stats

from trlap.embeddings.space import Space
from trlap.mechanisms import registry
from trlap.mechanisms.base import Mechanism, VectorMechanism

Floats = NDArray[np.float64]
Choice = Callable[[Floats, Floats], Floats]

CONF = Path(__file__).parent.parent.parent / "conf" / "mechanism"
# Statistical tests have fixed seeds; a correct sampler fails one with probability ALPHA. There are
# about sixty, so with other seeds one of them would fail once in 10,000 times.
ALPHA = 1e-6
PLANE = np.array([[0.9, 0.1], [-0.3, 0.8], [-0.7, -0.5], [0.2, -0.6], [0.1, 0.2]])


def make_space(vectors: Floats, **keys: Any) -> Space:
    count = len(vectors)
    words = [str(i) for i in range(count)]
    return Space(words, vectors.astype(np.float32), np.full(count, 1 / count), **keys)


def random_space(count: int, dimension: int, seed: int = 0, **keys: Any) -> Space:
    return make_space(np.random.default_rng(seed).normal(size=(count, dimension)), **keys)


def points(space: Space) -> Floats:
    """The words as the mechanisms see them: clipped, and rounded to float32."""
    return space.vectors.double().numpy()


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def vector_mechanism(name: str, space: Space, epsilon: float, **keys: Any) -> VectorMechanism:
    made = registry.make(name, space, epsilon, **keys)
    assert isinstance(made, VectorMechanism)
    return made


def shipped(name: str) -> dict[str, Any]:
    """A mechanism's own keys as its YAML has them, checked."""
    given = OmegaConf.to_container(OmegaConf.load(CONF / f"{name}.yaml"))
    assert isinstance(given, dict)
    assert given["name"] == name
    return registry.parameters(name, {str(key): value for key, value in given.items()})


def frequencies(
    made: Mechanism, word: int, draws: int = 100_000, seed: int = 0
) -> NDArray[np.int64]:
    words = torch.full((draws,), word)
    return np.bincount(made.draw(words, generator(seed)).numpy(), minlength=len(made.space))


def agrees(counts: NDArray[np.int64], law: Floats) -> bool:
    """Chi-square at level ALPHA. Words that should hardly come are counted as one."""
    expected = law * counts.sum()
    rare = expected < 10
    observed = [*counts[~rare], counts[rare].sum()]
    expected = np.array([*expected[~rare], expected[rare].sum()])
    if expected[-1] < 1:
        return observed.pop() < 20 and _chi_square(np.array(observed), expected[:-1])
    return _chi_square(np.array(observed), expected)


def _chi_square(observed: Floats, expected: Floats) -> bool:
    expected = expected * observed.sum() / expected.sum()
    return bool(stats.chisquare(observed, expected).pvalue > ALPHA)


def nearest(noisy: Floats, targets: Floats) -> Floats:
    """Probability 1 for the nearest target, by brute force: noisy (n, d), targets (V, d)."""
    distances = np.linalg.norm(noisy[:, None] - targets, axis=2)
    return np.eye(len(targets))[distances.argmin(1)]


def plane_law(
    centre: Floats,
    targets: Floats,
    epsilon: float,
    root: Floats | None = None,
    choice: Choice = nearest,
) -> Floats:
    """Q(y|centre) of noise ∝ e^{−ε‖z‖} in the plane, z → z·root, then a choice.

    An integral over polar coordinates by the midpoint rule, in the angle and in the quantile of the
    length; good to 1e-4, where 100,000 draws have a standard error of 1e-3.
    """
    steps = (np.arange(600) + 0.5) / 600
    lengths = stats.gamma(2, scale=1 / epsilon).ppf(steps)
    angles = 2 * np.pi * steps
    law = np.zeros(len(targets))
    for length in np.array_split(lengths, 30):
        noise = length[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        noise = noise.reshape(-1, 2)
        noise = noise if root is None else noise @ root
        law += choice(centre + noise, targets).sum(0)
    return law / law.sum()


def log_ratios(log_q: Floats) -> Floats:
    """max_y ln Q(y|w)/Q(y|w') for every pair, by brute force."""
    return (log_q[:, None] - log_q[None]).max(2)


def pairwise(vectors: Floats) -> Floats:
    return np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
