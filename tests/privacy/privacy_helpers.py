"""What the tests of the mathematics share: differences, and δ(ε) by brute force."""

import math
from typing import Protocol

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trlap.privacy.composition import paper_log_delta

Floats = NDArray[np.float64]

LN10 = math.log(10)
# ln 4^-300
PAPER = paper_log_delta(300)
# the longest difference at C = 1, evenly spread
EVEN = np.full(300, 2 / math.sqrt(300))
UNEVEN = np.random.default_rng(20240611).normal(size=300)
UNEVEN *= 2 / np.linalg.norm(UNEVEN)

few = settings(max_examples=10, deadline=None)
many = settings(max_examples=100, deadline=None)
epsilons = st.floats(0.01, 20)
log_deltas = st.floats(-500, -0.8)


class Law(Protocol):
    """A law on the line, by scipy's names."""

    def cdf(self, x: Floats) -> Floats: ...

    def ppf(self, u: Floats) -> Floats: ...

    def logpdf(self, x: Floats) -> Floats: ...


def brute_force(epsilon: float, s: list[float], noise: Law, ends: float = math.inf) -> float:
    """δ(ε) = E[(1 − e^{ε−L})₊] by the midpoint rule in probability space: no knowledge of L's law.

    Cells end where a density may have a kink: at 0, at the shift and at the ends of its support.
    """
    cells = {1: 200_000, 2: 1500, 3: 160}[len(s)]
    loss, weight = np.zeros(()), np.ones(())
    for t in s:
        kinks = noise.cdf(np.array([0, t, t - ends, t + ends]))
        edges = np.unique(np.concatenate([np.linspace(0, 1, cells + 1), kinks]))
        x = noise.ppf((edges[1:] + edges[:-1]) / 2)
        loss = loss[..., None] + (noise.logpdf(x) - noise.logpdf(x - t))
        weight = weight[..., None] * np.diff(edges)
    return float((weight * np.maximum(0, -np.expm1(epsilon - loss))).sum())
