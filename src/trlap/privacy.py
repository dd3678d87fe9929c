"""Privacy-loss mathematics: what each noise really guarantees, and how much noise a guarantee needs.

Two words whose clipped vectors differ by s are protected by noise Z up to

    δ(ε) = sup_S  Pr[Z ∈ S] − e^ε Pr[Z + s ∈ S] = E_Z[(1 − e^{ε − L})₊],     L = ln f(Z) / f(Z − s),

the hockey-stick divergence; L is the privacy loss, infinite where Z + s cannot fall. All noises here are symmetric,
so s and −s give the same δ and one direction is enough. Clipping to norm C leaves every s with ‖s‖₂ ≤ 2C.

Conventions
- δ is passed and returned as its natural logarithm (−inf for 0): 4^-1700 is no float, and e^ε overflows above 709.
- `draws=n` is n-fold composition: the same pair of words told apart from n independent draws.
- Calibrations return a parameter that was itself tested valid and is within 1e-9 of one that is not.

Contents: Gaussian; Laplace and truncated Laplace (Laplace is A = ∞); any ε-DP or (ε, δ)-DP mechanism composed;
the search for the worst difference; and below them the privacy-loss distribution that they share.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, optimize, special

from trlap.errors import TrlapError

Floats = NDArray[np.float64]

CELLS = 2**18  # grid of a privacy-loss distribution that is reported
SCAN_CELLS = 2**13  # and of one that is only compared with others, or met many times in a calibration
PUBLISHED_DUMMY_DIMENSION = {10.0: 500, 20.0: 1700}


def paper_log_delta(dimension: int) -> float:
    """ln δ for the paper's δ = 4^-d."""
    return -dimension * math.log(4)


def log_to_log10(log_delta: float) -> float:
    return log_delta / math.log(10)


def basic_composition(epsilon: float, log_delta: float, draws: int) -> tuple[float, float]:
    """(nε, ln nδ): n draws of an (ε, δ)-DP mechanism (Dwork & Roth 2014, Theorem 3.16). Always holds, seldom tight."""
    return draws * epsilon, min(0.0, log_delta + math.log(draws))


def _log1mexp(x: float) -> float:
    """ln(1 − e^x) for x ≤ 0."""
    if x == 0:
        return -math.inf
    return math.log(-math.expm1(x)) if x > -math.log(2) else math.log1p(-math.exp(x))


