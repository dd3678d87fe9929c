"""Which two words of a vocabulary a noise tells apart best, and which worst, over all pairs."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trlap.embeddings.space import Space
from trlap.mechanisms._geometry import Floats, Geometry

Indices = NDArray[np.int64]

# distances at once: 16 MiB in float32, whatever the vocabulary
CELLS = 2**22
# pairs that the search compares in float64 at most
CANDIDATES = 20_000
# pairs where no bound is at hand
SAMPLED = 2000


@dataclass(frozen=True)
class Extremes:
    """The pairs of words with the largest and the smallest δ, and how they were found."""

    largest: tuple[int, int]
    smallest: tuple[int, int]
    search: str


def extremes(noise: Geometry, seed: int) -> Extremes:
    """Compare all pairs of words in float32, then the best in float64.

    gaussian, cmp and its kin: δ rises with the l2 distance alone, which is one matrix product.
    laplace: ε = ‖s‖₁/b, so the l1 distance counts. trlap: δ rises with the hazard Σ_j G(|s_j|),
    G(t) = −ln(1 − p(t)), which `_parabolas` bounds from both sides by a‖s‖₁ + c‖s‖₂²: a pair whose
    upper bound is below the lower bound of another need not be looked at.
    """
    points = noise.flat(noise.points).to(noise.points.device, torch.float32)
    linear, low, high = _parabolas(noise, points) if noise.norm == "l1" else (0.0, 1.0, 1.0)
    if not math.isfinite(high):
        return _sampled(noise, seed)
    squares = (points.double().cpu() ** 2).sum(1).to(points)
    size = len(points)
    # a float32 sum or product of n terms errs by no more than n u times their size
    scale = linear * 2 * float(points.abs().sum(1).max()) + high * 4 * float(squares.max())
    slack = (points.shape[1] + 2) * 2**-23 * scale
    best, least = -math.inf, math.inf
    closest = (0, min(1, size - 1))
    candidates: list[tuple[Tensor, Tensor, Tensor]] = []
    for start in range(0, size, rows := max(1, CELLS // size)):
        block = points[start : start + rows]
        apart = torch.addmm(squares[start:], block, points[start:].T, alpha=-2)
        apart.add_(squares[start : start + rows, None]).clamp_(min=0)
        lower = upper = apart
        if linear:
            l1 = torch.cdist(block, points[start:], p=1).mul_(linear)
            lower, upper = l1 + low * apart, l1.add_(apart, alpha=high)
        later = torch.ones_like(upper, dtype=torch.bool).triu_(1)
        row, column = divmod(int(torch.where(later, lower, torch.inf).argmin()), upper.shape[1])
        if column > row and float(lower[row, column]) < least:
            least, closest = float(lower[row, column]), (start + row, start + column)
        best = max(best, float(torch.where(later, lower, -torch.inf).max()))
        i, j = (later & (upper >= best - slack)).nonzero().T
        # more could not be compared anyway
        top = upper[i, j].topk(min(len(i), CANDIDATES + 1))
        candidates.append((i[top.indices] + start, j[top.indices] + start, top.values))
    first, second, upper = (torch.cat(parts).cpu() for parts in zip(*candidates, strict=True))
    order = upper.argsort(descending=True)
    order = order[upper[order] >= best - slack]
    complete, order = len(order) <= CANDIDATES, order[:CANDIDATES]
    if not len(order):
        return Extremes(closest, closest, "one word")
    left, right = first[order].numpy(), second[order].numpy()
    worst = int(np.argmax(hazards(noise, left, right)))
    every = f"all {size * (size - 1) // 2:,} pairs"
    search = every if complete else f"{every} by a bound, {CANDIDATES:,} of them exactly"
    return Extremes((int(left[worst]), int(right[worst])), closest, search)


def most_visible(space: Space) -> tuple[int, int]:
    """The words whose difference s has the largest sᵀΣs, Σ the covariance of the vocabulary's vectors.

    A projected word shows of a noisy vector what lies along directions in which words differ: far
    words that differ in other directions are told apart by the vector and hardly by the word.
    """
    vectors = space.targets.cpu().double()
    centred = vectors - vectors.mean(0)
    values, axes = torch.linalg.eigh(centred.T @ centred)
    root = (axes * values.clamp(min=0).sqrt()) @ axes.T
    return extremes(Geometry(space.vectors, "l2", 1.0, whiten=root), 0).largest


def hazards(noise: Geometry, first: Indices, second: Indices) -> Floats:
    """What δ rises with: ln Σ_j G(|s_j|) for truncated noise, the distance for all other."""
    if not noise.bounded:
        return noise.distance(first, second)
    differences = difference(noise, first, second)
    return np.array([noise.log_exit(s) for s in differences])


def difference(noise: Geometry, first: Indices, second: Indices) -> Floats:
    points = noise.points.cpu().double().numpy()
    return points[first] - points[second]


def _sampled(noise: Geometry, seed: int) -> Extremes:
    """Where no bound is at hand: the best of pairs drawn at random."""
    i, j = random_pairs(len(noise.points), SAMPLED, seed)
    values = hazards(noise, i, j)
    top, least = int(np.argmax(values)), int(np.argmin(values))
    return Extremes(
        (int(i[top]), int(j[top])),
        (int(i[least]), int(j[least])),
        f"the largest of {len(i):,} sampled pairs",
    )


def random_pairs(size: int, count: int, seed: int) -> tuple[Indices, Indices]:
    """Pairs of different words, drawn uniformly."""
    rng = np.random.default_rng([seed, 4])
    first = rng.integers(size, size=count)
    second = (first + 1 + rng.integers(size - 1, size=count)) % size
    return first, second


def _parabolas(noise: Geometry, points: Tensor) -> tuple[float, float, float]:
    """(a, c, c′) with a t + c t² ≤ G(t) ≤ a t + c′ t² for all differences t, in units of G(T).

    T is the largest difference in any coordinate. G is convex (`TruncatedLaplaceNoise.worst_direction`), so a = G′(0)
    and the quotient (G(t) − a t)/t² says how far from a parabola it is; up to T ≤ A it rises. Laplace
    noise has G(t) = t.
    """
    if not noise.bounded:
        return 1.0, 0.0, 0.0
    T = float((points.amax(0) - points.amin(0)).max())
    if not 0 < T < 2 * noise.bound:
        return 1.0, 0.0, math.inf
    t = T * np.append(1e-6, np.linspace(0, 1, 513)[1:])
    log_g = np.array([noise.log_exit(np.array([x])) for x in t])
    g = np.exp(log_g - log_g[-1])
    a = float(g[0] / t[0])
    quotient = (g[1:] - a * t[1:]) / t[1:] ** 2
    # rounding, and what is between the points
    slack = 1e-9 / T**2 + 1e-3 * float(np.ptp(quotient))
    return a, float(quotient.min()) - slack, float(quotient.max()) + slack
