"""The canonical guarantee of metric-DP noise: exact δ(ε') and ε'(δ) of the multivariate Laplace.

Noise with density ∝ e^{−ε‖z‖₂} in d dimensions promises ε·‖x − x'‖ (metric DP: Feyisetan et al.
2020; it follows from the triangle inequality and is tight). Two inputs at distance s therefore
have the pure ε_max = a = ε·s. Below it, with a δ > 0,

    δ(ε') = E[(1 − e^{ε'−L})₊],     L = ε(‖z + s‖ − ‖z‖) = √(r² + 2rac + a²) − r

where r = ε‖z‖ ~ Gamma(d, 1) and c, the cosine between z and s, has density ∝ (1 − c²)^{(d−3)/2}:
only a and d matter. In many dimensions c is close to 0 and r to d, so that L is nearly
N(a²/2d, a²/d) while a is well below d, and a is far more than a realistic δ costs: at d = 300,
C = 1 and δ = 1e-6, ε' is 0.46 for ε = 1 (a = 2), 5.63 for ε = 10 (a = 20) and 104 for ε = 100
(a = 200).

**δ grows with the distance**, so the largest distance is the worst case. Proof: write u for the
direction of s and A = {z : ‖z + su‖ − ‖z‖ > ε'/ε} for the best event at distance s. Every z in A
is nearer to 0 than to −su, so (z + su)·u > 0, and moving the second centre on to −s'u, s' > s,
takes it further from all of A:

    δ_{s'} ≥ P(A) − e^{ε'} P_{s'}(A) ≥ P(A) − e^{ε'} P_s(A) = δ_s.

Only that the density falls with ‖z‖ was used. The pair (P, Q) is also symmetric: exchanging the
two inputs reflects the noise and gives the same δ.

Everything is in logarithms: ln δ is exact where δ itself is no float any more.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from trlap.errors import TrlapError
from trlap.privacy.base import Noise
from trlap.privacy.loss_distribution import LossDistribution
from trlap.privacy.numerics import Floats, smallest

# Gauss–Legendre nodes and weights on (0, 1)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)
NODES, WEIGHTS = (1 + NODES) / 2, WEIGHTS / 2
# what is e^-50 of the largest value is left out of an integral
DROP = 50.0
# where the exact curve of one draw is read for a composition
POINTS = 120
# products that are taken for infinite, as nothing can be told of them
LARGE = 1e100
# the part of δ that may be lost beyond the last of them
LOST = 1e-4


@dataclass(frozen=True, kw_only=True)
class BallLaplaceNoise(Noise):
    """Density ∝ e^{−`rate`·‖z‖₂}. Two vectors are at most `reach` apart in the noise's own norm.

    That is 2C where the norm is that of the clipped vectors, and 2C times the largest stretch where
    they are projected or whitened first. A difference is passed as it is then, in the noise's own
    coordinates; only its length matters.
    """

    rate: float
    reach: float

    @classmethod
    def calibrate(
        cls,
        epsilon: float,
        log_delta: float,
        dimension: int,
        clip: float,
        *,
        stretch: float = 1.0,
    ) -> Self:
        """The largest rate with δ(ε) ≤ δ at the reach 2C·`stretch`; ε/reach, the pure one, at δ = 0.

        The worst distance is the largest, and δ grows with rate × distance (proven above), so
        bisection finds it. In one dimension it is (ε − 2 ln(1 − δ))/reach.
        """
        reach = 2 * clip * stretch
        # of the pure noise, rate × reach is ε, and must not pass it by rounding
        enough = reach / epsilon
        while 1 / enough * reach > epsilon:
            enough = math.nextafter(enough, math.inf)
        pure = cls(rate=1 / enough, reach=reach, dimension=dimension)
        if log_delta == -math.inf:
            return pure
        if log_delta >= 0:
            return replace(pure, rate=math.inf)

        def valid(scale: float) -> bool:
            return replace(pure, rate=1 / scale).log_delta(epsilon) <= log_delta

        too_small = enough
        while valid(too_small):
            too_small /= 2
        return replace(pure, rate=1 / smallest(valid, too_small, enough))

    @property
    def variance(self) -> float:
        """(d + 1)/rate²: the length is Gamma(d, 1/rate), and its square is shared by d coordinates."""
        return (self.dimension + 1) / self.rate / self.rate

    @property
    def pure_epsilon(self) -> float:
        """n·rate·reach, the ε at δ = 0 in the worst case."""
        return self.draws * self.rate * self.reach

    def log_delta(self, epsilon: float, difference: ArrayLike | None = None) -> float:
        """ln δ(ε): exact for one draw, by `ball_log_delta`; an upper bound for more.

        Of more draws, by the curve of one (`LossDistribution.of_curve`). It is read as far as what
        is lost beyond, 1e-4 of δ at most, allows. How far that is depends on δ itself: at first δ of
        one draw stands for it, which is no larger, then the bound that this gives.
        """
        product = self._product(difference)
        single = ball_log_delta(epsilon, product, self.dimension)
        if self.draws == 1 or product in (0.0, math.inf):
            return single
        if epsilon >= self.draws * product:
            return -math.inf
        first = self._losses(product, self._last(product, single)).log_delta(epsilon)
        again = self._losses(product, self._last(product, first)).log_delta(epsilon)
        return min(first, again)

    def epsilon_at(self, log_delta: float, difference: ArrayLike | None = None) -> float:
        """The smallest ε with δ(ε) ≤ δ; of more than one draw, by the upper bound. See `log_delta`."""
        product = self._product(difference)
        if self.draws == 1 or product in (0.0, math.inf):
            return ball_epsilon(log_delta, product, self.dimension)
        last = self._last(product, log_delta)
        # δ(0) of n draws is at most n times that of one
        if last == 0:
            return 0.0
        epsilon = self._losses(product, last).epsilon_at(log_delta)
        return min(epsilon, self.draws * product)

    def _product(self, difference: ArrayLike | None) -> float:
        """rate × distance, all that matters besides the dimension; of the largest distance if none."""
        distance = self.reach if difference is None else float(np.linalg.norm(difference))
        return self.rate * distance

    def _last(self, product: float, log_delta: float) -> float:
        """The ε up to which the curve of one draw is read, so that 1e-4 of δ is lost in n draws."""
        return ball_epsilon(log_delta + math.log(LOST / self.draws), product, self.dimension)

    def _losses(self, product: float, last: float) -> LossDistribution:
        """The losses of all draws; one above `last` is counted as infinite."""

        def curve(epsilon: float) -> float:
            return ball_log_delta(epsilon, product, self.dimension)

        return LossDistribution.of_curve(curve, last, POINTS).compose(self.draws)


def ball_log_delta(epsilon: float, product: float, dimension: int) -> float:
    """ln δ(ε') in d dimensions for two inputs with ε × distance = `product` = a, for ε' ≥ 0.

    −inf from ε' = a on. The relative error of δ is below 1e-9 (d ≤ 10,000, any distance), also where
    δ underflows.
    """
    _check(epsilon, product, dimension)
    if epsilon >= product:
        return -math.inf
    # where squares of a are no floats: nothing is hidden, or the most that any mechanism of this ε loses
    if product > LARGE:
        return 0.0
    if product < 1 / LARGE:
        return math.log(-math.expm1(epsilon - product)) - math.log1p(math.exp(-product))
    # two exponentials: L = a until z passes 0, then falls to −a at −s
    if dimension == 1:
        return math.log(-math.expm1((epsilon - product) / 2))
    return min(0.0, _log_integral(epsilon, product, dimension))


def ball_epsilon(log_delta: float, product: float, dimension: int) -> float:
    """The smallest ε' ≥ 0 with δ(ε') ≤ δ, the inverse of `ball_log_delta`. δ = 0 costs a."""
    _check(0.0, product, dimension)

    def excess(fraction: float) -> float:
        return ball_log_delta(fraction * product, product, dimension) - log_delta

    largest = 1 - 2**-50
    if product in (0.0, math.inf) or log_delta == -math.inf or excess(largest) > 0:
        return product
    if excess(0.0) <= 0:
        return 0.0
    root = float(optimize.brentq(excess, 0.0, largest, xtol=1e-15, rtol=1e-12))
    # the root may lie on either side: where it is on the wrong one, a little more is right
    step = 1e-15
    while excess(root) > 0:
        root = min(largest, root + step)
        step *= 2
    return product * root


def _check(epsilon: float, product: float, dimension: int) -> None:
    if dimension < 1 or not epsilon >= 0 or not product >= 0:
        raise TrlapError(
            f"ε' = {epsilon}, ε × distance = {product}, dimension {dimension}: "
            "the first two must be 0 or more, the third 1 or more"
        )


def _log_integral(e: float, a: float, d: int) -> float:
    """ln ∫∫ (1 − e^{e−L})₊ over the radius (outside) and the angle (inside), by Gauss–Legendre.

    The integrand has one peak in x = ln r. It is found by zooming into a grid, as is the interval
    where the integrand is within e^-50 of it. At r = (a − e)/2 the event stops being the whole
    sphere: a kink in low dimensions, so the interval is cut there, and the nodes crowd
    quadratically towards the cut.
    """
    kink = math.log((a - e) / 2)
    # Below the kink only r^d e^{−r} matters, which at ln d − t has fallen by t²d/3 for t ≤ 1 and by
    # td/3 for larger t; above d + √(2 DROP d) + 2 DROP the tail of Gamma(d) is below e^-DROP.
    wide = 3 * (DROP + 20) / d
    low = min(kink, math.log(d)) - wide - math.sqrt(wide)
    high = math.log(d + math.sqrt(2 * DROP * d) + 2 * DROP)
    for _ in range(4):
        grid = np.linspace(low, high, 64)
        values = _log_radial(grid, e, a, d)
        inside = np.flatnonzero(values > values.max() - DROP)
        low, high = float(grid[max(0, inside[0] - 1)]), float(grid[min(63, inside[-1] + 1)])
    cut = min(max(kink, low), high)
    total = []
    for end in (low, high):
        if end != cut:
            x = cut + (end - cut) * NODES**2
            weights = abs(end - cut) * 2 * NODES * WEIGHTS
            total.append(special.logsumexp(_log_radial(x, e, a, d), b=weights))
    return float(special.logsumexp(total)) - math.lgamma(d) - _log_sphere(d)


def _log_radial(x: Floats, e: float, a: float, d: int) -> Floats:
    """ln of r^d e^{−r} ∫ (1 − e^{e−L})₊ sin^{d−2}θ dθ at r = e^x, not normalised.

    L > e where θ < θ₀, sin²(θ₀/2) = q = (1 + (a + e)/2r)(a − e)/2a, everywhere where q ≥ 1. With
    L − e = 2ra (cos θ − cos θ₀) / (‖z + s‖ + r + e) nothing cancels, near θ₀ or for small a.
    """
    r = np.exp(x)[:, None]
    q = (1 + (a + e) / (2 * r)) * ((a - e) / (2 * a))
    limit = 2 * np.arcsin(np.sqrt(np.minimum(q, 1)))
    # sin^{d−2} leaves little but what is near the limit, or near π/2 if that is inside
    fall = math.exp(-DROP / (d - 2)) if d > 2 else 0.0
    bottom = np.arcsin(fall * np.sin(np.minimum(limit, math.pi / 2)))
    top = np.minimum(limit, math.pi - math.asin(fall))
    theta = top - (top - bottom) * NODES**2  # crowded towards the limit, where the factor sets in
    beyond = 2 * np.sin((limit + theta) / 2) * np.sin((limit - theta) / 2)  # cos θ − cos θ₀
    beyond += 2 * np.maximum(q - 1, 0)
    shifted = np.sqrt((r - a) ** 2 + 4 * r * a * np.cos(theta / 2) ** 2)
    loss = 2 * r * a * beyond / (shifted + r + e)  # L − e
    with np.errstate(divide="ignore"):
        inner = (d - 2) * np.log(np.sin(theta)) + np.log(-np.expm1(-loss))
    weights = (top - bottom) * 2 * NODES * WEIGHTS
    return d * x - r[:, 0] + special.logsumexp(inner, b=weights, axis=1)


def _log_sphere(d: int) -> float:
    """ln ∫₀^π sin^{d−2}θ dθ."""
    return math.log(math.pi) / 2 + math.lgamma((d - 1) / 2) - math.lgamma(d / 2)
