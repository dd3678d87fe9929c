"""The finite privacy losses of one draw, as a symmetric measure that a grid can hold.

Let P and Q be the laws of ℓ = ln dP/dQ under the one word and under the other. Both follow from one
measure μ, by dP = e^{ℓ/2} dμ and dQ = e^{−ℓ/2} dμ. For symmetric noise μ is symmetric. It comes in
two forms: independent coordinates with an atom at either end and a constant between, for (truncated)
Laplace noise, and atoms at multiples of one step, for everything else.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trlap.privacy.numerics import Floats

# the tail of a coordinate is cut off where no point has more mass than this
NEGLIGIBLE = 1e-30


@dataclass(frozen=True, eq=False)
class Piece:
    """e^{tilt·ℓ} dμ of an independent part that occurs `count` times, on a grid.

    `mass` is normalised, and counts in steps down from the largest loss; `log_total` is the
    logarithm of what it was divided by.
    """

    mass: Floats
    log_total: float
    count: int


class FiniteLosses(ABC):
    """The law μ of one draw's finite losses."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest loss."""

    @property
    @abstractmethod
    def widest(self) -> float:
        """The largest loss of a single part."""

    @property
    @abstractmethod
    def parts(self) -> int:
        """How many parts a grid may round, each by less than a step."""

    @abstractmethod
    def sums(self, draws: int) -> float:
        """How many values the loss of that many draws can take."""

    @abstractmethod
    def log_mgf(self, tilt: float) -> float:
        """ln ∫ e^{tilt·ℓ} dμ."""

    @abstractmethod
    def step(self, span: float, cells: int) -> float:
        """The step of a grid that covers the span with about that many cells."""

    @abstractmethod
    def pieces(self, step: float, tilt: float, pessimistic: bool) -> Iterator[Piece]:
        """The parts on a grid, so that δ is bounded from above, or from below."""


@dataclass(frozen=True, eq=False)
class Coordinates(FiniteLosses):
    """Independent coordinates: `atom` at ±`width`, density ½ between, all times e^`log_scale`.

    Coordinate i occurs `count[i]` times.
    """

    width: Floats
    atom: Floats
    log_scale: Floats
    count: NDArray[np.int64]

    @property
    def largest(self) -> float:
        return float(self.count @ self.width)

    @property
    def widest(self) -> float:
        return float(self.width.max())

    @property
    def parts(self) -> int:
        return int(self.count.sum())

    def sums(self, draws: int) -> float:
        return math.inf

    def log_mgf(self, tilt: float) -> float:
        tilt = max(abs(tilt), 1e-200)
        x = tilt * self.width
        mass = self.atom * (1 + np.exp(-2 * x)) - 0.5 * np.expm1(-2 * x) / tilt
        return float(self.count @ (self.log_scale + x + np.log(mass)))

    def step(self, span: float, cells: int) -> float:
        # coordinates that occur once are convolved one by one: at most 2·cells points in all
        step = max(span, float(self.width[self.count == 1].sum())) / cells
        # puts the atoms of the most frequent coordinate on the grid
        common = float(self.width[np.argmax(self.count)])
        return common / math.ceil(common / step) if common > step else step

    def pieces(self, step: float, tilt: float, pessimistic: bool) -> Iterator[Piece]:
        on_grid = spread if pessimistic else merge
        for width, atom, log_scale, count in zip(
            self.width, self.atom, self.log_scale, self.count.tolist(), strict=True
        ):
            mass = on_grid(width, atom, step)
            mass *= np.exp(-tilt * step * np.arange(len(mass)))
            total = mass.sum()
            mass /= total
            mass = mass[: np.flatnonzero(mass > NEGLIGIBLE)[-1] + 1]
            yield Piece(mass, log_scale + tilt * width + math.log(total), count)


