"""What a vector mechanism's noise looks like to an auditor: a centre for every word and a norm.

All noises here have a density that falls with a norm of the distance from the word's centre,

    ln f(z | w) = const − rate · ‖(z − x_w) W‖   (squared for the Gaussian),   |z_j − x_wj| ≤ bound

so one description serves the search for the largest pair, the likelihood ratio of two words and the
attacker who compares all words.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trlap.embeddings.space import Space
from trlap.mechanisms import cmp, gaussian, laplace, mahalanobis, pte, trlap
from trlap.mechanisms.base import Base
from trlap.privacy import noise as privacy

Floats = NDArray[np.float64]

CELLS = 2**22  # distances at once: 16 MiB in float32, whatever the vocabulary
CANDIDATES = 20_000  # pairs that the search compares in float64 at most
SAMPLED = 2000  # pairs where no bound is at hand
SUPPORT = 1 + 1e-5  # float32 noise may pass its bound by a rounding error


@dataclass(frozen=True)
class Geometry:
    """`points`: the centres, a row for each word, in the coordinates of the noisy vector."""

    points: Tensor
    norm: str  # l1 | l2 | l2², the squared one
    rate: float
    whiten: Tensor | None = None  # W, where the norm is not that of the coordinates
    project: Floats | None = None  # from clipped vectors to centres, where that is not the identity
    bound: float = math.inf  # A

    @property
    def unit(self) -> str:
        return "l1" if self.norm == "l1" else "l2"

    def log_likelihood(
        self, noisy: Tensor, words: Tensor | None = None, support: bool = True
    ) -> Tensor:
        """ln f(z | w) up to one constant, in float64: a row for each z, a column for each word.

        `support=False` forgets the bound, as an attacker does who takes the noise for Laplace noise.
        """
        points = self.points if words is None else self.points[words]
        centres, z = self.flat(points), self.flat(noisy)
        if self.norm == "l1":
            score = -self.rate * torch.cdist(z, centres, p=1)
        else:
            squares = (z**2).sum(1, keepdim=True) - 2 * z @ centres.T + (centres**2).sum(1)
            squares.clamp_(min=0)
            score = -self.rate * (squares if self.norm == "l2²" else squares.sqrt_())
        if support and math.isfinite(self.bound):
            score[self.outside(noisy, words).to(score.device)] = -math.inf
        return score

    def outside(self, noisy: Tensor, words: Tensor | None = None) -> Tensor:
        """The support test: whether the word cannot have led to the noisy vector."""
        points = self.points if words is None else self.points[words]
        return torch.cdist(noisy.to(points), points, p=math.inf) > self.bound * SUPPORT

    def nearest(self, noisy: Tensor) -> Tensor:
        """The word whose centre is nearest to the noisy vector: the simplest attacker."""
        plain = Geometry(self.points, "l2²", 1.0)
        return plain.log_likelihood(noisy).argmax(1)

    def flat(self, rows: Tensor) -> Tensor:
        """In float64, whitened; on the CPU where the device has no float64."""
        rows = rows.cpu() if rows.device.type == "mps" else rows
        return rows.double() if self.whiten is None else rows.double() @ self.whiten.to(rows.device)

    def distance(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
        """Distances of pairs of words in the noise's own norm, not squared."""
        order = 1 if self.norm == "l1" else 2
        parts = []
        for start in range(0, len(first), 4096):
            part = slice(start, start + 4096)
            apart = self.points[torch.from_numpy(first[part])].double().cpu()
            apart -= self.points[torch.from_numpy(second[part])].double().cpu()
            parts.append(self.flat(apart).norm(p=order, dim=1).numpy())
        return np.concatenate(parts) if parts else np.zeros(0)

    def worst_pair(self, clip: float, dimension: int) -> tuple[Tensor, Tensor]:
        """Centres of two clipped vectors, not words, that are as far apart as can be: ± s/2.

        For l1 and for truncated noise s is `privacy.trlap_worst_direction`; for the others it is the
        direction that projection and whitening stretch most, of length 2C.
        """
        if self.norm == "l1":
            s = privacy.trlap_worst_direction(self.rate, self.bound, dimension, clip)
        else:
            stretch = np.eye(dimension) if self.project is None else self.project
            if self.whiten is not None:
                stretch = stretch @ self.whiten.cpu().numpy()
            s = 2 * clip * np.linalg.svd(stretch)[0][:, 0]
        half = s / 2 if self.project is None else s @ self.project / 2
        centre = torch.from_numpy(half).to(self.points)
        return centre, -centre


