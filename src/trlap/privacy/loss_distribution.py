"""The privacy-loss distribution: δ(ε) and ε(δ) of n draws for the same two words.

Written here rather than taken from dp-accounting (which the tests use as an oracle) for δ far below
1e-16, for 300 different coordinates within a second, and for a bound on either side.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trlap.privacy.convolution import Convolved
from trlap.privacy.finite_losses import Coordinates, FiniteLosses, Lattice
from trlap.privacy.numerics import (
    Floats,
    log1mexp,
    log_hazard_of,
    log_largest_weight,
    log_probability_of,
    log_subtract,
    minimise,
    smallest,
)

# Grid points of a loss distribution of coordinates: of one that is reported, and of one that is
# only compared with others or met many times in a calibration.
CELLS = 2**18
SCAN_CELLS = 2**13

# a step of a grid whose exponential is no float
LONG_STEP = 700.0

# An ε this close to the largest loss, relatively, is at it: αΔ₁ = ε up to the rounding of some products. What
# is left out so is a δ of 1e-14·ε at most.
EDGE = 1e-14


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """The finite losses of one draw, the hazard of an infinite one, and how often it is drawn.

    With p the probability of an infinite loss in one draw, `log_hazard` is ln(−ln(1 − p)).
    """

    finite: FiniteLosses
    log_hazard: float = -math.inf
    draws: int = 1
    cells: int = CELLS

    @classmethod
    def of_coordinates(
        cls,
        width: Floats,
        atom: Floats,
        log_scale: Floats,
        count: NDArray[np.int64],
        log_hazard: float,
    ) -> Self:
        """Independent coordinates, coordinate i `count[i]` times, of symmetric noise with

            μ = e^`log_scale` [`atom` at ±`width`, ½ between],

        and the hazard of an infinite loss, all coordinates together. See `finite_losses` for μ.
        """
        return cls(Coordinates(width, atom, log_scale, count), log_hazard)

    @classmethod
    def of_atoms(
        cls, spacing: float, log_probability: ArrayLike, log_infinity: float = -math.inf
    ) -> Self:
        """A loss of k·`spacing` has probability e^`log_probability[k]` under the one word.

        −k·`spacing` has e^{−k·spacing} times that, because the pair of words is symmetric. ln of
        the probability of an infinite loss comes last. Exact, but for rounding.
        """
        log_probability = np.asarray(log_probability, dtype=np.float64)
        # a loss that never occurs is not the largest
        log_probability = log_probability[: np.flatnonzero(log_probability > -np.inf)[-1] + 1]
        log_mass = log_probability - spacing / 2 * np.arange(len(log_probability))
        return cls(Lattice(spacing, log_mass), float(log_hazard_of(log_infinity)))

    @classmethod
    def of_curve(cls, log_delta: Callable[[float], float], largest: float, points: int) -> Self:
        """The least loss distribution on a grid whose δ(ε) is nowhere below that of a known one.

        δ(ε) of a symmetric pair is read at `points` + 1 grid points ε_i from 0 to `largest` and
        drawn straight between them as a function of e^ε, of which it is convex: "connect the dots",
        Doroshenko et al. 2022, Algorithm 1. The slope from ε_i on is −Q(L > ε_i), so

            Q(L > ε_i) = (δ_i − δ_{i+1}) / (e^{ε_{i+1}} − e^{ε_i}),   P(L = 0) = 1 − δ_0 − 2Q(L > 0)

        and losses below 0 follow by symmetry, δ(−ε) = 1 − e^{−ε}(1 − δ(ε)). What is lost beyond the
        grid, δ(`largest`), counts as an infinite loss. What dominates in one draw dominates after
        composition, so this bounds δ(ε) from above for any number of draws, and not from below. In
        logarithms, so that it holds where δ is no float. Where rounding would make a tail grow with
        ε, it is raised to be constant, which errs on the safe side.
        """
        spacing = largest / points
        epsilons = spacing * np.arange(points + 1)
        heights = np.array([log_delta(epsilon) for epsilon in epsilons])
        falls = log_subtract(heights[:-1], heights[1:])
        log_tails = falls - epsilons[1:] - log1mexp(-spacing)
        log_tails = np.maximum.accumulate(log_tails[::-1])[::-1]
        steps = log_subtract(log_tails[:-1], log_tails[1:])
        zero = 1 - math.exp(heights[0]) - 2 * math.exp(log_tails[0])
        log_zero = math.log(zero) if zero > 0 else -math.inf
        log_q = np.concatenate([[log_zero], steps, log_tails[-1:]])
        finite = Lattice(spacing, log_q + epsilons / 2, exact=False)
        return cls(finite, float(log_hazard_of(heights[-1])))

    def compose(self, draws: int) -> Self:
        """The loss of that many times as many draws for the same two words."""
        return replace(self, draws=self.draws * draws)

    def coarse(self) -> Self:
        """The same on a coarser grid, for comparisons."""
        return replace(self, cells=SCAN_CELLS)

    @property
    def largest(self) -> float:
        """The largest finite loss of all draws together."""
        return self.draws * self.finite.largest

    @cached_property
    def log_infinity(self) -> float:
        """ln of the probability that some draw has an infinite loss."""
        return log_probability_of(self.log_hazard + math.log(self.draws))

    def ends_at(self, epsilon: float) -> bool:
        """Whether no finite loss exceeds ε."""
        return epsilon >= self.largest * (1 - EDGE)

    @property
    def _beyond_reach(self) -> bool:
        """Whether losses are so large that a grid of them cannot be computed with.

        Then a bound is what is certain: δ is 1 at most, and no finite loss exceeds the largest.
        """
        return self.finite.parts > 0 and 2 * self.largest > LONG_STEP * self.cells

    def log_renyi(self, x: float) -> float:
        """A bound for every k = e^x > 0: ln δ(ε) ≤ this − kε, but for the infinite loss.

        Because (1 − e^{−u})₊ ≤ e^{ku} k^k/(k + 1)^{k+1}.
        """
        k = math.exp(x)
        return self.draws * self.finite.log_mgf(k + 0.5) + log_largest_weight(k)

    def best_renyi(self, epsilon: float) -> tuple[float, float]:
        """(x, bound): the smallest bound on ln δ(ε) of `log_renyi`, and where."""
        return minimise(lambda x: self.log_renyi(x) - math.exp(x) * epsilon, -20, 20)

    def log_delta(self, epsilon: float, *, pessimistic: bool = True) -> float:
        """ln δ(ε): an upper bound, or (`pessimistic=False`) a lower one.

        Exactly the infinite loss where no finite one exceeds ε; below, by `Convolved`.
        """
        if self.ends_at(epsilon):
            return self.log_infinity
        if self._beyond_reach:
            return 0.0 if pessimistic else self.log_infinity
        # Tilted by the order of the best Rényi bound, the losses that count at ε are the likely ones.
        x, _ = self.best_renyi(epsilon)
        return self._total(self._convolved(x, pessimistic).log_delta(epsilon))

    def epsilon_at(self, log_delta: float) -> float:
        """The smallest ε ≥ 0 at which the upper bound of `log_delta` meets δ.

        Infinite where the infinite loss alone has more mass than δ.
        """
        if log_delta < self.log_infinity:
            return math.inf
        if log_delta == self.log_infinity or self.largest == 0 or self._beyond_reach:
            return self.largest
        log_finite = log_delta + log1mexp(self.log_infinity - log_delta)
        x, _ = minimise(lambda x: (self.log_renyi(x) - log_finite) / math.exp(x), -20, 20)
        convolved = self._convolved(x, True)

        def valid(epsilon: float) -> bool:
            return self._total(convolved.log_delta(epsilon)) <= log_delta

        return 0.0 if valid(0.0) else smallest(valid, 1e-12 * self.largest, self.largest)

    def _convolved(self, x: float, pessimistic: bool) -> Convolved:
        return Convolved(self.finite, self.draws, 0.5 + math.exp(x), pessimistic, self.cells)

    def _total(self, log_finite: float) -> float:
        """ln δ from that of the finite losses, with the infinite one."""
        return min(0.0, float(np.logaddexp(log_finite, self.log_infinity)))