@dataclass(frozen=True, eq=False)
class Lattice(FiniteLosses):
    """Atoms of mass e^`log_mass[k]` at k·`spacing` and at −k·`spacing`: their own grid.

    `exact=False` says that they stand for a law that they dominate: good for an upper bound only.
    """

    spacing: float
    log_mass: Floats
    exact: bool = True

    @property
    def largest(self) -> float:
        return self.spacing * (len(self.log_mass) - 1)

    @property
    def widest(self) -> float:
        return self.largest

    @property
    def parts(self) -> int:
        return 0

    def sums(self, draws: int) -> float:
        return 2 * draws * (len(self.log_mass) - 1) + 1

    def log_mgf(self, tilt: float) -> float:
        terms = self._terms(abs(tilt))
        top = float(terms.max())
        return abs(tilt) * self.largest + top + math.log(float(np.exp(terms - top).sum()))

    def step(self, span: float, cells: int) -> float:
        return self.spacing

    def pieces(self, step: float, tilt: float, pessimistic: bool) -> Iterator[Piece]:
        if not (pessimistic or self.exact):
            raise ValueError("these losses bound δ from above only")
        terms = self._terms(tilt)
        top = float(terms.max())
        mass = np.exp(terms - top)
        total = float(mass.sum())
        mass /= total
        mass = mass[: np.flatnonzero(mass > NEGLIGIBLE)[-1] + 1]
        yield Piece(mass, tilt * self.largest + top + math.log(total), 1)

    def _terms(self, tilt: float) -> Floats:
        """ln e^{tilt·ℓ} dμ from the largest loss down to the smallest, but for tilt·largest."""
        down, log_mass = self._downwards
        return log_mass - tilt * down

    @cached_property
    def _downwards(self) -> tuple[Floats, Floats]:
        """How far below the largest each loss is, and its ln μ."""
        log_mass: Floats = np.concatenate([self.log_mass[::-1], self.log_mass[1:]])
        return self.spacing * np.arange(len(log_mass), dtype=np.float64), log_mass


def spread(width: float, atom: float, h: float) -> Floats:
    """μ on the points width − i·h, split so that ∫e^{±ℓ/2} dμ are kept: for the upper bound.

    Of an atom at y between x and x + h, sinh((y − x)/2)/sinh(h/2) goes up and
    sinh((x + h − y)/2)/sinh(h/2) down; the constant part is the integral of that.
    """
    n = max(1, math.ceil(2 * width / h - 1e-9))
    # from the lowest point up to −width, where μ begins
    gap = max(0.0, n * h - 2 * width)
    mass = np.zeros(n + 1)
    mass[0] = atom
    mass[: n - 1] += math.tanh(h / 4)
    mass[1:n] += math.tanh(h / 4)
    rest = math.sinh((h - gap) / 4)
    up = 2 * math.sinh((h + gap) / 4) * rest + atom * math.sinh(gap / 2)
    down = 2 * rest**2 + atom * math.sinh((h - gap) / 2)
    mass[n - 1] += up / math.sinh(h / 2)
    mass[n] += down / math.sinh(h / 2)
    return mass


def merge(width: float, atom: float, h: float) -> Floats:
    """μ on the points width − i·h, merged in buckets or rounded down: for the lower bound.

    The constant part over [y − h, y + h] has mass 2·sinh(h/2)·e^{±y/2} under P and Q: merged, its
    loss is y. Buckets lie around odd i. Rounding a loss down keeps its mass under P.
    """
    n = max(1, math.ceil(2 * width / h - 1e-9))
    buckets = math.floor(width / h + 1e-9)
    rest = max(0.0, 2 * width - 2 * h * buckets)
    drop = max(0.0, n * h - 2 * width)
    mass = np.zeros(n + 1)
    mass[0] = atom
    mass[1 : 2 * buckets : 2] = 2 * math.sinh(h / 2)
    mass[n] += (atom + math.expm1(rest / 2)) * math.exp(drop / 2)
    return mass
