"""What the tests of the audit share: small spaces, mechanisms on them, an exact integral.

What is `Any` here has parts that may be null; a test looks into them without asking.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Generator, Tensor

from trlap.audit.attacks.base import Scene
from trlap.audit.channel import matrix
from trlap.audit.composition import documents
from trlap.audit.guarantee import guarantee
from trlap.audit.records import Vocabulary
from trlap.audit.vocabulary import vocabulary
from trlap.config.schema import AuditConfig
from trlap.embeddings.space import Space
from trlap.mechanisms import registry
from trlap.mechanisms._geometry import Geometry
from trlap.mechanisms.base import Mechanism
from trlap.mechanisms.gaussian import Gaussian
from trlap.mechanisms.krr import RandomisedResponse
from trlap.mechanisms.laplace import Laplace
from trlap.mechanisms.released.base import ReleasedMechanism

ATTACKS = ["distinguish", "inversion", "masked_token", "deniability"]
VECTORS = ("gaussian", "laplace", "trlap", "cmp", "mahalanobis", "pte", "vickrey")
WORDS = ("tem", "santext", "krr", "srr", "crr")


def space_of(
    dimension: int = 12, words: int = 60, seed: int = 0, clip: float | None = 1.0
) -> Space:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(words, dimension)).astype(np.float32) * 3
    prior = 1 / (np.arange(words) + 2.7)
    return Space([f"w{i}" for i in range(words)], vectors, prior / prior.sum(), clip=clip)


def make(name: str, epsilon: float, space: Space | None = None, **keys: Any) -> Any:
    return registry.make(name, space or space_of(), epsilon, **keys)


def released(name: str, epsilon: float, words: int = 60) -> ReleasedMechanism:
    return registry.make_released(name, space_of(words=words, clip=None), epsilon, clip=0.005)


# each mechanism once, with parameters that suit 12 dimensions
SPECS: list[tuple[str, float, dict[str, Any]]] = [
    ("none", 1.0, {}),
    ("trlap", 0.5, {}),
    ("trlap", 10.0, {}),  # dummy dimensions
    ("trlap", 1.0, {"delta": 1e-3, "calibration": "exact"}),
    ("gaussian", 1.0, {"delta": 1e-3, "calibration": "exact"}),
    ("laplace", 1.0, {"delta": 1e-3, "calibration": "exact"}),
    *((name, 1.0, {"delta": 1e-3}) for name in VECTORS if name != "trlap"),
    *((name, 3.0, {}) for name in WORDS),
]
every = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec[0]}-{spec[1]:g}")


def build(spec: tuple[str, float, dict[str, Any]]) -> Any:
    return make(spec[0], spec[1], **spec[2])


def config(**keys: Any) -> AuditConfig:
    sizes: dict[str, Any] = {"samples": 2000, "pairs": 1, "tokens": 200, "words": 20, "draws": 50}
    common = {"attacks": ATTACKS, "confidence": 0.95, "masked_lm": None}
    return AuditConfig(**(sizes | common | keys))


def tokens_of(found: Mechanism, count: int = 3000) -> Any:
    rng = np.random.default_rng(0)
    return rng.choice(len(found.space), size=count, p=found.space.prior).astype(np.int32)


def scene_of(found: Mechanism, seed: int = 0, **keys: Any) -> Scene:
    """Of which the largest pair is not known."""
    words = Vocabulary(len(found.space))
    return Scene(found, tokens_of(found), [5, 12, 30], config(**keys), seed, words, matrix(found))


# ------------------------------------------------------------------------ blocks, and their parts


def guarantee_of(found: Mechanism) -> Any:
    return guarantee(found)


def matrix_of(found: Mechanism) -> Any:
    return matrix(found)


def vocabulary_of(found: Mechanism) -> Any:
    return vocabulary(found, matrix(found), 0)


def documents_of(found: Mechanism, lengths: Sequence[int], epochs: int | None = None) -> Any:
    return documents(found, lengths, epochs, guarantee(found).exact)


# -------------------------------------------------------------- mechanisms that draw too little noise


@dataclass(kw_only=True)
class HalfGaussian(Gaussian):
    def noise(self, count: int, generator: Generator) -> Tensor:
        return super().noise(count, generator) / 2


@dataclass(kw_only=True)
class HalfLaplace(Laplace):
    def noise(self, count: int, generator: Generator) -> Tensor:
        return super().noise(count, generator) / 2


@dataclass(kw_only=True)
class HalfResponse(RandomisedResponse):
    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        drawn = super().draw(words, generator)
        again = torch.rand(len(words), generator=generator) < 0.5
        return torch.where(again, words, drawn)


# ---------------------------------------------------------------------------------- an exact integral


def integrated_delta(noise: Geometry, centres: torch.Tensor, epsilon: float, cells: int) -> float:
    """∫ (f(z − x) − e^ε f(z − x'))₊ dz on a grid, from the densities as the audit states them."""
    pair = Geometry(centres, noise.norm, noise.rate, noise.whiten, bound=noise.bound)
    m = centres.shape[1]
    reach = noise.bound if np.isfinite(noise.bound) else _reach(noise, m)
    low, high = centres.amin(0) - reach, centres.amax(0) + reach
    if np.isfinite(noise.bound):
        axes = [_cut_grid(centres[:, j], reach, cells) for j in range(m)]
    else:
        axes = [_midpoints(float(low[j]), float(high[j]), cells) for j in range(m)]
    grid = torch.cartesian_prod(*(x for x, _ in axes)).reshape(-1, m)
    weight = torch.cartesian_prod(*(w for _, w in axes)).reshape(-1, m).prod(1)
    log_f = pair.log_likelihood(grid)
    # a common constant: z is the same for both, so shift by the largest value
    log_f -= log_f.max()
    f = log_f.exp() * weight[:, None]
    f /= f.sum(0)
    return float((f[:, 0] - np.exp(epsilon) * f[:, 1]).clamp(min=0).sum())


def _midpoints(low: float, high: float, cells: int) -> tuple[torch.Tensor, torch.Tensor]:
    step = (high - low) / cells
    points = low + step * (torch.arange(cells).double() + 0.5)
    return points, torch.full((cells,), step, dtype=torch.float64)


def _cut_grid(ends: torch.Tensor, reach: float, cells: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Midpoints between the edges of both supports and the two centres, so that no cell is cut."""
    cuts = sorted({float(x) + shift for x in ends.double() for shift in (-reach, 0.0, reach)})
    parts = [
        _midpoints(a, b, max(2, int(cells * (b - a) / (cuts[-1] - cuts[0]))))
        for a, b in pairwise(cuts)
    ]
    points, weights = zip(*parts, strict=True)
    return torch.cat(points), torch.cat(weights)


def _reach(noise: Geometry, m: int) -> float:
    """Where the density has fallen by e^-30 and more."""
    stretch = 1.0
    if noise.whiten is not None:
        stretch = float(torch.linalg.svdvals(noise.whiten).min())
    return ((30 + 3 * m) / noise.rate) ** (0.5 if noise.norm == "l2²" else 1.0) / stretch
