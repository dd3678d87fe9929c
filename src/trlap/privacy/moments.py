"""Complex moments of a coordinate's loss, and the largest product of them that any difference can have.

A coordinate that is shifted by t, τ = αt, t ≤ A, has finite losses with the moments, q = e^{−αA},

    m_τ(z) = ∫ e^{zℓ} dP = e^{−τ/2} [(1 − q e^τ) cosh λτ + sinh(λτ)/2λ] / (1 − q),   λ = z + 1/2:

a sum of four exponentials of τ. For every difference s of length 2C, and any number κ,

    Σ_j G(τ_j) = κR² + Σ_j (G(τ_j) − κτ_j²) ≤ κR² + d max_τ (G(τ) − κτ²),   R = 2αC,   Στ_j² = R²,

because every term is at most the largest one: weak duality. This is what `Moments.largest` computes, for
G = ln|m(k + iξ)| + η ln m(k). Its maximum over [0, R] is taken over cells. Where f = |m| m(k)^η e^{−κτ²}
is the modulus of a smooth function F, f'' ≥ −|F''| (write F = f e^{iθ}; the real part of F'' e^{−iθ} is
f'' − fθ'²), so that in a cell of width h f is at most its value at one end plus h²/8 sup |F''|.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trlap.privacy.numerics import Floats

Complex = NDArray[np.complex128]

# cells of τ, each a little longer than the one before; a slip in one counts once for every coordinate
CELLS = {0: 800, 100: 1500}
# relative, of the sums of products below
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Powers:
    """|m|, |m'|, |m''| at the nodes of a grid of τ, or over its cells: a row for each order of a moment."""

    value: Floats
    first: Floats
    second: Floats


class Moments:
    """The moments of order k + iξ of one coordinate, for every ξ given and for all ξ beyond the last.

    radius R = 2αC, `cut` q = e^{−αA}, 0 without truncation; A ≥ 2C.
    """

    def __init__(self, order: float, xi: Floats, radius: float, cut: float, dimension: int) -> None:
        self.radius, self.dimension = radius, dimension
        shortest = 1e-3 * radius / math.sqrt(dimension)
        self.cells = max(cells for least, cells in CELLS.items() if dimension >= least)
        self.tau = np.concatenate([[0.0], np.geomspace(shortest, radius, self.cells)])
        z = np.asarray(order + 1j * xi, dtype=np.complex128)
        coefficients, exponents = _exponentials(z, cut)
        beyond = _beyond(order, float(xi[-1]), radius, cut)
        self._coefficients = np.concatenate([coefficients, beyond[None]])
        self._exponents = np.concatenate([exponents, exponents[:1].real + 0j])
        self.at = np.abs(self._sum())
        self.inside = self._over_cells()
        self._log_real = np.log(self.at[0])
        if cut == 0:
            # m(k) is a sum of e^{kτ} and e^{−(k+1)τ} with positive coefficients, and grows
            self._slope, self._bend = (
                np.full(self.cells, order),
                np.full(self.cells, (order + 1) ** 2),
            )
        else:
            least = self._least(self.at[0])
            self._slope = self.inside.first[0] / least
            self._bend = self.inside.second[0] / least

    def largest(self, eta: float) -> Floats:
        """A bound on Σ_j ln|m(k + iξ)| + η ln m(k) over all j and every s, for every ξ, and beyond."""
        with np.errstate(divide="ignore"):
            log_f = np.log(self.at) + eta * self._log_real
        square = self.tau**2
        kappa = _steepness(log_f[:, ::4], square[::4], self.radius**2 / self.dimension)
        log_f -= kappa[:, None] * square
        ends = np.maximum(log_f[:, :-1], log_f[:, 1:])
        width = np.diff(self.tau)
        bend = width**2 / 8 * self._curvature(eta, kappa)
        top = (np.exp(ends) + bend).max(axis=1)
        return kappa * self.radius**2 + self.dimension * (np.log(top) + ROUNDING / self.dimension)

    def _curvature(self, eta: float, kappa: Floats) -> Floats:
        """sup |F''| over every cell, F = m v with v = m(k)^η e^{−κτ²}:

        |F''| ≤ v (|m''| + 2|m'||v'/v| + |m||v''/v|),  v'/v = ηg' − 2κτ,  v''/v = (v'/v)² + ηg'' − 2κ,
        with g = ln m(k), |g'| ≤ m'/m and |g''| ≤ m''/m + (m'/m)².
        """
        low, high, steep = self.tau[:-1], self.tau[1:], np.abs(kappa)[:, None]
        slope = abs(eta) * self._slope + 2 * steep * high
        bend = slope**2 + abs(eta) * (self._bend + self._slope**2) + 2 * steep
        g = eta * self._log_real
        log_v = np.maximum(g[:-1], g[1:]) + abs(eta) * self._slope * (high - low)
        log_v = log_v - np.where(
            kappa[:, None] > 0, kappa[:, None] * low**2, kappa[:, None] * high**2
        )
        inside = self.inside
        total = inside.second + 2 * inside.first * slope + inside.value * bend
        with np.errstate(over="ignore"):
            # beyond what a float holds it is endless, and there is no bound
            return np.asarray(np.exp(log_v) * total)

    def _sum(self) -> Complex:
        terms = [
            self._coefficients[:, i, None] * np.exp(self._exponents[:, i, None] * self.tau)
            for i in range(self._coefficients.shape[1])
        ]
        return np.asarray(sum(terms))

    def _over_cells(self) -> Powers:
        """Bounds of |m|, |m'|, |m''| over every cell, term by term."""
        sizes = [np.zeros((len(self._coefficients), self.cells)) for _ in range(3)]
        for i in range(self._coefficients.shape[1]):
            rise = self._exponents[:, i].real[:, None]
            # the growth depends on k alone, which all rows share
            growth = np.exp(np.maximum(rise[:1] * self.tau[:-1], rise[:1] * self.tau[1:]))
            size = np.abs(self._coefficients[:, i])[:, None]
            power = np.abs(self._exponents[:, i])[:, None]
            for sum_of, weight in zip(sizes, (size, size * power, size * power**2), strict=True):
                sum_of += weight * growth
        return Powers(*sizes)

    def _least(self, real: Floats) -> Floats:
        """m(k) is at least this in a cell; where a cell is too long to tell, so little that no bound results."""
        fall = self.inside.first[0] * np.diff(self.tau)
        return np.maximum(np.maximum(real[:-1], real[1:]) - fall, 1e-30 * real[:-1])


