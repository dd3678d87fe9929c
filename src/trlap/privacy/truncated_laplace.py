"""Truncated Laplace noise, the paper's: what Theorem 1 claims, what is true, and what would hold."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from trlap.errors import TrlapError
from trlap.privacy.coordinates import CoordinateNoise, coordinate_losses
from trlap.privacy.exits import largest_hazard, log_exit, log_exit_of_any
from trlap.privacy.gaussian import GaussianNoise
from trlap.privacy.laplace import LaplaceNoise
from trlap.privacy.loss_distribution import LossDistribution
from trlap.privacy.numerics import Floats, log_expm1, log_probability_of, minimise, smallest

# above it, ⌈5ε²⌉ is no float
LARGEST_EPSILON = 1e150
PUBLISHED_DUMMY_DIMENSION = {10.0: 500, 20.0: 1700}


@dataclass(frozen=True, kw_only=True)
class TruncatedLaplaceNoise(CoordinateNoise):
    """Density e^{−α|x|}/B on [−A, A] in every coordinate; `bound` is the paper's A."""

    alpha: float
    bound: float

    @classmethod
    def published(
        cls,
        epsilon: float,
        log_delta: float,
        dimension: int,
        clip: float,
        *,
        nominal_dimension: int | None = None,
    ) -> Self:
        """The paper's Theorem 1, with Δ₁ = 2√d C:

            α = ε/Δ₁,   A = −(Δ₁/ε) ln(1 − ε/(2 δ^{1/d} √d)),   B = 2(1 − e^{−αA})/α = 2C/δ^{1/d}

        `nominal_dimension` is the d of these formulas where dummy dimensions are added
        (`dummy_dimension`); the noise has `dimension` coordinates all the same.

        The theorem claims (ε, δ)-DP for ε ≤ 2δ^{1/d}√d (at equality A is infinite: refused here).
        The claim does not hold: one coordinate outside the other word's support tells the two
        apart, so probabilities add over coordinates where the proof multiplies them.
        `log_infinity` is the truth.
        """
        nominal = nominal_dimension or dimension
        limit = theorem_1_limit(log_delta, nominal)
        if epsilon >= limit:
            raise TrlapError(
                f"trlap in dimension {nominal} needs epsilon below 2·delta^(1/d)·sqrt(d)"
                f" = {limit:.4g}, got {epsilon:g}; lower epsilon, raise delta or add dummy dimensions"
            )
        alpha = _rate(epsilon, nominal, clip)
        bound = -math.log1p(-epsilon / limit) / alpha
        return cls(alpha=alpha, bound=bound, dimension=dimension, clip=clip)

    @classmethod
    def calibrate(cls, epsilon: float, log_delta: float, dimension: int, clip: float) -> Self:
        """The smallest A, at α = ε/(2√d C), whose worst δ at ε over ‖s‖₂ ≤ 2C meets δ.

        Infinite (plain Laplace) where δ = 0. The bound on the worst δ is that of `worst_log_infinity`,
        proven for every s. A is kept at 2C or above, where that proof holds; this costs something only
        for δ > 1/2, because one axis alone has δ ≥ 1/2 if A ≤ 2C. In one dimension this is the
        mechanism of Geng et al. 2020, A = (Δ/ε) ln(1 + (e^ε − 1)/2δ).
        """
        alpha = _rate(epsilon, dimension, clip)
        endless = cls(alpha=alpha, bound=math.inf, dimension=dimension, clip=clip)
        if log_delta == -math.inf:
            return endless

        def valid(bound: float) -> bool:
            noise = replace(endless, bound=bound)
            return noise.log_infinity(noise.worst_direction()) <= log_delta

        # at this A, d·p(2C) is δ, and the true δ is at most d·p(2C), but for rounding
        log_ratio = math.log(dimension / 2) + log_expm1(2 * alpha * clip) - log_delta
        enough = max(2 * clip, (1 + 1e-9) * float(np.logaddexp(0, log_ratio)) / alpha)
        found = replace(endless, bound=smallest(valid, 2 * clip, enough))
        step = 1e-9
        while found.worst_log_infinity() > log_delta:
            found, step = replace(found, bound=found.bound * (1 + step)), 2 * step
        return found

    @property
    def normaliser(self) -> float:
        """B = 2(1 − e^{−αA})/α."""
        return -2 * math.expm1(-self.alpha * self.bound) / self.alpha

    @property
    def variance(self) -> float:
        """(2/α²) P(3, αA)/(1 − e^{−αA}), P(3, y) = 1 − e^{−y}(1 + y + y²/2).

        P is the regularised lower incomplete gamma function. The variance is A²/3 (uniform) where
        αA → 0, and Laplace's 2/α² where αA → ∞.
        """
        y = self.alpha * self.bound
        if y < 1e-9:
            return self.bound * self.bound / 3
        return float(2 / self.alpha / self.alpha * special.gammainc(3, y) / -math.expm1(-y))

    def cdf(self, x: ArrayLike) -> Floats:
        """F(x) = ½ + sign(x) (1 − e^{−α|x|}) / (2(1 − e^{−αA})) on [−A, A]."""
        x = np.clip(x, -self.bound, self.bound)
        half = np.expm1(-self.alpha * np.abs(x)) / (2 * math.expm1(-self.alpha * self.bound))
        return np.asarray(0.5 + np.sign(x) * half)

    def quantile(self, u: ArrayLike) -> Floats:
        """F⁻¹(u) = −sign(v) ln(1 − (1 − e^{−αA})|v|)/α with v = 2u − 1, u in [0, 1].

        Keeps its digits where αA is tiny and the law nearly uniform.
        """
        v = 2 * np.asarray(u, dtype=np.float64) - 1
        # where e^{−αA} is lost, the ends are cut to ±A
        with np.errstate(divide="ignore"):
            x = -np.log1p(math.expm1(-self.alpha * self.bound) * np.abs(v)) / self.alpha
        return np.copysign(np.minimum(x, self.bound), v)

    @property
    def largest_loss(self) -> float:
        return self.draws * self.alpha * 2 * math.sqrt(self.dimension) * self.clip

    def losses(self, difference: ArrayLike) -> LossDistribution:
        return coordinate_losses(difference, self.alpha, self.bound, self.draws)

    def log_hazard(self, difference: ArrayLike) -> float:
        """ln(−ln(1 − p)) of one draw, p the probability of an infinite loss: what δ rises with."""
        return log_exit_of_any(difference, self.alpha, self.bound)

    def log_infinity(self, difference: ArrayLike) -> float:
        """ln δ at the mechanism's own ε = αΔ₁, for the difference s over the real coordinates:

            δ = 1 − Π_j (1 − p(s_j))

        with the p of `log_exit`, the probability that a coordinate falls where the other word's
        cannot. So δ is the mass of the infinite loss; all other losses are at most α‖s‖₁. Exact
        therefore at every ε ≥ n α‖s‖₁, which clipping ensures for one draw at the own ε; a lower
        bound at smaller ε, and at the own ε where vectors were not clipped.
        """
        return log_probability_of(self.log_hazard(difference) + math.log(self.draws))

    @property
    def rate(self) -> float:
        return self.alpha

    @property
    def limit(self) -> float:
        return self.bound

    def worst_log_infinity(self) -> float:
        """ln of the largest mass of the infinite loss, bounded from above for every s with ‖s‖₂ ≤ 2C.

        By the proof of `worst_direction` where A ≥ 2C, and by duality, which needs none, elsewhere
        (`exits.largest_hazard`).
        """
        if math.isinf(self.bound):
            return -math.inf
        hazard = largest_hazard(self.alpha, self.bound, self.dimension, 2 * self.clip)
        return log_probability_of(hazard + math.log(self.draws))

    def worst_direction(self) -> Floats:
        """The s with ‖s‖₂ ≤ 2C, over the real coordinates, of the largest δ at the mechanism's own ε.

        δ rises with ΣG(|s_j|), G(t) = −ln(1 − p(t)). G rises, so the worst s has length 2C. For
        t ≤ A, G′(t) = α/(κe^{−αt} − 1) with κ = 2e^{αA} − 1, and (ln G′(t)/t)′ = α/(1 − e^{αt}/κ) −
        1/t rises from −∞: as a function of t², G is concave up to some t*, convex from there on, and
        infinitely steep at 0. At a maximum, coordinates below t* are therefore equal, at most one is
        above t* (two would gain by moving apart) and none is 0: one t₁ and d − 1 equal ones. Proven
        for A ≥ 2C.

        The best t₁ in [2C/√d, 2C] is scanned (4,001 points, then refined). It is 2C/√d, the even
        spread, where t* ≥ 2C: so for every published A at δ = 4^-d, dummy dimensions or not.
        """
        dimension, longest = self.dimension, 2 * self.clip
        if dimension == 1:
            return self.even_spread()

        def at_angle(angle: Floats | float) -> tuple[Floats, Floats]:
            """t₁ and the d − 1 equal coordinates that, with it, have norm 2C."""
            return longest * np.cos(angle), longest * np.sin(angle) / math.sqrt(dimension - 1)

        def log_total(angle: Floats | float) -> Floats:
            first, rest = (log_exit(t, self.alpha, self.bound) for t in at_angle(angle))
            return np.logaddexp(first, math.log(dimension - 1) + rest)

        # by the angle to the axis: near it a tiny angle is enough for coordinates that matter
        grid = np.arccos(np.linspace(1 / math.sqrt(dimension), 1, 4001))
        best = int(np.argmax(log_total(grid)))
        if best == 0:
            return self.even_spread()
        around = grid[best - 1 : best + 2]
        refined, _ = minimise(lambda x: -float(log_total(x)), float(around[-1]), float(around[0]))
        angle = max(float(grid[best]), refined, key=lambda x: float(log_total(x)))
        first, rest = at_angle(angle)
        return np.append(np.full(dimension - 1, rest), first)

    def _candidates(self) -> Iterator[Floats]:
        yield from super()._candidates()
        if math.isfinite(self.bound):
            yield self.worst_direction()


