"""The law of the sum of all losses, on a grid by FFT."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft, signal

from trlap.privacy.finite_losses import FiniteLosses, Piece
from trlap.privacy.numerics import Floats, minimise

# the window is laid so that about e^-45 of the tilted mass is outside
OUTSIDE = 45.0
# allows for the tails that pieces cut off and for the FFT, which is good to about 1e-14
ROUNDING = 1e-12
# a law with no more points than this has no need of a window
FEW = 2**13


@dataclass(frozen=True)
class _Window:
    """The losses between `low` and `high`; Chernoff bounds of these orders bound what is outside."""

    low: float
    high: float
    below: float
    above: float


class Convolved:
    """The law of the sum of all losses of n draws, and the δ(ε) of the finite ones.

    `pessimistic=True` bounds δ(ε) from above. Each piece of a coordinate's μ between two grid
    points is split between them so that its mass under P and under Q is kept ("connect the dots",
    Doroshenko et al. 2022). The original is then a garbling of the result, so δ(ε) can only grow,
    also after composition; the error is of second order in the step.

    `pessimistic=False` bounds δ(ε) from below. The constant part of μ is merged in buckets, whose
    common loss is exactly their midpoint (a garbling of the original); what does not fill a bucket
    is rounded down to the grid. Second order where the widths are multiples of the step, else
    first.

    Arrays hold e^{tilt·ℓ} dμ, normalised, the logarithm of the total apart, so that δ = 1e-1000 has
    as many digits as δ = 0.1; any tilt ≥ 1/2 is correct. Indices count steps down from the largest
    loss, which is on the grid exactly. The FFT is circular, over a window: the mass outside, by
    Chernoff's bound for the very arrays convolved, is added to the upper bound and taken off the
    lower, and so is an allowance for rounding. That is 1e-12 of the Chernoff bound on δ at this
    tilt: nothing where the bound is close, much where losses are so rare and so far apart that none
    of those above ε is likely even when tilted.
    """

    def __init__(
        self, finite: FiniteLosses, draws: int, tilt: float, pessimistic: bool, cells: int
    ) -> None:
        self.tilt = tilt
        largest = draws * finite.largest
        window = _window(finite, draws, tilt)
        span = max(window.high - window.low, 2 * finite.widest)
        step = finite.step(span, cells)
        first = int((largest - window.high) / step)
        # each part may reach one step too low
        slack = min(draws * finite.parts, cells)
        size = fft.next_fast_len(int(span / step) + 2 + slack, real=True)

        pieces = list(finite.pieces(step, tilt, pessimistic))
        mass = fft.irfft(_spectrum(pieces, size) ** draws, size)
        self.mass = np.roll(mass, -(first % size))
        self.loss = largest - step * (first + np.arange(size))
        # rises, as a search for a place in it needs
        self.gain = -self.loss
        self.log_mass = draws * sum(piece.count * piece.log_total for piece in pieces)
        error = _outside(pieces, draws, window, step, first, size)
        self.error = error if pessimistic else -error

    def log_delta(self, epsilon: float) -> float:
        """ln of ∫(e^{ℓ/2} − e^{ε−ℓ/2})₊ dμ, in tilted form with u = ℓ − ε > 0; −inf where it is 0."""
        above = self.gain.searchsorted(-epsilon)
        u = self.loss[:above] - epsilon
        # at most 1
        weight = -np.expm1(-u) * np.exp((0.5 - self.tilt) * u)
        total = float(self.mass[:above] @ weight) + self.error
        if total <= 0:
            return -math.inf
        return self.log_mass + (0.5 - self.tilt) * epsilon + math.log(total)


def _window(finite: FiniteLosses, draws: int, tilt: float) -> _Window:
    """Where all but about e^-45 of the tilted mass is, by the best Chernoff bound on either side."""
    largest = draws * finite.largest
    if finite.sums(draws) <= FEW:
        return _Window(low=-largest, high=largest, below=0.0, above=0.0)
    centre = draws * finite.log_mgf(tilt)

    def reach(sign: int) -> tuple[float, float]:
        def distance(x: float) -> float:
            order = math.exp(x)
            return (draws * finite.log_mgf(tilt + sign * order) - centre + OUTSIDE) / order

        x, reached = minimise(distance, -15, 20)
        return math.exp(x), sign * min(reached, largest)

    above, high = reach(+1)
    below, low = reach(-1)
    return _Window(low=low, high=high, below=below, above=above)


def _spectrum(pieces: Iterable[Piece], size: int) -> NDArray[np.complex128]:
    """The Fourier transform of all pieces of one draw convolved."""
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    single: list[Floats] = []
    for piece in pieces:
        if piece.count == 1:
            single.append(piece.mass)
        else:
            spectrum *= fft.rfft(piece.mass, size) ** piece.count
    # in pairs of like length: far cheaper than a full FFT for each
    while len(single) > 1:
        odd = single[len(single) // 2 * 2 :]
        pairs = zip(single[::2], single[1::2], strict=False)
        single = [signal.fftconvolve(x, y) for x, y in pairs] + odd
    for mass in single:
        folded = np.pad(mass, (0, -len(mass) % size)).reshape(-1, size).sum(axis=0)
        spectrum *= fft.rfft(folded)
    return spectrum


def _outside(
    pieces: Iterable[Piece], draws: int, window: _Window, step: float, first: int, size: int
) -> float:
    """The tilted mass that may be outside the window, and the allowance for rounding."""
    log_above, log_below, last = 0.0, 0.0, 0
    for piece in pieces:
        mass, count = piece.mass, piece.count
        down = step * np.arange(len(mass))
        log_above += count * math.log(max(1e-300, mass @ np.exp(-window.above * down)))
        log_below += count * (
            window.below * down[-1] + math.log(mass @ np.exp(window.below * (down - down[-1])))
        )
        last += count * (len(mass) - 1)
    error = ROUNDING
    if first > 0:
        error += math.exp(min(0.0, draws * log_above + window.above * step * first))
    if draws * last >= first + size:
        log_outside = draws * log_below - window.below * step * (first + size)
        error += math.exp(min(0.0, log_outside))
    return error
