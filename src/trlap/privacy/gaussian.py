"""Gaussian noise: exact δ(ε) and ε(δ), the paper's σ and the smallest one."""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from trlap.errors import TrlapError
from trlap.privacy.base import Noise
from trlap.privacy.numerics import smallest

# below this separation the closed form subtracts numbers that are equal to most digits
CLOSE = 1e-6


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Noise):
    """N(0, σ²I). It has no direction: only the l2 distance Δ of two vectors matters, at most 2C."""

    sigma: float
    clip: float

    @classmethod
    def published(cls, epsilon: float, log_delta: float, dimension: int, clip: float) -> Self:
        """σ = √(8 C² ln(1.25/δ))/ε: the paper's Gaussian theorem, after Dwork & Roth 2014, Theorem A.1.

        Stated for ε ≤ 1. In fact valid up to 8.42 at δ = 1e-5, 8.78 at 1e-6, 16.9 at 4^-300, not
        beyond.
        """
        sigma = clip * math.sqrt(8 * (math.log(1.25) - log_delta)) / epsilon
        return cls(sigma=sigma, dimension=dimension, clip=clip)

    @classmethod
    def calibrate(cls, epsilon: float, log_delta: float, dimension: int, clip: float) -> Self:
        """The smallest σ with δ(ε) ≤ δ, at every ε: the analytic Gaussian of Balle & Wang 2018."""
        if log_delta == -math.inf:
            raise TrlapError(
                "the Gaussian mechanism guarantees nothing at delta 0; raise delta above 0"
            )
        tail = math.sqrt(-2 * log_delta)
        enough = 2 * clip * (tail + math.sqrt(tail**2 + 2 * epsilon)) / (2 * epsilon)
        noise = cls(sigma=enough, dimension=dimension, clip=clip)

        def valid(sigma: float) -> bool:
            return replace(noise, sigma=sigma).log_delta(epsilon) <= log_delta

        return replace(noise, sigma=smallest(valid, 1e-12 * enough, enough))

    @property
    def variance(self) -> float:
        return self.sigma * self.sigma

    def log_delta(self, epsilon: float, difference: ArrayLike | None = None) -> float:
        """ln δ(ε) between vectors at l2 distance Δ, exact at every ε ≥ 0:

            δ(ε) = Φ(a) − e^ε Φ(b),    a = μ/2 − ε/μ,   b = −μ/2 − ε/μ,   μ = √n Δ/σ

        Balle & Wang 2018, Theorem 8. As φ(a) = e^ε φ(b), this is φ(a)(R(−a) − R(−b)) with Mills'
        ratio R(x) = (1 − Φ(x))/φ(x), where nothing underflows or overflows.
        """
        mu = self._separation(difference)
        if mu == 0 or epsilon == math.inf:
            return -math.inf
        if mu < CLOSE:
            return _log_delta_of_close(mu, epsilon / mu)
        a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        log_phi = -a * a / 2 - math.log(2 * math.pi) / 2
        if a > 0:
            complement = float(special.ndtr(-a)) + math.exp(log_phi) * _mills(-b)
            return math.log1p(-complement) if complement < 1 else -math.inf
        # R(x) = 1/x − 1/x³ + …: far out the two ratios share too many digits to be subtracted
        if a < -1e3:
            return log_phi + math.log(mu / (a * b)) + math.log1p(-1 / a**2 - 1 / (a * b) - 1 / b**2)
        return log_phi + math.log(_mills(-a) - _mills(-b))

    def epsilon_at(self, log_delta: float, difference: ArrayLike | None = None) -> float:
        """The smallest ε with δ(ε) ≤ δ, the inverse of `log_delta`; 0 where δ(0) ≤ δ."""
        if self.log_delta(0.0, difference) <= log_delta:
            return 0.0
        if log_delta == -math.inf:
            return math.inf
        mu = self._separation(difference)
        # δ ≤ Φ(a) ≤ e^{−a²/2} for a ≤ 0
        enough = mu * (mu / 2 + math.sqrt(-2 * log_delta))

        def valid(epsilon: float) -> bool:
            return self.log_delta(epsilon, difference) <= log_delta

        return smallest(valid, 1e-12 * enough, enough)

    def _separation(self, difference: ArrayLike | None) -> float:
        """μ = √n Δ/σ, in the worst case √n 2C/σ."""
        distance = 2 * self.clip if difference is None else float(np.linalg.norm(difference))
        return math.sqrt(self.draws) * distance / self.sigma


def _log_delta_of_close(mu: float, middle: float) -> float:
    """ln δ where μ is so small that a and b share too many digits, with m = ε/μ between −a and −b.

    R(m − μ/2) − R(m + μ/2) = −μR′(m) to a relative μ², and −R′(m) = 1 − mR(m), which is 1/m² − 3/m⁴ + …
    """
    log_phi = -((middle - mu / 2) ** 2) / 2 - math.log(2 * math.pi) / 2
    if middle > 1e3:
        return log_phi + math.log(mu) - 2 * math.log(middle) + math.log1p(-3 / middle**2)
    return log_phi + math.log(mu) + math.log1p(-middle * _mills(middle))


def _mills(x: float) -> float:
    """Mills' ratio (1 − Φ(x))/φ(x)."""
    return math.sqrt(math.pi / 2) * float(special.erfcx(x / math.sqrt(2)))