def _rate(epsilon: float, dimension: int, clip: float) -> float:
    """α = ε/Δ₁, which must be a number that can be divided by."""
    alpha = epsilon / (2 * math.sqrt(dimension) * clip)
    if alpha < 1e-300:
        raise TrlapError(f"epsilon={epsilon:g}: too small to compute with; raise epsilon")
    return alpha


def theorem_1_limit(log_delta: float, dimension: int) -> float:
    """2 δ^{1/d} √d, below which Theorem 1 takes ε."""
    return 2 * math.exp(log_delta / dimension) * math.sqrt(dimension)


def dummy_dimension(epsilon: float, real_dimension: int) -> int:
    """The dimension, dummies included, at which Theorem 1's condition holds for δ = 4^-d: ε < √d/2.

    The real one where that suffices, else the paper's 500 (ε = 10) and 1700 (ε = 20), else ⌈5ε²⌉.
    The trick gives no privacy: dummy coordinates have the same law for every word. Enlarging d to D
    with δ = 4^-D *is* the real mechanism at ε√(d/D) with δ = 4^-d, which never passes √d/2.
    """
    if epsilon < math.sqrt(real_dimension) / 2:
        return real_dimension
    if epsilon > LARGEST_EPSILON:
        raise TrlapError(
            f"epsilon={epsilon:g}: the paper's dummy dimensions, 5·epsilon², are too many to compute "
            "with; lower epsilon, or write epsilon=inf for no noise"
        )
    return PUBLISHED_DUMMY_DIMENSION.get(epsilon, math.ceil(5 * epsilon**2))


def published_variances(
    epsilon: float, log_delta: float, dimension: int, clip: float
) -> tuple[float, float, float]:
    """A coordinate's variance in the published (Gaussian, Laplace, truncated Laplace): Theorem 2.

    Its order, the last the smallest, is stated for δ ≤ e^-d. Outside it can fail (d = 10, δ = 0.1,
    ε = 4.9: 2.443C² against the Gaussian's 0.842C²), and it compares an A too small for its claim.
    """
    truncated = TruncatedLaplaceNoise.published(epsilon, log_delta, dimension, clip)
    gaussian = GaussianNoise.published(epsilon, log_delta, dimension, clip)
    laplace = LaplaceNoise.published(epsilon, dimension, clip)
    return gaussian.variance, laplace.variance, truncated.variance
