"""δ(ε) of (truncated) Laplace noise bounded from above for every difference of length 2C at once.

For one difference s the loss distribution is known (`coordinates`); which s of length 2C is the worst
is not. Let P be the law of the finite losses of all n draws, and m the moments of one coordinate
(`moments`). For every order k > 0, with w(u) = (1 − e^{−u})₊ e^{−ku}, whose Fourier transform has the
modulus |ŵ(ξ)| = 1/√((k² + ξ²)((k + 1)² + ξ²)), Fourier inversion gives

    δ(s) = e^{−kε} ∫ e^{kℓ} w(ℓ − ε) dP ≤ e^{−kε} (1/π) ∫₀^∞ |ŵ(ξ)| Π_j |m_{τ_j}(k + iξ)|ⁿ dξ.

For each ξ the product is at most what `Moments.largest` says, whatever s is. That alone is a bound
for every s. It is sharpened by dividing the differences into classes, by how far D = ln M_max − ln M_s
their real moment M_s = Π m_{τ_j}(k)ⁿ is below the largest: inside a class D₀ ≤ D ≤ D₁ the product is at
most M_max e^{−D₀}, and by duality, for every η > 0,

    n Σ ln|m(k + iξ)| ≤ n max Σ (ln|m(k + iξ)| + η ln m(k)) − η(ln M_max − D₁),
    n Σ ln|m(k + iξ)| ≤ n max Σ (ln|m(k + iξ)| − η ln m(k)) + η(ln M_max − D₀).

Every s is in one class, so the largest bound of a class bounds all. In any class δ(s) is also at most
M_max e^{−D₀−kε} k^k/(k + 1)^{k+1}, as w is at most that: the Rényi bound.

The integral is a sum over cells. For one s the integrand is the modulus of the Fourier transform of a
positive measure of mass M_s ŵ(0) whose variance is at most V = nR² + 1/k² + 1/(k + 1)², since a loss
of a coordinate is within ±τ and U with density ∝ w is a sum of exponentials of rates k and k + 1. Its
second derivative is therefore at least −V M_s ŵ(0) (as in `moments`), and the trapezoidal rule errs by
at most h³ V M_s ŵ(0)/12 in a cell of width h. Where h is large beside k, only the product is treated
so, with nR² in place of V, and |ŵ|, which falls, is taken at the left end.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from trlap.privacy.moments import Moments
from trlap.privacy.numerics import Floats, log_largest_weight, minimise

# edges of the classes; in the last one the Rényi bound is enough
CLASSES = (0.0, 0.03, 0.06, 0.12, 0.25, 0.5, 0.75, 1.0, 1.4)
WEIGHTS = (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
# e^x with a larger x is no float
LARGEST_EXPONENT = 300.0
SMALLEST_ORDER = 1e-2
# orders that are tried for an ε, and how far apart they are as logarithms
ROUNDS = 3
GRID = 0.05


@dataclass(frozen=True)
class EveryDirection:
    """n draws of noise e^{−α|x|} on [−A, A] in each of d coordinates, differences of length `reach` ≤ A."""

    alpha: float
    bound: float
    dimension: int
    reach: float
    draws: int

    @property
    def radius(self) -> float:
        """R = α‖s‖₂."""
        return self.alpha * self.reach

    def log_delta(self, epsilon: float) -> float:
        """ln of a bound on what finite losses add to δ(ε), for every s; 0 at most.

        Every one is valid, but they need not fall with ε: its order is taken from a grid.
        """
        order = self._order_for(epsilon)
        return min(0.0, self.log_constant(order) - order * epsilon, self.log_renyi(epsilon))

    def epsilon_at(self, log_delta: float) -> float:
        """An ε ≥ 0 at which `log_delta` meets δ, and hardly any smaller one does."""
        order = self._best_order(lambda k: (self._log_renyi(k) - log_delta) / k)
        least = (self._log_renyi(order) - log_delta) / order
        order = self._best_order(lambda k: (self._estimate(k) - log_delta) / k)
        guess = (self._estimate(order) - log_delta) / order
        for _ in range(ROUNDS):
            order, before = self._order_for(max(guess, 0.0)), least
            least = min(least, (self.log_constant(order) - log_delta) / order)
            if not 0 < least < before * (1 - 1e-3):
                break
            guess = least
        least = max(0.0, least)
        # what another order proved
        while (excess := self.log_delta(least) - log_delta) > 0:
            least += 1.01 * excess / self._order_for(least) + 1e-12 * self.radius
        return least

    def log_renyi(self, epsilon: float) -> float:
        """The Rényi bound alone, at its best order."""
        order = self._best_order(lambda k: self._log_renyi(k) - k * epsilon)
        return self._log_renyi(order) - order * epsilon

    def log_constant(self, order: float) -> float:
        """ln K with δ(ε) ≤ K e^{−kε} for every s and every ε: the Fourier bound of order k."""
        return _log_constant(self, order)

    def _log_renyi(self, order: float) -> float:
        """The same by the Rényi bound, from the moments of Laplace noise.

        With λ = k + 1/2 and g = ln m(k), g′(τ)/τ = (λ² − 1/4)/(λτ coth λτ + τ/2) falls in τ. So g
        is concave in τ², and Σg under Στ² = R² is largest where all coordinates are equal. Truncated
        noise has moments at most 1/(1 − e^{−αA}) times those.
        """
        lam, tau = order + 0.5, self.radius / math.sqrt(self.dimension)
        x = lam * tau
        g = x - tau / 2 + math.log1p(math.expm1(-2 * x) * (0.5 - 1 / (4 * lam)))
        coordinates = self.dimension * self.draws
        cut = math.log1p(-math.exp(-self.alpha * self.bound))
        return coordinates * (g - cut) + log_largest_weight(order)

    def _estimate(self, order: float) -> float:
        """About `log_constant`: of normal losses. It only chooses an order."""
        variance = self.draws * self.radius**2 + 1 / order**2 + 1 / (order + 1) ** 2
        ratio = -math.log(order * (order + 1)) - math.log(2 * math.pi * variance) / 2
        return self._log_renyi(order) - log_largest_weight(order) + ratio

    def _order_for(self, epsilon: float) -> float:
        """On a grid: near the best order all are alike, and what was computed once is not computed again."""
        order = self._best_order(lambda k: self._estimate(k) - k * epsilon)
        return math.exp(GRID * round(math.log(order) / GRID))

    def _best_order(self, cost: Callable[[float], float]) -> float:
        high = math.log(LARGEST_EXPONENT / self.radius)
        x, _ = minimise(lambda x: cost(math.exp(x)), math.log(SMALLEST_ORDER), max(high, 0.0))
        return math.exp(x)


@lru_cache(maxsize=256)
def _log_constant(noise: EveryDirection, order: float) -> float:
    if order * noise.radius > LARGEST_EXPONENT:
        return math.inf
    deviation = math.sqrt(noise.draws) * noise.radius
    spread = deviation**2 + 1 / order**2 + 1 / (order + 1) ** 2
    near = np.linspace(0, 6 / math.sqrt(spread), 101)
    xi = np.append(near, np.arange(near[-1] + 0.15 / deviation, 60 / deviation, 0.15 / deviation))
    cut = math.exp(-noise.alpha * noise.bound)
    moments = Moments(order, xi, noise.radius, cut, noise.dimension)
    sums = {eta: noise.draws * moments.largest(eta) for eta in WEIGHTS}
    top = float(sums[0.0][0])
    sup = log_largest_weight(order)
    totals = [top - CLASSES[-1] + sup]
    for near_top, far in pairwise(CLASSES):
        products = np.full(len(xi) + 1, -near_top)
        for eta, bound in sums.items():
            limit = far if eta > 0 else near_top
            products = np.minimum(products, bound - top - eta * (top - limit))
        fourier = top + math.log(_integral(order, xi, np.exp(products), deviation, near_top))
        totals.append(min(fourier, top - near_top + sup))
    return max(totals)


def _integral(order: float, xi: Floats, products: Floats, deviation: float, below: float) -> float:
    """A bound on (1/π) ∫ |ŵ| times the products, which are at most e^`below`⁻¹; the last is of all ξ beyond."""
    weight = 1 / np.sqrt((order**2 + xi**2) * ((order + 1) ** 2 + xi**2))
    inside, h, mass = products[:-1], np.diff(xi), math.exp(-below)
    spread = deviation**2 + 1 / order**2 + 1 / (order + 1) ** 2
    both = weight * inside
    whole = h * (both[:-1] + both[1:]) / 2 + h**3 / 12 * spread * mass * weight[0]
    apart = weight[:-1] * (h * (inside[:-1] + inside[1:]) / 2 + h**3 / 12 * deviation**2 * mass)
    tail = float(products[-1]) * math.atan(order / float(xi[-1])) / order
    return (float(np.minimum(whole, apart).sum()) + tail) / math.pi