def geometry(mechanism: Base) -> Geometry | None:
    """None for a mechanism whose noise is not of this kind, or not known here."""
    points = mechanism.space.vectors
    match mechanism:
        case gaussian.Mechanism():
            return Geometry(points, "l2²", 1 / (2 * mechanism.sigma**2))
        case laplace.Mechanism():
            return Geometry(points, "l1", 1 / mechanism.scale)
        case trlap.Mechanism():
            return Geometry(points, "l1", mechanism.alpha, bound=mechanism.A)
        case pte.Mechanism():
            project = mechanism.phi.T
            centres = torch.from_numpy(points.cpu().double().numpy() @ project).to(points)
            return Geometry(centres, "l2", mechanism.epsilon, project=project)
        case mahalanobis.Mechanism():
            whiten = torch.from_numpy(mechanism._whiten)
            return Geometry(points, "l2", mechanism.epsilon, whiten=whiten)
        case cmp.Mechanism():
            return Geometry(points, "l2", mechanism.epsilon)
    return None


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
    kept: list[tuple[Tensor, Tensor, Tensor]] = []
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
        top = upper[i, j].topk(min(len(i), CANDIDATES + 1))  # more could not be compared anyway
        kept.append((i[top.indices] + start, j[top.indices] + start, top.values))
    first, second, upper = (torch.cat(parts).cpu() for parts in zip(*kept, strict=True))
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


def hazards(noise: Geometry, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
    """What δ rises with: ln Σ_j G(|s_j|) for truncated noise, the distance for all other."""
    if math.isinf(noise.bound):
        return noise.distance(first, second)
    differences = difference(noise, first, second)
    return np.array([_log_hazard(s, noise.rate, noise.bound) for s in differences])


def difference(noise: Geometry, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
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


def random_pairs(size: int, count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of different words, drawn uniformly."""
    rng = np.random.default_rng([seed, 4])
    first = rng.integers(size, size=count)
    second = (first + 1 + rng.integers(size - 1, size=count)) % size
    return first, second


def _parabolas(noise: Geometry, points: Tensor) -> tuple[float, float, float]:
    """(a, c, c′) with a t + c t² ≤ G(t) ≤ a t + c′ t² for all differences t, in units of G(T).

    T is the largest difference in any coordinate. G is convex (`trlap_worst_direction`), so a = G′(0)
    and the quotient (G(t) − a t)/t² says how far from a parabola it is; up to T ≤ A it rises. Laplace
    noise has G(t) = t.
    """
    if math.isinf(noise.bound):
        return 1.0, 0.0, 0.0
    T = float((points.amax(0) - points.amin(0)).max())
    if not 0 < T < 2 * noise.bound:
        return 1.0, 0.0, math.inf
    t = T * np.append(1e-6, np.linspace(0, 1, 513)[1:])
    log_g = np.array([_log_hazard(np.array([x]), noise.rate, noise.bound) for x in t])
    g = np.exp(log_g - log_g[-1])
    a = float(g[0] / t[0])
    quotient = (g[1:] - a * t[1:]) / t[1:] ** 2
    slack = 1e-9 / T**2 + 1e-3 * float(np.ptp(quotient))  # rounding, and what is between the points
    return a, float(quotient.min()) - slack, float(quotient.max()) + slack


def _log_hazard(s: Floats, alpha: float, A: float) -> float:
    """ln(−ln(1 − δ)) from `trlap_log_delta`."""
    log_delta = privacy.trlap_log_delta(s, alpha, A)
    if log_delta < -37:
        return log_delta
    return math.log(-math.log1p(-math.exp(log_delta))) if log_delta < 0 else math.inf
