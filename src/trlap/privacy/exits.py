"""Where bounded noise tells two words apart for certain: a coordinate that the other word cannot have."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from trlap.privacy.numerics import Floats, log_hazard_of, minimise


def log_exit_of_any(difference: ArrayLike, alpha: float, bound: float) -> float:
    """ln Σ_j G(|s_j|), G(t) = −ln(1 − p(t)) with the p of `log_exit`: what the infinite loss is made of."""
    if math.isinf(bound):
        return -math.inf
    return float(special.logsumexp(log_exit(difference, alpha, bound)))


def log_exit(shift: ArrayLike, alpha: float, bound: float) -> Floats:
    """ln(−ln(1 − p(t))) of a coordinate shifted by t, with αB = 2(1 − e^{−αA}) and

        p(t) = (e^{−α(A−|t|)} − e^{−αA})/αB             for |t| ≤ A
        p(t) = 1 − (e^{−α(|t|−A)} − e^{−αA})/αB         for A < |t| < 2A,   1 beyond

    the probability that the coordinate falls where the other word's cannot.
    """
    t = np.abs(np.asarray(shift, dtype=np.float64))
    if math.isinf(bound):
        return np.full_like(t, -math.inf)
    log_alpha_B = math.log(-2 * math.expm1(-alpha * bound))
    near, far = np.minimum(t, bound), np.clip(t, bound, 2 * bound)
    with np.errstate(divide="ignore"):
        log_p = alpha * (near - bound) + np.log(-np.expm1(-alpha * near)) - log_alpha_B
        log_stay = (
            alpha * (bound - far) + np.log(-np.expm1(alpha * (far - 2 * bound))) - log_alpha_B
        )
        return np.where(t <= bound, log_hazard_of(log_p), np.log(-log_stay))


def largest_hazard(alpha: float, bound: float, dimension: int, length: float) -> float:
    """A bound on `log_exit_of_any` over every difference of that length.

    Where A is at least the length, the largest has one coordinate t₁ and d − 1 equal ones (proven in
    `TruncatedLaplaceNoise.worst_direction`). G rises, so in a cell of t₁ the sum is at most G at the
    upper end of t₁ and at the upper end of the others; cells that may hold the largest are cut again
    until that is within 1e-7 of a value that occurs. Elsewhere, for every κ, ΣG(t_j) ≤ κ‖s‖² +
    d max (G(t) − κt²), and in a cell of t the maximum is at most G at its upper end less κt² at the lower.
    """
    if dimension == 1 or length >= 2 * bound:
        return float(log_exit(length, alpha, bound))
    if bound < length:
        return _dual_hazard(alpha, bound, dimension, length)

    def log_sum(first: Floats, other: Floats) -> Floats:
        """With t₁² = `first` and the others from a first of t₁² = `other`."""
        rest = np.sqrt(np.maximum(length**2 - other, 0) / (dimension - 1))
        one, equal = (log_exit(t, alpha, bound) for t in (np.sqrt(first), rest))
        return np.asarray(np.logaddexp(one, math.log(dimension - 1) + equal))

    # by the angle to the axis, as near it a tiny angle matters
    edges = length**2 * np.cos(np.linspace(math.acos(1 / math.sqrt(dimension)), 0, 2001)) ** 2
    low, high = edges[:-1], edges[1:]
    settled, met = -math.inf, -math.inf
    for _ in range(60):
        upper = log_sum(high, low)
        met = max(met, float(log_sum(high, high).max()), float(log_sum(low, low).max()))
        keep = upper > met + 1e-7
        settled = max(settled, float(upper[~keep].max(initial=-math.inf)))
        if not keep.any():
            break
        low, high = low[keep], high[keep]
        if len(low) > 200_000:
            settled = max(settled, float(upper[keep].max()))
            break
        middle = length**2 - np.sqrt(
            (length**2 - low) * np.maximum(length**2 - high, 1e-18 * length**2)
        )
        middle = np.where(high - low < 0.01 * (length**2 - low), (low + high) / 2, middle)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    else:
        settled = max(settled, float(log_sum(high, low).max()))
    return max(met, settled)


def _dual_hazard(alpha: float, bound: float, dimension: int, length: float) -> float:
    t = np.concatenate([[0.0], np.geomspace(1e-6 * length / math.sqrt(dimension), length, 20_000)])
    hazard, square = np.exp(log_exit(t, alpha, bound)), t**2

    def total(kappa: float) -> float:
        return kappa * length**2 + dimension * float((hazard[1:] - kappa * square[:-1]).max())

    _, least = minimise(total, 0.0, 4 * dimension * float(hazard[-1]) / length**2)
    return math.log(least)