def _smallest(valid: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest valid x in (low, high] to a relative 1e-10, on the valid side. `valid` is monotone, `high` valid."""
    while high > low * (1 + 1e-10):
        middle = math.sqrt(low) * math.sqrt(high)
        if valid(middle):
            high = middle
        else:
            low = middle
    return high


# ---------------------------------------------------------------------------------------------------- Gaussian


def gaussian_log_delta(epsilon: float, sigma: float, distance: float, *, draws: int = 1) -> float:
    """ln δ(ε) of N(0, σ²I) between vectors at l2 distance Δ: exact at every ε ≥ 0 (Balle & Wang 2018, Theorem 8),

        δ(ε) = Φ(a) − e^ε Φ(b),    a = μ/2 − ε/μ,   b = −μ/2 − ε/μ,   μ = √n Δ/σ.

    As φ(a) = e^ε φ(b), this is φ(a) (R(−a) − R(−b)) with Mills' ratio R(x) = (1 − Φ(x))/φ(x), in which nothing
    underflows or overflows.
    """
    mu = math.sqrt(draws) * distance / sigma
    if mu == 0:
        return -math.inf
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    log_phi = -a * a / 2 - math.log(2 * math.pi) / 2
    if a > 0:
        complement = special.ndtr(-a) + math.exp(log_phi) * _mills(-b)
        return math.log1p(-complement) if complement < 1 else -math.inf
    if a < -1e3:  # R(x) = 1/x − 1/x³ + …; the ratios themselves agree in too many digits to be subtracted
        return log_phi + math.log(mu / (a * b)) + math.log1p(-1 / a**2 - 1 / (a * b) - 1 / b**2)
    return log_phi + math.log(_mills(-a) - _mills(-b))


def _mills(x: float) -> float:
    return float(math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2)))


def gaussian_epsilon(log_delta: float, sigma: float, distance: float, *, draws: int = 1) -> float:
    """The smallest ε with δ(ε) ≤ δ: the inverse of `gaussian_log_delta`; 0 where δ(0) ≤ δ already."""
    if log_delta == -math.inf:
        return math.inf if distance > 0 else 0.0
    if gaussian_log_delta(0.0, sigma, distance, draws=draws) <= log_delta:
        return 0.0
    mu = math.sqrt(draws) * distance / sigma
    enough = mu * (mu / 2 + math.sqrt(-2 * log_delta))  # δ ≤ Φ(a) ≤ e^{−a²/2} for a ≤ 0
    return _smallest(
        lambda e: gaussian_log_delta(e, sigma, distance, draws=draws) <= log_delta,
        1e-12 * enough,
        enough,
    )


def gaussian_sigma_published(epsilon: float, log_delta: float, clip: float) -> float:
    """σ = √(8 C² ln(1.25/δ)) / ε, the paper's Theorem on the Gaussian mechanism (Dwork & Roth 2014, Theorem A.1).

    Stated for ε ≤ 1. It is in fact valid further (up to 8.42 at δ = 1e-5, 8.78 at 1e-6, 16.9 at 4^-300) and not beyond.
    """
    return clip * math.sqrt(8 * (math.log(1.25) - log_delta)) / epsilon


def gaussian_sigma_exact(epsilon: float, log_delta: float, distance: float) -> float:
    """The analytic Gaussian mechanism (Balle & Wang 2018): the smallest σ with δ(ε) ≤ δ, valid at every ε."""
    if log_delta == -math.inf:
        raise TrlapError("the Gaussian mechanism has no guarantee at delta 0; give it a delta above 0")
    tail = math.sqrt(-2 * log_delta)
    enough = distance * (tail + math.sqrt(tail**2 + 2 * epsilon)) / (2 * epsilon)
    return _smallest(
        lambda sigma: gaussian_log_delta(epsilon, sigma, distance) <= log_delta,
        1e-12 * enough,
        enough,
    )


# ----------------------------------------------------------------------------------------------------- Laplace


def laplace_epsilon_pure(s: ArrayLike, b: float) -> float:
    """ε = ‖s‖₁/b with δ = 0 for i.i.d. Lap(b) (Dwork et al. 2006): exact, the loss ‖s‖₁/b has positive probability."""
    return float(np.abs(s).sum() / b)


def laplace_scale_published(epsilon: float, dimension: int, clip: float) -> float:
    """b = Δ₁/ε with Δ₁ = 2√d C, the l1 norm of the longest s spread over all coordinates: ε-DP with δ = 0."""
    return 2 * math.sqrt(dimension) * clip / epsilon


def laplace_log_delta(
    epsilon: float, s: ArrayLike, b: float, *, draws: int = 1, pessimistic: bool = True
) -> float:
    """ln δ(ε) of i.i.d. Lap(b) for the difference s; 0 above ‖s‖₁/b. A bound: see `_Convolved` for its direction.

    In one dimension δ(ε) = 1 − e^{(ε − |s|/b)/2} for 0 ≤ ε ≤ |s|/b.
    """
    return _log_delta(_losses(s, 1 / b, math.inf, draws), epsilon, pessimistic, CELLS)


def laplace_epsilon(
    log_delta: float, s: ArrayLike, b: float, *, draws: int = 1, pessimistic: bool = True
) -> float:
    """The smallest ε with δ(ε) ≤ δ for the difference s: the inverse of `laplace_log_delta`."""
    return _epsilon(_losses(s, 1 / b, math.inf, draws), log_delta, pessimistic, CELLS)


def laplace_log_delta_proven(
    epsilon: float, b: float, dimension: int, clip: float, *, draws: int = 1
) -> float:
    """An upper bound on ln δ(ε) of i.i.d. Lap(b) that is proven for every s with ‖s‖₂ ≤ 2C, by Rényi divergences.

    With τ = |s_j|/b, a coordinate adds g(τ) = ln(e^{−τ/2}(cosh λτ + sinh(λτ)/2λ)) to the log-moment of order
    a = λ + 1/2 > 1, and g′(τ)/τ = (λ² − 1/4)/(λτ coth λτ + τ/2) falls in τ. So g is concave in τ², and Σ g under
    Σ τ² ≤ (2C/b)² is largest where all coordinates are equal: one direction is the worst for all orders together.
    The moments turn into δ by Canonne, Kamath & Steinke 2020, Proposition 12. The price of the proof, over the
    scanned `worst_log_delta`, is about 8 % in b at (1, 1e-5), d = 300.
    """
    losses = _losses(np.full(dimension, 2 * clip / math.sqrt(dimension)), 1 / b, math.inf, draws)
    if epsilon >= losses.largest:
        return -math.inf

    def bound(log_order: float) -> float:
        k = math.exp(log_order)  # a − 1
        return losses.log_mgf(k + 0.5) - k * epsilon - (k + 1) * math.log1p(k) + k * log_order

    return min(0.0, float(_minimise(bound, -10, 20)[1]))


def laplace_scale_exact(epsilon: float, log_delta: float, dimension: int, clip: float) -> float:
    """The smallest b whose worst δ(ε) over ‖s‖₂ ≤ 2C meets δ; the pure 2√d C/ε where δ = 0.

    The worst s is the one `worst_log_delta` finds: scanned, not proven (see there). Where nothing but a proof will do,
    take the b of `laplace_log_delta_proven` instead.
    """
    pure = laplace_scale_published(epsilon, dimension, clip)
    if log_delta == -math.inf:
        return pure
    # One axis alone needs this much, by the one-dimensional δ(ε) = 1 − e^{(ε − 2C/b)/2}.
    b = 2 * clip / (epsilon - 2 * _log1mexp(log_delta))
    s = np.full(dimension, 2 * clip / math.sqrt(dimension))
    while True:  # every turn adds a direction that b did not yet protect; the candidates are finitely many
        b = _smallest(
            lambda x, s=s: _log_delta(_losses(s, 1 / x), epsilon) <= log_delta,  # type: ignore[misc]
            b,
            pure,
        )
        worst, s = _worst(epsilon, 1 / b, math.inf, dimension, clip, 1)
        if worst <= log_delta:
            return b


# ------------------------------------------------------------------------------------------- truncated Laplace


def trlap_parameters(
    epsilon: float, log_delta: float, dimension: int, clip: float
) -> tuple[float, float, float]:
    """(α, A, B) of the paper's Theorem 1: i.i.d. density e^{−α|x|}/B on [−A, A] with Δ₁ = 2√d C and

        α = ε/Δ₁,   A = −(Δ₁/ε) ln(1 − ε/(2 δ^{1/d} √d)),   B = 2(1 − e^{−αA})/α = 2C/δ^{1/d},

    which the theorem claims to be (ε, δ)-DP for ε ≤ 2δ^{1/d}√d (at equality A is infinite, so it is refused here).
    The claim does not hold: one coordinate outside the other word's support is enough to tell the two apart, so
    probabilities add over coordinates where the proof multiplies them. `trlap_log_delta` has the true δ.
    """
    root = math.exp(log_delta / dimension)  # δ^{1/d}
    limit = 2 * root * math.sqrt(dimension)
    if epsilon >= limit:
        raise TrlapError(
            f"trlap at dimension {dimension} needs epsilon below 2·delta^(1/d)·sqrt(d) = {limit:.4g}, got {epsilon:g};"
            " lower epsilon, raise delta or add dummy dimensions"
        )
    alpha = epsilon / (2 * math.sqrt(dimension) * clip)
    A = -math.log1p(-epsilon / limit) / alpha
    return alpha, A, 2 * clip / root


def trlap_dummy_dimension(epsilon: float, real_dimension: int) -> int:
    """The dimension, real and dummy, at which Theorem 1's condition holds for δ = 4^-d: ε < √d/2.

    The real one where it suffices, else the paper's 500 (ε = 10) and 1700 (ε = 20), else ⌈5ε²⌉. The trick gives no
    privacy: dummy coordinates have the same law for every word, and d enlarged to D with δ = 4^-D is the real
    mechanism at ε√(d/D) with δ = 4^-d, which never passes √d/2.
    """
    if epsilon < math.sqrt(real_dimension) / 2:
        return real_dimension
    return PUBLISHED_DUMMY_DIMENSION.get(epsilon, math.ceil(5 * epsilon**2))


def trlap_cdf(x: ArrayLike, alpha: float, A: float) -> Floats:
    """F(x) = ½ + sign(x) (1 − e^{−α|x|}) / (2(1 − e^{−αA})) on [−A, A]."""
    x = np.clip(x, -A, A)
    return 0.5 + np.sign(x) * np.expm1(-alpha * np.abs(x)) / (2 * math.expm1(-alpha * A))


def trlap_quantile(u: ArrayLike, alpha: float, A: float) -> Floats:
    """F⁻¹(u) = −sign(v) ln(1 − (1 − e^{−αA})|v|)/α with v = 2u − 1, for u in [0, 1]; right also where αA is tiny."""
    v = 2 * np.asarray(u, dtype=np.float64) - 1
    x = -np.log1p(math.expm1(-alpha * A) * np.abs(v)) / alpha
    return np.copysign(np.minimum(x, A), v)


def trlap_variance(alpha: float, A: float) -> float:
    """Variance of a coordinate, (2/α²) P(3, αA) / (1 − e^{−αA}), P the regularised lower incomplete gamma function.

    P(3, y) = 1 − e^{−y}(1 + y + y²/2). From A²/3 (uniform) where αA → 0 to Laplace's 2/α² where αA → ∞.
    """
    y = alpha * A
    return float(2 / alpha**2 * special.gammainc(3, y) / -math.expm1(-y))


def published_variances(
    epsilon: float, log_delta: float, dimension: int, clip: float
) -> tuple[float, float, float]:
    """Variance of a coordinate of the published (Gaussian, Laplace, truncated Laplace), which Theorem 2 compares.

    The theorem's order, the last below the others, is stated for δ ≤ e^-d; outside it can fail (d=10, δ=0.1, ε=4.9).
    It compares an A that is too small for its claim.
    """
    alpha, A, _ = trlap_parameters(epsilon, log_delta, dimension, clip)
    gaussian = gaussian_sigma_published(epsilon, log_delta, clip) ** 2
    laplace = 2 * laplace_scale_published(epsilon, dimension, clip) ** 2
    return gaussian, laplace, trlap_variance(alpha, A)


def _log_exit(t: ArrayLike, alpha: float, A: float) -> Floats:
    """ln(−ln(1 − p(t))), p(t) the probability that a coordinate falls where shifted by t it cannot, αB = 2(1 − e^{−αA}):

    p(t) = (e^{−α(A−|t|)} − e^{−αA}) / αB           for |t| ≤ A
    p(t) = 1 − (e^{−α(|t|−A)} − e^{−αA}) / αB       for A < |t| < 2A,   1 beyond
    """
    t = np.abs(np.asarray(t, dtype=np.float64))
    if A == math.inf:
        return np.full_like(t, -math.inf)
    log_alpha_B = math.log(-2 * math.expm1(-alpha * A))
    with np.errstate(divide="ignore"):
        near = np.minimum(t, A)
        log_p = alpha * (near - A) + np.log(-np.expm1(-alpha * near)) - log_alpha_B
        p = np.exp(log_p)
        # −ln(1 − p) is p where p is too small to be subtracted from 1
        log_near = np.where(p > 1e-16, np.log(-np.log1p(-np.minimum(p, 0.75))), log_p)
        far = np.clip(t, A, 2 * A)
        log_stay = alpha * (A - far) + np.log(-np.expm1(alpha * (far - 2 * A))) - log_alpha_B
        return np.asarray(np.where(t <= A, log_near, np.log(-log_stay)))


def trlap_log_delta(s: ArrayLike, alpha: float, A: float, *, draws: int = 1) -> float:
    """ln δ at the mechanism's own ε = αΔ₁ for the difference s over the real coordinates, in closed form:

        δ = 1 − Π_j (1 − p(s_j))          (p as in `_log_exit`)

    This is the probability that the noise falls where the other word's cannot: the mass of the infinite loss. Elsewhere
    the loss is at most α‖s‖₁. So it is exact at every ε ≥ α‖s‖₁ (n α‖s‖₁ for n draws), which clipping ensures for the
    mechanism's own ε, and a lower bound at smaller ε and for vectors that were not clipped.
    """
    return _log_one_minus_exp_minus(float(special.logsumexp(_log_exit(s, alpha, A))) + math.log(draws))


def _log_one_minus_exp_minus(log_x: float) -> float:
    """ln(1 − e^{−x}) from ln x: the δ of independent events whose −ln(1 − p) sum to x."""
    return log_x if log_x < -40 else _log1mexp(-math.exp(log_x))


def trlap_log_delta_at(
    epsilon: float,
    s: ArrayLike,
    alpha: float,
    A: float,
    *,
    draws: int = 1,
    pessimistic: bool = True,
) -> float:
    """ln δ(ε) at any ε for the difference s: the infinite mass of `trlap_log_delta` and what finite losses add to it.

    Exact for ε ≥ n α‖s‖₁, else a bound: see `_Convolved` for its direction.
    """
    return _log_delta(_losses(s, alpha, A, draws), epsilon, pessimistic, CELLS)


def trlap_epsilon(
    log_delta: float,
    s: ArrayLike,
    alpha: float,
    A: float,
    *,
    draws: int = 1,
    pessimistic: bool = True,
) -> float:
    """The smallest ε with δ(ε) ≤ δ for the difference s; inf where the infinite mass alone exceeds δ."""
    return _epsilon(_losses(s, alpha, A, draws), log_delta, pessimistic, CELLS)


def trlap_worst_direction(alpha: float, A: float, dimension: int, clip: float) -> Floats:
    """The s with ‖s‖₂ ≤ 2C that has the largest δ at the mechanism's own ε, over the real coordinates.

    δ grows with G(t) = −ln(1 − p(t)) summed over coordinates. G increases, so the worst s has length 2C. For t ≤ A,
    G′(t) = α/(κe^{−αt} − 1) with κ = 2e^{αA} − 1, and (ln G′(t)/t)′ = α/(1 − e^{αt}/κ) − 1/t rises from −∞: as a
    function of t², G is concave up to some t* and convex from there on, with infinite slope at 0. So at a maximum
    coordinates below t* are equal (concave), at most one is above t* (two would gain by moving apart) and none is 0:
    one coordinate t₁ and d − 1 equal ones. This is proven for A ≥ 2C. The best t₁ in [2C/√d, 2C] is scanned (4,001
    points, then refined); where all of [0, 2C] lies below t*, as for every published A at δ = 4^-d, it is 2C/√d.
    """
    if dimension == 1:
        return np.array([2 * clip])
    length = 2 * clip

    def log_total(t1: Floats | float) -> Floats:
        rest = np.sqrt(np.maximum(0, length**2 - np.square(t1)) / (dimension - 1))
        others = math.log(dimension - 1) + _log_exit(rest, alpha, A)
        return np.asarray(np.logaddexp(_log_exit(t1, alpha, A), others))

    grid = np.linspace(length / math.sqrt(dimension), length, 4001)
    best = int(np.argmax(log_total(grid)))
    t1 = float(grid[best])
    if best > 0:
        around = (float(grid[best - 1]), float(grid[min(best + 1, 4000)]))
        refined, _ = _minimise(lambda t: -float(log_total(t)), *around)
        t1 = max(t1, refined, key=lambda t: float(log_total(t)))
    rest = math.sqrt(max(0.0, length**2 - t1**2) / (dimension - 1))
    return np.array([t1] + [rest] * (dimension - 1))


def trlap_truncation_exact(epsilon: float, log_delta: float, dimension: int, clip: float) -> float:
    """The smallest A, at α = ε/(2√d C), whose worst δ at ε over ‖s‖₂ ≤ 2C meets δ; inf (plain Laplace) where δ = 0.

    Worst direction as in `trlap_worst_direction`, so proven up to the scan of t₁: A is kept at or above 2C, which
    costs something only where δ > 1/2 (one axis alone has δ ≥ 1/2 if A ≤ 2C). In one dimension it is
    Geng et al. 2020: A = (Δ/ε) ln(1 + (e^ε − 1)/2δ).
    """
    if log_delta == -math.inf:
        return math.inf
    alpha = epsilon / (2 * math.sqrt(dimension) * clip)
    # δ ≤ d·p(2C), which is δ at this A
    ratio = math.log(dimension) + math.log(math.expm1(2 * alpha * clip)) - math.log(2) - log_delta
    enough = max(2 * clip, float(np.logaddexp(0, ratio)) / alpha)
    return _smallest(
        lambda A: (
            trlap_log_delta(trlap_worst_direction(alpha, A, dimension, clip), alpha, A) <= log_delta
        ),
        2 * clip,
        enough,
    )


# --------------------------------------------------------------------------- any mechanism that is (ε, δ)-DP


def composed_log_delta(
    at_epsilon: float, epsilon: float, draws: int, *, log_delta: float = -math.inf
) -> float:
    """ln δ at `at_epsilon` of n draws of any (ε, δ)-DP mechanism: tight over all of them (Kairouz, Oh & Viswanath 2015).

    Every such mechanism is dominated by randomised response on two values that with probability δ also tells the
    value; this is the exact composition of that.
    """
    return _log_delta(_response_losses(epsilon, log_delta, draws), at_epsilon, True, CELLS)


def composed_epsilon(
    at_log_delta: float, epsilon: float, draws: int, *, log_delta: float = -math.inf
) -> float:
    """The smallest ε at the given δ of n draws of any (ε, δ)-DP mechanism: the inverse of `composed_log_delta`."""
    return _epsilon(_response_losses(epsilon, log_delta, draws), at_log_delta, True, CELLS)


# ----------------------------------------------------------------------------------------- the worst difference


def worst_log_delta(
    epsilon: float, alpha: float, A: float, dimension: int, clip: float, *, draws: int = 1
) -> tuple[float, Floats]:
    """(ln δ(ε), s): the largest δ found over ‖s‖₂ ≤ 2C for i.i.d. truncated Laplace noise (A = inf: Laplace, α = 1/b).

    Proven: δ(ε) grows with every |s_j|. (The noise is log-concave, so the best test of one coordinate is a threshold,
    whose error falls as the shift grows; domination coordinate by coordinate is kept by the product, Zhu, Dong & Wang
    2022, Theorem 10.) So the worst s has length 2C. For ε ≥ α·2√d C, `trlap_worst_direction`'s argument applies.

    Scanned, below that: k coordinates equal and one smaller one with the rest of the norm, and, where the noise is
    truncated, one larger coordinate and d − 1 equal ones. The even spread (k = d) is the worst for every Rényi
    divergence of Laplace (`laplace_log_delta_proven`) and mostly for δ(ε), but not always: losses sit on multiples of
    2α|s_j| with positive probability, and a smaller k may place them better with respect to ε (at d = 300 by some
    0.1–1 % of δ; one axis alone is the worst where ε is small against 2C/b). Hill climbing over all directions for
    d ≤ 10 and a wide range of ε and b found nothing above this family by more than 0.01 % of δ.
    """
    _, s = _worst(epsilon, alpha, A, dimension, clip, draws)
    return trlap_log_delta_at(epsilon, s, alpha, A, draws=draws), s


def worst_epsilon(
    log_delta: float, alpha: float, A: float, dimension: int, clip: float, *, draws: int = 1
) -> tuple[float, Floats]:
    """(ε, s): the largest ε at δ found over ‖s‖₂ ≤ 2C, by the same scan as `worst_log_delta`; inf where there is none."""
    s = trlap_worst_direction(alpha, A, dimension, clip)
    if trlap_log_delta(s, alpha, A, draws=draws) > log_delta:
        return math.inf, s
    epsilon = _epsilon(_losses(s, alpha, A, draws), log_delta)
    while True:
        worst, candidate = _worst(epsilon, alpha, A, dimension, clip, draws)
        if worst <= log_delta:
            return trlap_epsilon(log_delta, s, alpha, A, draws=draws), s
        s = candidate
        epsilon = _epsilon(_losses(s, alpha, A, draws), log_delta)


def _worst(
    epsilon: float, alpha: float, A: float, dimension: int, clip: float, draws: int
) -> tuple[float, Floats]:
    scored = (
        (_log_delta(_losses(s, alpha, A, draws), epsilon), s)
        for s in _candidates(alpha, A, dimension, clip)
    )
    return max(scored, key=lambda pair: pair[0])


def _candidates(alpha: float, A: float, dimension: int, clip: float) -> Iterator[Floats]:
    """The differences that `worst_log_delta` compares, all of length 2C: up to some 250."""
    edge = 24  # all k near 1 and near d, some between
    between = np.linspace(1, dimension, 2 * edge).astype(int)
    ks = {k for k in range(1, dimension + 1) if k <= edge or k > dimension - edge} | set(between)
    for k in sorted(ks, reverse=True):
        for ratio in (0.0, 0.5, 0.85) if k < dimension else (0.0,):
            s = np.zeros(dimension)
            s[:k] = 1
            s[k : k + 1] = ratio
            yield s * (2 * clip / np.linalg.norm(s))
    if A < math.inf:
        yield trlap_worst_direction(alpha, A, dimension, clip)
        for t1 in np.linspace(2 * clip / math.sqrt(dimension), 2 * clip, edge, endpoint=False)[1:]:
            rest = math.sqrt((4 * clip**2 - t1**2) / (dimension - 1))
            yield np.array([t1] + [rest] * (dimension - 1))


# --------------------------------------------------------------------------- the privacy-loss distribution
#
# Written here rather than taken from dp-accounting (which the tests use as an oracle) for three reasons: δ far below
# 1e-16, 300 different coordinates in a second, and a bound on both sides.


@dataclass(frozen=True)
class _Losses:
    """Privacy losses of independent coordinates, as the measure μ with dP = e^{ℓ/2} dμ and dQ = e^{−ℓ/2} dμ.

    P and Q are the laws of the loss ln dP/dQ under either word. For symmetric noise μ is symmetric, and for all noises
    of this module it has one simple form: `atom` at ±`width` and the constant `density` between, times e^`log_scale`.
    The i-th occurs `count[i]` times. `log_infinity` is the log-probability that some loss is infinite.
    """

    width: Floats
    atom: Floats
    density: Floats
    log_scale: Floats
    count: NDArray[np.int64]
    log_infinity: float

    @property
    def largest(self) -> float:
        """The largest finite loss."""
        return float(self.count @ self.width)

    def log_mgf(self, tilt: float) -> float:
        """ln ∫ e^{tilt·ℓ} dμ over the sum of all coordinates."""
        tilt = max(abs(tilt), 1e-200)
        x = tilt * self.width
        mass = self.atom * (1 + np.exp(-2 * x)) - self.density * np.expm1(-2 * x) / tilt
        return float(self.count @ (self.log_scale + x + np.log(mass)))


def _losses(s: ArrayLike, alpha: float, A: float = math.inf, draws: int = 1) -> _Losses:
    """A coordinate of truncated Laplace noise and its copy shifted by t have losses within ±w, w = α min(t, 2A − t):

        μ = e^{−αt/2}/αB · [ (1 − e^{−α(A−t)})₊ at ±w,  ½ between ],    αB = 2(1 − e^{−αA}),

    because the loss is αt below 0, −αt above t, α(t − 2x) between, and infinite below t − A.
    """
    t, count = np.unique(np.abs(np.asarray(s, dtype=np.float64)), return_counts=True)
    t, count = t[t > 0], count[t > 0] * draws
    log_infinity = trlap_log_delta(t.repeat(count // draws), alpha, A, draws=draws) if len(t) else -math.inf
    overlaps = bool((t < 2 * A).all())
    if not overlaps:  # told apart for certain
        t, count = t[:0], count[:0]
    return _Losses(
        width=alpha * np.minimum(t, 2 * A - t),
        atom=-np.expm1(-alpha * np.maximum(A - t, 0)),
        density=np.full(len(t), 0.5),
        log_scale=-alpha * t / 2 - math.log(-2 * math.expm1(-alpha * A)),
        count=count,
        log_infinity=log_infinity,
    )


def _response_losses(epsilon: float, log_delta: float, draws: int) -> _Losses:
    """Randomised response on two values, P(loss = ±ε) = (1 − δ) e^{±ε/2} / 2cosh(ε/2), infinite with probability δ."""
    log_finite = _log1mexp(log_delta)
    return _Losses(
        width=np.array([epsilon]),
        atom=np.ones(1),
        density=np.zeros(1),
        log_scale=np.array([log_finite - epsilon / 2 - math.log1p(math.exp(-epsilon))]),
        count=np.array([draws]),
        log_infinity=_log_one_minus_exp_minus(math.log(-log_finite * draws)) if log_finite else -math.inf,
    )


def _log_delta(
    losses: _Losses, epsilon: float, pessimistic: bool = True, cells: int = SCAN_CELLS
) -> float:
    if epsilon >= losses.largest:
        return losses.log_infinity
    # The saddle point of δ(ε): tilted there, losses around ε are the likely ones. Any tilt ≥ 1/2 is correct.
    log_tilt, _ = _minimise(
        lambda x: losses.log_mgf(math.exp(x)) - math.exp(x) * epsilon, -math.log(2), 20
    )
    return _Convolved(losses, math.exp(log_tilt), pessimistic, cells).log_delta(epsilon)


def _epsilon(
    losses: _Losses, log_delta: float, pessimistic: bool = True, cells: int = SCAN_CELLS
) -> float:
    if log_delta < losses.log_infinity:
        return math.inf
    if log_delta in (losses.log_infinity, -math.inf) or losses.largest == 0:
        return losses.largest
    log_finite = log_delta + _log1mexp(losses.log_infinity - log_delta)
    # The order of the best Chernoff bound on ε at this δ; around it the exact answer lies.
    log_order, _ = _minimise(
        lambda x: (losses.log_mgf(0.5 + math.exp(x)) - log_finite) / math.exp(x), -20, 20
    )
    convolved = _Convolved(losses, 0.5 + math.exp(log_order), pessimistic, cells)
    if convolved.log_delta(0.0) <= log_delta:
        return 0.0
    return _smallest(
        lambda e: convolved.log_delta(e) <= log_delta, 1e-12 * losses.largest, losses.largest
    )


def _minimise(f: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    found = optimize.minimize_scalar(f, bounds=(low, high), method="bounded")
    return float(found.x), float(found.fun)


class _Convolved:
    """The law of the sum of all losses on a grid, by one FFT per different coordinate, and δ(ε) from it.

    `pessimistic=True` gives an upper bound on δ(ε). Each piece of a coordinate's μ between two grid points is split
    between them so that its mass under P and under Q is kept ("connect the dots", Doroshenko et al. 2022): the
    original is a garbling of the result, so the bound holds and survives composition, and its error is of second
    order in the step. `pessimistic=False` gives a lower bound. The constant part of μ is merged in buckets, each
    of which has exactly its midpoint as its loss (a garbling of the original), and what does not fill a bucket is
    rounded down to the grid.

    All arrays hold e^{tilt·ℓ} dμ, normalised, with the logarithm of the total kept apart, so that δ = 1e-1000 has as
    many digits as δ = 0.1. Indices run down from the largest loss, which is on the grid exactly. The FFT is circular
    over a window of the tilted law; the mass outside, by Chernoff's bound for the very arrays convolved, and an
    allowance for floating-point rounding are added to the upper bound and taken off the lower one.
    """

    tail_exponent = 45.0  # the window leaves out about e^-45
    rounding = 1e-12  # of the tilted mass, which is 1; the FFT is good to about 1e-14

    def __init__(self, losses: _Losses, tilt: float, pessimistic: bool, cells: int) -> None:
        self.losses, self.tilt, self.pessimistic = losses, tilt, pessimistic
        top, coordinates = losses.largest, int(losses.count.sum())
        above, high = self._tail(+1)
        below, low = self._tail(-1)
        span = max(high - low, 2 * float(losses.width.max()))
        step = span / cells
        common = float(losses.width[np.argmax(losses.count)])
        if common > step:  # puts the most frequent atoms on the grid
            step = common / math.ceil(common / step)
        first = int((top - high) / step)
        size = fft.next_fast_len(int(span / step) + 2 + min(coordinates, cells), real=True)

        spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
        self.log_mass, log_above, log_below, last = 0.0, 0.0, 0.0, 0
        discretise = _spread if pessimistic else _merge
        for width, atom, density, log_scale, count in zip(
            losses.width, losses.atom, losses.density, losses.log_scale, losses.count.tolist(), strict=True
        ):
            mass = discretise(width, atom, density, step)
            down = step * np.arange(len(mass))  # how far each point is below the coordinate's largest loss
            mass *= np.exp(-tilt * down)
            total = mass.sum()
            mass /= total
            spectrum *= fft.rfft(mass, size) ** count
            self.log_mass += count * (log_scale + tilt * width + math.log(total))
            log_above += count * float(special.logsumexp(-above * down, b=mass))
            log_below += count * float(special.logsumexp(below * down, b=mass))
            last += count * (len(mass) - 1)
        self.mass = np.roll(fft.irfft(spectrum, size), -(first % size))
        self.loss = top - step * (first + np.arange(size))
        self.error = self.rounding
        if first > 0:
            self.error += math.exp(min(0.0, log_above + above * step * first))
        if last >= first + size:
            self.error += math.exp(min(0.0, log_below - below * step * (first + size)))

    def _tail(self, sign: int) -> tuple[float, float]:
        """(order, loss): the order of the Chernoff bound by which e^-45 of the tilted mass is beyond the loss."""
        mgf, top = self.losses.log_mgf, self.losses.largest
        centre = mgf(self.tilt)
        log_order, reach = _minimise(
            lambda x: (
                (mgf(self.tilt + sign * math.exp(x)) - centre + self.tail_exponent) / math.exp(x)
            ),
            -15,
            20,
        )
        return math.exp(log_order), sign * min(reach, top)

    def log_delta(self, epsilon: float) -> float:
        """δ(ε) = ∫ (e^{ℓ/2} − e^{ε−ℓ/2})₊ dμ + the infinite mass, in tilted form with u = ℓ − ε > 0."""
        if epsilon >= self.losses.largest:
            return self.losses.log_infinity
        u = self.loss[: np.searchsorted(-self.loss, -epsilon)] - epsilon
        weight = -np.expm1(-u) * np.exp((0.5 - self.tilt) * u)  # at most 1
        total = float(self.mass[: len(u)] @ weight)
        total += self.error if self.pessimistic else -self.error
        if total <= 0:
            return self.losses.log_infinity
        finite = self.log_mass + (0.5 - self.tilt) * epsilon + math.log(total)
        return min(0.0, float(np.logaddexp(finite, self.losses.log_infinity)))


def _spread(width: float, atom: float, density: float, h: float) -> Floats:
    """μ on the points width − i·h, each piece split between its neighbours so that ∫e^{±ℓ/2}dμ are kept (upper bound).

    An atom at y between x and x + h puts sinh((y − x)/2)/sinh(h/2) of itself above and sinh((x + h − y)/2)/sinh(h/2)
    below; the constant part is the integral of that.
    """
    n = max(1, math.ceil(2 * width / h - 1e-9))
    gap = max(0.0, n * h - 2 * width)  # from the lowest point up to −width, where μ begins
    mass = np.zeros(n + 1)
    mass[0] = atom
    mass[: n - 1] += 2 * density * math.tanh(h / 4)
    mass[1:n] += 2 * density * math.tanh(h / 4)
    rest = math.sinh((h - gap) / 4)
    upper = 4 * density * math.sinh((h + gap) / 4) * rest + atom * math.sinh(gap / 2)
    lower = 4 * density * rest**2 + atom * math.sinh((h - gap) / 2)
    mass[n - 1] += upper / math.sinh(h / 2)
    mass[n] += lower / math.sinh(h / 2)
    return mass


def _merge(width: float, atom: float, density: float, h: float) -> Floats:
    """μ on the points width − i·h, the constant part merged in buckets of 2h around odd i, the rest rounded down (lower
    bound).

    Over [y − h, y + h] the P and Q masses are 4·density·sinh(h/2)·e^{±y/2}: the merged loss is y itself. Rounding a
    loss down keeps its mass under P, so its μ grows.
    """
    n = max(1, math.ceil(2 * width / h - 1e-9))
    buckets = math.floor(width / h + 1e-9)
    rest = max(0.0, 2 * width - 2 * h * buckets)
    mass = np.zeros(n + 1)
    mass[0] = atom
    mass[1 : 2 * buckets : 2] += 4 * density * math.sinh(h / 2)
    mass[n] += (atom + 2 * density * math.expm1(rest / 2)) * math.exp(
        max(0.0, n * h - 2 * width) / 2
    )
    return mass
