"""δ(ε) of one draw in a few dimensions, bounded for every difference of one length by a cover of boxes.

δ(ε) does not fall with any |s_j| (`coordinates`), so its value at the upper corner of a box bounds all of the
box. The order and the signs of coordinates do not matter, so s with s₁ ≥ s₂ ≥ … ≥ s_d ≥ 0 and Σs_j² = r²
are enough. They are covered by boxes of s_j², each shrunk to what these conditions leave of it, and boxes
with the largest bounds are cut in two: branch and bound. The largest bound of all boxes is valid whenever
one stops.

At a corner δ is known in closed form. With τ = αs and atoms p_j = 1 − e^{−α(A − s_j)}, a coordinate's
losses are e^{−τ/2}/αB [p at ±τ, ½ between]. With I the integral from −∞, such a coordinate takes a
function h of the loss to p h(τ) + ½Ih(τ) + p h(−τ) − ½Ih(−τ). So d of them take it to a sum over signs σ,

    Π_j e^{−τ_j/2}/αB · Σ_σ [Π_j (p_j + σ_j ½I) h](σ·τ),   h(ε + y) = 2e^{ε/2} sinh(y/2) for y > 0, else 0,

of which the finite part of δ is made: αB is 2(1 − e^{−αA}), and I^j h(ε + y) is 2e^{ε/2} Σ_i
(1/2)^{2i+1} y^{2i+1+j}/(2i+1+j)!.
"""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from trlap.privacy.exits import log_exit
from trlap.privacy.numerics import Floats

# boxes that may be looked at, in all and at once
EVALUATIONS = 100_000
AT_ONCE = 4096
# more dimensions, or longer losses, are left to other bounds
MOST_DIMENSIONS = 6
LONGEST = 30.0
# a cut ends where the best bound is this near to a value that was met, as a logarithm
GAP = 1e-3


@dataclass(frozen=True)
class Corner:
    """δ(ε) of one draw of noise e^{−α|x|} on [−A, A] at many differences at once; none is beyond A."""

    epsilon: float
    alpha: float
    bound: float

    def log_delta(self, differences: Floats) -> Floats:
        """ln δ of every row, not below the truth by rounding."""
        tau = self.alpha * differences
        q = math.exp(-self.alpha * self.bound)
        atoms = 1 - q * np.exp(tau)
        total, size = np.zeros(len(tau)), np.zeros(len(tau))
        for signs in product((1.0, -1.0), repeat=tau.shape[1]):
            beyond = np.maximum(tau @ np.array(signs) - self.epsilon, 0)
            if not beyond.any():
                continue
            weights = np.ones((1, len(tau)))
            for sign, atom in zip(signs, atoms.T, strict=True):
                longer = np.zeros((len(weights) + 1, len(tau)))
                longer[:-1] += weights * atom
                longer[1:] += weights * sign / 2
                weights = longer
            terms = weights * _integrals(beyond, len(weights))
            total += terms.sum(axis=0)
            size += np.abs(terms).sum(axis=0)
        scale = 2 * np.exp(self.epsilon / 2 - tau.sum(axis=1) / 2) / (2 * (1 - q)) ** tau.shape[1]
        finite = scale * (np.maximum(total, 0) + 1e-13 * size)
        hazard = np.exp(log_exit(differences, self.alpha, self.bound)).sum(axis=1)
        with np.errstate(divide="ignore"):
            return np.log(np.minimum(finite - np.expm1(-hazard), 1.0))


def _integrals(y: Floats, count: int) -> Floats:
    """I^j sinh(y/2), j from 0: a row each."""
    rows = np.zeros((count, len(y)))
    terms = int(20 + 2 * float(y.max()))
    for j in range(count):
        term = 0.5 * y ** (j + 1) / math.factorial(j + 1)
        for i in range(terms):
            rows[j] += term
            power = 2 * i + 2 + j
            term = term * y * y / (4 * power * (power + 1))
    return rows


def fits(dimension: int, draws: int, losses: float) -> bool:
    """Whether so many coordinates, and so long losses, can be covered."""
    return dimension <= MOST_DIMENSIONS and draws == 1 and losses <= LONGEST


def largest(corner: Corner, dimension: int, length: float) -> float:
    """A bound on ln δ over all differences of that length."""
    total = length**2
    low, high = _shrunk(np.zeros((1, dimension)), np.full((1, dimension), total), total)
    met = float(corner.log_delta(np.full((1, dimension), length / math.sqrt(dimension)))[0])
    upper = corner.log_delta(np.sqrt(high))
    done, settled = 1, -math.inf
    while done < EVALUATIONS and float(upper.max(initial=-math.inf)) > met + GAP:
        keep = upper > met + GAP / 2
        settled = max(settled, float(upper[~keep].max(initial=-math.inf)))
        low, high, upper = low[keep], high[keep], upper[keep]
        chosen = np.argsort(-upper)[:AT_ONCE]
        new_low, new_high = _cut(low[chosen], high[chosen], total)
        bounds = corner.log_delta(np.sqrt(new_high))
        centres = np.sqrt((new_low + new_high) / 2)
        centres *= length / np.linalg.norm(centres, axis=1, keepdims=True)
        met = max(met, float(corner.log_delta(centres[np.argsort(-bounds)[:64]]).max()))
        done += len(bounds)
        rest = np.ones(len(upper), dtype=bool)
        rest[chosen] = False
        low, high = np.concatenate([low[rest], new_low]), np.concatenate([high[rest], new_high])
        upper = np.concatenate([upper[rest], bounds])
    return max(met, settled, float(upper.max(initial=-math.inf)))


def _cut(low: Floats, high: Floats, total: float) -> tuple[Floats, Floats]:
    """Every box in two, across its widest side."""
    rows = np.arange(len(low))
    widest = np.argmax(np.sqrt(high) - np.sqrt(low), axis=1)
    middle = ((np.sqrt(low[rows, widest]) + np.sqrt(high[rows, widest])) / 2) ** 2
    first, second = high.copy(), low.copy()
    first[rows, widest], second[rows, widest] = middle, middle
    return _shrunk(np.concatenate([low, second]), np.concatenate([first, high]), total)


def _shrunk(low: Floats, high: Floats, total: float) -> tuple[Floats, Floats]:
    """Boxes without what is not in falling order or does not add up; those where nothing is left are gone."""
    slack = 1e-12 * total
    for _ in range(3):
        high = np.minimum.accumulate(high, axis=1)
        low = np.maximum.accumulate(low[:, ::-1], axis=1)[:, ::-1]
        high = np.minimum(high, total - (low.sum(axis=1, keepdims=True) - low) + slack)
        low = np.maximum(low, total - (high.sum(axis=1, keepdims=True) - high) - slack)
    full = ~(low > high + slack).any(axis=1)
    low, high = np.maximum(low[full], 0.0), high[full]
    return low, np.maximum(high, low)
