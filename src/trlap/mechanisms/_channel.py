"""The channel of a word mechanism, Q(y|w), and what two of its rows tell.

For two laws P and Q over the same outputs, from their logarithms,

    δ(ε) = Σ_y (P(y) − e^ε Q(y))₊        ε(δ) = the smallest ε with δ(ε) ≤ δ,

exactly: this is the hockey-stick divergence, and nothing is sampled.
"""

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]


class Channel(Protocol):
    """Who knows Q(y|w)."""

    def log_probabilities(self, words: Tensor) -> Tensor:
        """ln Q(y|w), exactly, in float64: a row for each word, a column for each y."""


def losses(p: Floats, q: Floats) -> Floats:
    """ln P(y)/Q(y) of every output from the logarithms; −inf where neither has it."""
    with np.errstate(invalid="ignore"):
        return np.where(p > -np.inf, p - q, -np.inf)


def row_log_delta(p: Floats, q: Floats, epsilon: float) -> float:
    """ln Σ_y (P(y) − e^ε Q(y))₊ from ln P and ln Q; losses within rounding of ε count as ε."""
    loss = losses(p, q)
    above = loss > epsilon * (1 + 1e-12) + 1e-12
    if not above.any():
        return -math.inf
    terms = p[above] + np.log(-np.expm1(epsilon - loss[above]))
    return min(0.0, float(np.logaddexp.reduce(terms)))


def row_epsilon(p: Floats, q: Floats, log_delta: float) -> float:
    """The smallest ε ≥ 0 with Σ_y (P(y) − e^ε Q(y))₊ ≤ δ; at δ = 0 that is the largest loss."""
    low, high = 0.0, float(losses(p, q).max())
    if log_delta == -math.inf:
        return max(low, high)
    if high <= 0 or row_log_delta(p, q, 0.0) <= log_delta:
        return 0.0
    if math.isinf(high):
        finite = losses(p, q)
        high = float(np.max(finite, where=np.isfinite(finite), initial=0.0))
        if row_log_delta(p, q, high) > log_delta:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if row_log_delta(p, q, middle) > log_delta:
            low = middle
        else:
            high = middle
    return high
