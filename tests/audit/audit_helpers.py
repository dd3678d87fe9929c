"""What the tests of the audit share: small spaces, mechanisms on them, an exact integral."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from trlap.audit.geometry import Geometry
from trlap.config.schema import AuditConfig
from trlap.embeddings.space import Space
from trlap.mechanisms import base as mechanism
from trlap.mechanisms._released import Released

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
    return mechanism.make(name, space or space_of(), epsilon, **keys)


def released(name: str, epsilon: float, words: int = 60) -> Released:
    return Released(
        space=space_of(words=words, clip=None), epsilon=epsilon, clip=0.005, released=name
    )


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
    sizes = {"samples": 2000, "pairs": 1, "tokens": 200, "words": 20, "draws": 50}
    return AuditConfig(**({"confidence": 0.95, "masked_lm": None} | sizes | keys))


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