def _exponentials(z: Complex, cut: float) -> tuple[Complex, Complex]:
    """Coefficients and exponents of τ in m, a row for each z; two are 0 without truncation."""
    turn, flat = 1 / (4 * z + 2), np.full_like(z, -cut / 2)
    coefficients, exponents = [0.5 + turn, 0.5 - turn], [z, -z - 1]
    if cut > 0:
        coefficients, exponents = [*coefficients, flat, flat], [*exponents, z + 1, -z]
    return np.stack(coefficients, axis=1) / (1 - cut), np.stack(exponents, axis=1)


def _beyond(order: float, xi: float, radius: float, cut: float) -> Complex:
    """Coefficients, with the exponents of ξ = 0, of a bound on |m(k + iζ)| for all ζ ≥ ξ.

    With c = 1/2|λ|, S = sinh aτ, C = cosh aτ, a = k + 1/2, y = sin² ζτ and p = 1 − q e^τ,

        p|cosh λτ| + c|sinh λτ| = p√(C² − y) + c√(S² + y) ≤ pC − py/2C + cS + c√y ≤ pC + cS + c²C/2p,

    and at most pC + cC anyway.
    """
    c = 1 / (2 * math.hypot(order + 0.5, xi))
    stays = 1 - cut * math.exp(radius) if cut > 0 else 1.0
    extra = min(c, c * c / (2 * stays)) if stays > 0 else c
    bounds = [0.5 * (1 + extra + c), 0.5 * (1 + extra - c)]
    if cut > 0:
        bounds += [-cut / 2, -cut / 2]
    return np.asarray(bounds, dtype=np.complex128) / (1 - cut)


def _steepness(log_f: Floats, square: Floats, mean: float) -> Floats:
    """For every row the κ that makes κ·mean + max(log_f − κτ²) small; any would be valid."""
    reach = 4 * float(np.abs(log_f[np.isfinite(log_f)]).max()) / mean + 1
    low, high = np.full(len(log_f), -reach), np.full(len(log_f), reach)
    for _ in range(36):
        kappa = (low + high) / 2
        left = square[np.argmax(log_f - kappa[:, None] * square, axis=1)] < mean
        high, low = np.where(left, kappa, high), np.where(left, low, kappa)
    return np.asarray((low + high) / 2)
