"""Logarithms of probabilities that are no floats, and the search for the smallest valid number."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

Floats = NDArray[np.float64]


def log_largest_weight(order: float) -> float:
    """ln k^k/(k + 1)^{k+1}: the largest (1 − e^{−u})₊ e^{−ku} over all u (Canonne, Kamath & Steinke 2020,
    Prop. 12). As k ln k − (k + 1) ln(k + 1) nothing would be left of it for k beyond 1e8.
    """
    return -order * math.log1p(1 / order) - math.log1p(order)


def log1mexp(x: float) -> float:
    """ln(1 − e^x) for x ≤ 0."""
    if x == 0:
        return -math.inf
    return math.log(-math.expm1(x)) if x > -math.log(2) else math.log1p(-math.exp(x))


def log_expm1(x: float) -> float:
    """ln(e^x − 1) for x > 0, also where e^x is no float."""
    return x + log1mexp(-x)


def log_subtract(x: Floats, y: Floats) -> Floats:
    """ln(e^x − e^y) of every pair; −inf where y is not below x."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.where(y < x, y - x, 0.0)
        return x + np.where(gap > -math.log(2), np.log(-np.expm1(gap)), np.log1p(-np.exp(gap)))


def log_hazard_of(log_p: ArrayLike) -> Floats:
    """ln(−ln(1 − p)) from ln p. For independent events they add; p may be no float."""
    log_p = np.asarray(log_p, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.where(log_p < -37, log_p, np.log(-np.log1p(-np.exp(log_p))))


def log_probability_of(log_hazard: float) -> float:
    """ln p from ln(−ln(1 − p))."""
    return log_hazard if log_hazard < -37 else log1mexp(-math.exp(log_hazard))


def smallest(
    valid: Callable[[float], bool], low: float, high: float, tolerance: float = 1e-10
) -> float:
    """The smallest valid x in (low, high], to that relative tolerance, on the valid side.

    Validity must be monotone and `high` valid.
    """
    while high > low * (1 + tolerance):
        middle = math.sqrt(low) * math.sqrt(high)
        if valid(middle):
            high = middle
        else:
            low = middle
    return high


def on_the_safe_side(epsilon: float, curve: Callable[[float], float], log_delta: float) -> float:
    """An ε at which the curve ln δ(ε) has come down to ln δ, where rounding left it a little above.

    Beside a large ε, what is taken off for δ may be less than its last digit.
    """
    step = math.ulp(epsilon)
    while curve(epsilon) > log_delta and math.isfinite(epsilon):
        epsilon, step = epsilon + step, 2 * step
    return epsilon


def minimise(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """(x, f(x)) at a minimum between the two bounds."""
    minimum = optimize.minimize_scalar(function, bounds=(low, high), method="bounded")
    return float(minimum.x), float(minimum.fun)
