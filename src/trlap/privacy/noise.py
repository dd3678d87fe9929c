"""Privacy-loss mathematics: what each noise really guarantees, and how much noise that takes.

Two words whose clipped vectors differ by s are protected by noise Z of density f up to

    δ(ε) = sup_S Pr[Z ∈ S] − e^ε Pr[Z + s ∈ S] = E[(1 − e^{ε−L})₊],    L = ln f(Z)/f(Z − s),

the hockey-stick divergence. L is the privacy loss, infinite where Z + s cannot fall. All noises
here are symmetric, so s and −s give the same δ and one direction is enough. Clipping to norm C
leaves ‖s‖₂ ≤ 2C.

Conventions
- δ is passed and returned as its natural logarithm, −inf for 0: 4^-1700 is no float. No formula
  holds an e^ε, which overflows above 709.
- `draws=n` is n-fold composition: the same two words told apart by n independent draws.
- A calibration returns a parameter that was itself tested valid, the smallest to a relative 1e-10.

Contents: Gaussian; Laplace; truncated Laplace, which is Laplace at A = ∞; any (ε, δ)-DP mechanism
composed; the worst difference; and, below, the privacy-loss distribution they share.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, optimize, signal, special

from trlap.errors import TrlapError

Floats = NDArray[np.float64]

# Grid points of a privacy-loss distribution: of one that is reported, and of one that is only
# compared with others or met many times in a calibration.
CELLS = 2**18
SCAN_CELLS = 2**13

PUBLISHED_DUMMY_DIMENSION = {10.0: 500, 20.0: 1700}


def paper_log_delta(dimension: int) -> float:
    """ln δ for the paper's δ = 4^-d."""
    return -dimension * math.log(4)


def log_to_log10(log_delta: float) -> float:
    return log_delta / math.log(10)


def basic_composition(epsilon: float, log_delta: float, draws: int) -> tuple[float, float]:
    """(nε, ln nδ) for n draws of an (ε, δ)-DP mechanism: always holds, is seldom tight.

    Dwork & Roth 2014, Theorem 3.16.
    """
    return draws * epsilon, min(0.0, log_delta + math.log(draws))


def _log1mexp(x: float) -> float:
    """ln(1 − e^x) for x ≤ 0."""
    if x == 0:
        return -math.inf
    return math.log(-math.expm1(x)) if x > -math.log(2) else math.log1p(-math.exp(x))


def _log_hazard(log_p: ArrayLike) -> Floats:
    """ln(−ln(1 − p)) from ln p. For independent events they add; p may be no float."""
    log_p = np.asarray(log_p, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.where(log_p < -37, log_p, np.log(-np.log1p(-np.exp(log_p))))


def _log_probability(log_hazard: float) -> float:
    """ln p from ln(−ln(1 − p))."""
    return log_hazard if log_hazard < -37 else _log1mexp(-math.exp(log_hazard))


def _smallest(valid: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest valid x in (low, high] to a relative 1e-10, on the valid side.

    Validity must be monotone and `high` valid.
    """
    while high > low * (1 + 1e-10):
        middle = math.sqrt(low) * math.sqrt(high)
        if valid(middle):
            high = middle
        else:
            low = middle
    return high


def _minimise(f: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    found = optimize.minimize_scalar(f, bounds=(low, high), method="bounded")
    return float(found.x), float(found.fun)


# ----------------------------------------------------------------------------------------- Gaussian


def gaussian_log_delta(epsilon: float, sigma: float, distance: float, *, draws: int = 1) -> float:
    """ln δ(ε) of N(0, σ²I) between vectors at l2 distance Δ, exact at every ε ≥ 0:

        δ(ε) = Φ(a) − e^ε Φ(b),    a = μ/2 − ε/μ,   b = −μ/2 − ε/μ,   μ = √n Δ/σ

    Balle & Wang 2018, Theorem 8. As φ(a) = e^ε φ(b), this is φ(a)(R(−a) − R(−b)) with Mills' ratio
    R(x) = (1 − Φ(x))/φ(x), where nothing underflows or overflows.
    """
    mu = math.sqrt(draws) * distance / sigma
    if mu == 0:
        return -math.inf
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    log_phi = -a * a / 2 - math.log(2 * math.pi) / 2
    if a > 0:
        complement = float(special.ndtr(-a)) + math.exp(log_phi) * _mills(-b)
        return math.log1p(-complement) if complement < 1 else -math.inf
    if a < -1e3:  # R(x) = 1/x − 1/x³ + …: the two ratios share too many digits to be subtracted
        return log_phi + math.log(mu / (a * b)) + math.log1p(-1 / a**2 - 1 / (a * b) - 1 / b**2)
    return log_phi + math.log(_mills(-a) - _mills(-b))


def _mills(x: float) -> float:
    return math.sqrt(math.pi / 2) * float(special.erfcx(x / math.sqrt(2)))


def gaussian_epsilon(log_delta: float, sigma: float, distance: float, *, draws: int = 1) -> float:
    """The smallest ε with δ(ε) ≤ δ, the inverse of `gaussian_log_delta`; 0 where δ(0) ≤ δ."""
    if distance == 0 or gaussian_log_delta(0.0, sigma, distance, draws=draws) <= log_delta:
        return 0.0
    if log_delta == -math.inf:
        return math.inf
    mu = math.sqrt(draws) * distance / sigma
    enough = mu * (mu / 2 + math.sqrt(-2 * log_delta))  # δ ≤ Φ(a) ≤ e^{−a²/2} for a ≤ 0
    return _smallest(
        lambda e: gaussian_log_delta(e, sigma, distance, draws=draws) <= log_delta,
        1e-12 * enough,
        enough,
    )


def gaussian_sigma_published(epsilon: float, log_delta: float, clip: float) -> float:
    """σ = √(8 C² ln(1.25/δ))/ε: the paper's Gaussian theorem, after Dwork & Roth 2014, Theorem A.1.

    Stated for ε ≤ 1. In fact valid up to 8.42 at δ = 1e-5, 8.78 at 1e-6, 16.9 at 4^-300, not
    beyond.
    """
    return clip * math.sqrt(8 * (math.log(1.25) - log_delta)) / epsilon


def gaussian_sigma_exact(epsilon: float, log_delta: float, distance: float) -> float:
    """The smallest σ with δ(ε) ≤ δ, at every ε: the analytic Gaussian of Balle & Wang 2018."""
    if log_delta == -math.inf:
        raise TrlapError(
            "the Gaussian mechanism guarantees nothing at delta 0; raise delta above 0"
        )
    tail = math.sqrt(-2 * log_delta)
    enough = distance * (tail + math.sqrt(tail**2 + 2 * epsilon)) / (2 * epsilon)
    return _smallest(
        lambda sigma: gaussian_log_delta(epsilon, sigma, distance) <= log_delta,
        1e-12 * enough,
        enough,
    )


# ------------------------------------------------------------------------------------------ Laplace


def laplace_epsilon_pure(s: ArrayLike, b: float) -> float:
    """ε = ‖s‖₁/b at δ = 0 for i.i.d. Lap(b) (Dwork et al. 2006).

    Exact: that loss has positive probability.
    """
    return float(np.abs(s).sum() / b)


def laplace_scale_published(epsilon: float, dimension: int, clip: float) -> float:
    """b = Δ₁/ε with Δ₁ = 2√d C, the largest ‖s‖₁ for ‖s‖₂ ≤ 2C: ε-DP with δ = 0 at every ε."""
    return 2 * math.sqrt(dimension) * clip / epsilon


def laplace_log_delta(
    epsilon: float, s: ArrayLike, b: float, *, draws: int = 1, pessimistic: bool = True
) -> float:
    """ln δ(ε) of i.i.d. Lap(b) for the difference s: an upper bound, or a lower one.

    Exactly −inf from n‖s‖₁/b on. Below, the numerical bound of `_Convolved`: `pessimistic` True
    gives the upper, False the lower. In one dimension δ(ε) = 1 − e^{(ε − |s|/b)/2}.
    """
    return _log_delta(_losses(s, 1 / b, math.inf, draws), epsilon, pessimistic, CELLS)


def laplace_epsilon(log_delta: float, s: ArrayLike, b: float, *, draws: int = 1) -> float:
    """The smallest ε at which the upper bound of `laplace_log_delta` meets δ."""
    return _epsilon(_losses(s, 1 / b, math.inf, draws), log_delta, CELLS)


def laplace_log_delta_proven(
    epsilon: float, b: float, dimension: int, clip: float, *, draws: int = 1
) -> float:
    """An upper bound on ln δ(ε) of i.i.d. Lap(b) that is proven for every s with ‖s‖₂ ≤ 2C.

    With τ = |s_j|/b, a coordinate adds g(τ) = ln(e^{−τ/2}(cosh λτ + sinh(λτ)/2λ)) to the log-moment
    of the loss of order λ + 1/2 > 1, and g′(τ)/τ = (λ² − 1/4)/(λτ coth λτ + τ/2) falls in τ. So g
    is concave in τ², and Σg under Στ² ≤ (2C/b)² is largest where all coordinates are equal: the
    even spread is the worst for all Rényi divergences together. They bound δ by
    `_Losses.log_renyi`. The price of the proof, against the scan of `worst_log_delta`, is 8 % in b
    at (1, 1e-5), d = 300.
    """
    losses = _losses(_even(dimension, clip), 1 / b, math.inf, draws)
    if losses.end_at(epsilon):
        return -math.inf
    return min(0.0, _minimise(lambda x: losses.log_renyi(x) - math.exp(x) * epsilon, -20, 20)[1])


def laplace_scale_exact(epsilon: float, log_delta: float, dimension: int, clip: float) -> float:
    """The smallest b whose worst δ(ε) over ‖s‖₂ ≤ 2C meets δ; the pure 2√d C/ε where δ = 0.

    7.415C at (1, 1e-5), d = 300, against 34.6C for δ = 0. The worst s is the one that
    `worst_log_delta` scans for, which is not proven to be the worst of all. Where only a proof will
    do, take the b at which `laplace_log_delta_proven` meets δ (8.03C).
    """
    pure = laplace_scale_published(epsilon, dimension, clip)
    if log_delta == -math.inf:
        return pure

    def needed(s: Floats, low: float) -> float:
        return _smallest(lambda b: _log_delta(_losses(s, 1 / b), epsilon) <= log_delta, low, pure)

    # One axis alone needs this much, by δ(ε) = 1 − e^{(ε − 2C/b)/2}.
    b = 2 * clip / (epsilon - 2 * _log1mexp(log_delta))
    s = _even(dimension, clip)
    while True:  # each turn protects one more of finitely many candidates
        b = needed(s, b)
        worst, s = _worst(epsilon, 1 / b, math.inf, dimension, clip, 1)
        if worst <= log_delta:
            return b


# -------------------------------------------------------------------------------- truncated Laplace


def trlap_parameters(
    epsilon: float, log_delta: float, dimension: int, clip: float
) -> tuple[float, float, float]:
    """(α, A, B) of the paper's Theorem 1: density e^{−α|x|}/B on [−A, A], with Δ₁ = 2√d C and

        α = ε/Δ₁,   A = −(Δ₁/ε) ln(1 − ε/(2 δ^{1/d} √d)),   B = 2(1 − e^{−αA})/α = 2C/δ^{1/d}

    The theorem claims (ε, δ)-DP for ε ≤ 2δ^{1/d}√d (at equality A is infinite: refused here). The
    claim does not hold: one coordinate outside the other word's support tells the two apart, so
    probabilities add over coordinates where the proof multiplies them. `trlap_log_delta` is the
    truth.
    """
    root = math.exp(log_delta / dimension)  # δ^{1/d}
    limit = 2 * root * math.sqrt(dimension)
    if epsilon >= limit:
        raise TrlapError(
            f"trlap in dimension {dimension} needs epsilon below 2·delta^(1/d)·sqrt(d)"
            f" = {limit:.4g}, got {epsilon:g}; lower epsilon, raise delta or add dummy dimensions"
        )
    alpha = epsilon / (2 * math.sqrt(dimension) * clip)
    A = -math.log1p(-epsilon / limit) / alpha
    return alpha, A, 2 * clip / root


def trlap_dummy_dimension(epsilon: float, real_dimension: int) -> int:
    """The dimension, dummies included, at which Theorem 1's condition holds for δ = 4^-d: ε < √d/2.

    The real one where that suffices, else the paper's 500 (ε = 10) and 1700 (ε = 20), else ⌈5ε²⌉.
    The trick gives no privacy: dummy coordinates have the same law for every word. Enlarging d to D
    with δ = 4^-D *is* the real mechanism at ε√(d/D) with δ = 4^-d, which never passes √d/2.
    """
    if epsilon < math.sqrt(real_dimension) / 2:
        return real_dimension
    return PUBLISHED_DUMMY_DIMENSION.get(epsilon, math.ceil(5 * epsilon**2))


def trlap_cdf(x: ArrayLike, alpha: float, A: float) -> Floats:
    """F(x) = ½ + sign(x) (1 − e^{−α|x|}) / (2(1 − e^{−αA})) on [−A, A]."""
    x = np.clip(x, -A, A)
    half = np.expm1(-alpha * np.abs(x)) / (2 * math.expm1(-alpha * A))
    return np.asarray(0.5 + np.sign(x) * half)


def trlap_quantile(u: ArrayLike, alpha: float, A: float) -> Floats:
    """F⁻¹(u) = −sign(v) ln(1 − (1 − e^{−αA})|v|)/α with v = 2u − 1, u in [0, 1].

    Keeps its digits where αA is tiny and the law nearly uniform.
    """
    v = 2 * np.asarray(u, dtype=np.float64) - 1
    with np.errstate(divide="ignore"):  # where e^{−αA} is lost, the ends are cut to ±A
        x = -np.log1p(math.expm1(-alpha * A) * np.abs(v)) / alpha
    return np.copysign(np.minimum(x, A), v)


def trlap_variance(alpha: float, A: float) -> float:
    """Variance of a coordinate: (2/α²) P(3, αA)/(1 − e^{−αA}), P(3, y) = 1 − e^{−y}(1 + y + y²/2).

    P is the regularised lower incomplete gamma function. The variance is A²/3 (uniform) where
    αA → 0, and Laplace's 2/α² where αA → ∞.
    """
    y = alpha * A
    return float(2 / alpha**2 * special.gammainc(3, y) / -math.expm1(-y))


def published_variances(
    epsilon: float, log_delta: float, dimension: int, clip: float
) -> tuple[float, float, float]:
    """A coordinate's variance in the published (Gaussian, Laplace, truncated Laplace): Theorem 2.

    Its order, the last the smallest, is stated for δ ≤ e^-d. Outside it can fail (d = 10, δ = 0.1,
    ε = 4.9: 2.443C² against the Gaussian's 0.842C²), and it compares an A too small for its claim.
    """
    alpha, A, _ = trlap_parameters(epsilon, log_delta, dimension, clip)
    gaussian = gaussian_sigma_published(epsilon, log_delta, clip) ** 2
    laplace = 2 * laplace_scale_published(epsilon, dimension, clip) ** 2
    return gaussian, laplace, trlap_variance(alpha, A)


def trlap_log_delta(s: ArrayLike, alpha: float, A: float, *, draws: int = 1) -> float:
    """ln δ at the mechanism's own ε = αΔ₁, for the difference s over the real coordinates:

        δ = 1 − Π_j (1 − p(s_j)),   αB = 2(1 − e^{−αA})
        p(t) = (e^{−α(A−|t|)} − e^{−αA})/αB             for |t| ≤ A
        p(t) = 1 − (e^{−α(|t|−A)} − e^{−αA})/αB         for A < |t| < 2A,   1 beyond

    p(t) is the probability that a coordinate falls where the other word's cannot, so δ is the mass
    of the infinite loss; all other losses are at most α‖s‖₁. Exact therefore at every ε ≥ n α‖s‖₁,
    which clipping ensures for one draw at the own ε; a lower bound at smaller ε, and at the own ε
    where vectors were not clipped.
    """
    log_hazard = float(special.logsumexp(_log_exit(s, alpha, A)))
    return _log_probability(log_hazard + math.log(draws))


def _log_exit(t: ArrayLike, alpha: float, A: float) -> Floats:
    """ln(−ln(1 − p(t))) with the p of `trlap_log_delta`."""
    t = np.abs(np.asarray(t, dtype=np.float64))
    if math.isinf(A):
        return np.full_like(t, -math.inf)
    log_alpha_B = math.log(-2 * math.expm1(-alpha * A))
    near, far = np.minimum(t, A), np.clip(t, A, 2 * A)
    with np.errstate(divide="ignore"):
        log_p = alpha * (near - A) + np.log(-np.expm1(-alpha * near)) - log_alpha_B
        log_stay = alpha * (A - far) + np.log(-np.expm1(alpha * (far - 2 * A))) - log_alpha_B
        return np.where(t <= A, _log_hazard(log_p), np.log(-log_stay))


def trlap_log_delta_at(
    epsilon: float,
    s: ArrayLike,
    alpha: float,
    A: float,
    *,
    draws: int = 1,
    pessimistic: bool = True,
) -> float:
    """ln δ(ε) at any ε for the difference s: an upper bound, or (`pessimistic=False`) a lower one.

    Exactly `trlap_log_delta` from n α‖s‖₁ on. Below, that mass of the infinite loss and what the
    finite losses add to it, by the numerical bound of `_Convolved`.
    """
    return _log_delta(_losses(s, alpha, A, draws), epsilon, pessimistic, CELLS)


def trlap_epsilon(
    log_delta: float, s: ArrayLike, alpha: float, A: float, *, draws: int = 1
) -> float:
    """The smallest ε at which the upper bound of `trlap_log_delta_at` meets δ.

    Infinite where the infinite loss alone has more mass than δ.
    """
    return _epsilon(_losses(s, alpha, A, draws), log_delta, CELLS)


def trlap_worst_direction(alpha: float, A: float, dimension: int, clip: float) -> Floats:
    """The s with ‖s‖₂ ≤ 2C, over the real coordinates, of the largest δ at the mechanism's own ε.

    δ rises with ΣG(|s_j|), G(t) = −ln(1 − p(t)). G rises, so the worst s has length 2C. For t ≤ A,
    G′(t) = α/(κe^{−αt} − 1) with κ = 2e^{αA} − 1, and (ln G′(t)/t)′ = α/(1 − e^{αt}/κ) − 1/t rises
    from −∞: as a function of t², G is concave up to some t*, convex from there on, and infinitely
    steep at 0. At a maximum, coordinates below t* are therefore equal, at most one is above t* (two
    would gain by moving apart) and none is 0: one t₁ and d − 1 equal ones. Proven for A ≥ 2C.

    The best t₁ in [2C/√d, 2C] is scanned (4,001 points, then refined). It is 2C/√d, the even
    spread, where t* ≥ 2C: so for every published A at δ = 4^-d, dummy dimensions or not.
    """
    if dimension == 1:
        return _even(dimension, clip)

    def log_total(t1: Floats | float) -> Floats:
        others = _log_exit(_rest(t1, dimension, clip), alpha, A)
        return np.logaddexp(_log_exit(t1, alpha, A), math.log(dimension - 1) + others)

    grid = np.linspace(2 * clip / math.sqrt(dimension), 2 * clip, 4001)
    best = int(np.argmax(log_total(grid)))
    if best == 0:
        return _even(dimension, clip)
    around = grid[best - 1 : best + 2]
    refined, _ = _minimise(lambda t: -float(log_total(t)), float(around[0]), float(around[-1]))
    t1 = max(float(grid[best]), refined, key=lambda t: float(log_total(t)))
    return np.append(np.full(dimension - 1, _rest(t1, dimension, clip)), t1)


def trlap_truncation_exact(epsilon: float, log_delta: float, dimension: int, clip: float) -> float:
    """The smallest A, at α = ε/(2√d C), whose worst δ at ε over ‖s‖₂ ≤ 2C meets δ.

    Infinite (plain Laplace) where δ = 0. The worst s is `trlap_worst_direction`'s: proven up to the
    scan of t₁. A is kept at 2C or above, where that proof holds; this costs something only for
    δ > 1/2, because one axis alone has δ ≥ 1/2 if A ≤ 2C. In one dimension this is the mechanism of
    Geng et al. 2020, A = (Δ/ε) ln(1 + (e^ε − 1)/2δ).
    """
    if log_delta == -math.inf:
        return math.inf
    alpha = epsilon / (2 * math.sqrt(dimension) * clip)
    # at this A, d·p(2C) is δ, and the true δ is at most d·p(2C), but for rounding
    log_ratio = math.log(dimension * math.expm1(2 * alpha * clip) / 2) - log_delta
    enough = max(2 * clip, (1 + 1e-9) * float(np.logaddexp(0, log_ratio)) / alpha)

    def valid(A: float) -> bool:
        s = trlap_worst_direction(alpha, A, dimension, clip)
        return trlap_log_delta(s, alpha, A) <= log_delta

    return _smallest(valid, 2 * clip, enough)


# ---------------------------------------------------------------- any (ε, δ)-DP mechanism, composed


def composed_log_delta(
    at_epsilon: float, epsilon: float, draws: int, *, log_delta: float = -math.inf
) -> float:
    """ln δ at `at_epsilon` of n draws of any (ε, δ)-DP mechanism: the least that holds for all.

    Kairouz, Oh & Viswanath 2015: every such mechanism is dominated by randomised response on two
    values that tells the value outright with probability δ. This is the composition of that.
    """
    return _log_delta(_response_losses(epsilon, log_delta, draws), at_epsilon, True, CELLS)


def composed_epsilon(
    at_log_delta: float, epsilon: float, draws: int, *, log_delta: float = -math.inf
) -> float:
    """The smallest ε at the given δ of n draws of any (ε, δ)-DP mechanism."""
    return _epsilon(_response_losses(epsilon, log_delta, draws), at_log_delta, CELLS)


# ----------------------------------------------------------------------------- the worst difference


def worst_log_delta(
    epsilon: float, alpha: float, A: float, dimension: int, clip: float, *, draws: int = 1
) -> tuple[float, Floats]:
    """(ln δ(ε), s): the largest δ found over ‖s‖₂ ≤ 2C, and where, for truncated Laplace noise.

    Laplace noise is A = inf, α = 1/b. With several draws, all have the same s.

    Proven: δ(ε) rises with every |s_j|, so the worst s has length 2C. (The noise is log-concave, so
    the best test on a coordinate is a threshold, and its power grows with the shift; what dominates
    coordinate by coordinate dominates as a product: Zhu, Dong & Wang 2022, Theorem 10.) And where
    all finite losses are at most ε, the worst s is `trlap_worst_direction`'s.

    Scanned, below that ε: k equal coordinates, and one smaller or d − k equally smaller ones, in
    some 500 combinations. The even spread, k = d, is the worst for every Rényi divergence of
    Laplace noise, and mostly for δ(ε), but not always: sums of losses have atoms, and a smaller k
    may place them better for a given ε (at d = 300 by up to about 1 % of δ). Where ε is below 2αC,
    one axis alone may be the worst. Hill climbing over all directions, in up to 12 dimensions over
    wide ranges of ε, b and A, found δ up to 0.3 % above the one returned, mostly below 0.03 %.
    """
    if epsilon >= draws * alpha * 2 * math.sqrt(dimension) * clip * (1 - EDGE):
        s = trlap_worst_direction(alpha, A, dimension, clip)
        return trlap_log_delta(s, alpha, A, draws=draws), s

    def log_delta(s: Floats) -> float:
        return trlap_log_delta_at(epsilon, s, alpha, A, draws=draws)

    scanned = _worst(epsilon, alpha, A, dimension, clip, draws)[1]
    s = max(scanned, _even(dimension, clip), key=log_delta)
    return log_delta(s), s


def worst_epsilon(
    log_delta: float, alpha: float, A: float, dimension: int, clip: float, *, draws: int = 1
) -> tuple[float, Floats]:
    """(ε, s): the largest ε at δ found over ‖s‖₂ ≤ 2C, and where. See `worst_log_delta`."""
    s = trlap_worst_direction(alpha, A, dimension, clip)
    if trlap_log_delta(s, alpha, A, draws=draws) > log_delta:
        return math.inf, s

    def epsilon(s: Floats, cells: int = CELLS) -> float:
        return _epsilon(_losses(s, alpha, A, draws), log_delta, cells)

    candidates = _candidates(alpha, A, dimension, clip)
    scanned = max(candidates, key=lambda s: epsilon(s, SCAN_CELLS))
    s = max(scanned, _even(dimension, clip), key=epsilon)
    return epsilon(s), s


def _worst(
    epsilon: float, alpha: float, A: float, dimension: int, clip: float, draws: int
) -> tuple[float, Floats]:
    candidates = _candidates(alpha, A, dimension, clip)
    scored = ((_log_delta(_losses(s, alpha, A, draws), epsilon), s) for s in candidates)
    return max(scored, key=lambda pair: pair[0])


def _candidates(alpha: float, A: float, dimension: int, clip: float) -> Iterator[Floats]:
    """The differences that `worst_log_delta` compares, all of length 2C."""
    edge = 12  # every k near 1 and near d, some between
    ks = {*range(1, edge), *range(dimension - edge, dimension + 1)}
    ks |= set(np.linspace(1, dimension, 2 * edge).astype(int).tolist())
    for k in sorted(k for k in ks if 1 <= k <= dimension):
        smaller = [(1, ratio) for ratio in (0.0, 0.1, 0.4, 0.7, 0.9)]
        smaller += [(dimension - k, ratio) for ratio in (0.02, 0.1, 0.3, 0.5, 0.7, 0.85)]
        for count, ratio in smaller if k < dimension else [(0, 0.0)]:
            s = np.zeros(dimension)
            s[:k] = 1
            s[k : k + count] = ratio
            yield s * (2 * clip / np.linalg.norm(s))
    if math.isfinite(A):
        yield trlap_worst_direction(alpha, A, dimension, clip)


def _even(dimension: int, clip: float) -> Floats:
    return np.full(dimension, 2 * clip / math.sqrt(dimension))


def _rest(t1: Floats | float, dimension: int, clip: float) -> Floats:
    """The d − 1 equal coordinates that, with t₁, have norm 2C."""
    return np.sqrt(np.maximum(0, 4 * clip**2 - np.square(t1)) / (dimension - 1))


# -------------------------------------------------------------------- the privacy-loss distribution
# Written here rather than taken from dp-accounting (which the tests use as an oracle) for δ far
# below 1e-16, for 300 different coordinates within a second, and for a bound on either side.

EDGE = 1e-12  # an ε this close to the largest loss, relatively, is at it: αΔ₁ = ε up to rounding


@dataclass(frozen=True)
class _Losses:
    """Privacy losses of independent coordinates, as μ with dP = e^{ℓ/2} dμ and dQ = e^{−ℓ/2} dμ.

    P and Q are the laws of ℓ = ln dP/dQ under the one word and under the other. For symmetric noise
    μ is symmetric, and here it always has this form: `atom` at ±`width` and constant `density`
    between, times e^`log_scale`. Coordinate i occurs `count[i]` times a draw. `log_infinity` is the
    log-probability that some loss, of all draws, is infinite.
    """

    width: Floats
    atom: Floats
    density: Floats
    log_scale: Floats
    count: NDArray[np.int64]
    draws: int
    log_infinity: float

    @property
    def largest(self) -> float:
        """The largest finite loss, all coordinates and draws together."""
        return self.draws * float(self.count @ self.width)

    def end_at(self, epsilon: float) -> bool:
        """Whether no finite loss exceeds ε."""
        return epsilon >= self.largest * (1 - EDGE)

    def log_mgf(self, tilt: float) -> float:
        """ln ∫ e^{tilt·ℓ} dμ, all coordinates and draws together."""
        tilt = max(abs(tilt), 1e-200)
        x = tilt * self.width
        mass = self.atom * (1 + np.exp(-2 * x)) - self.density * np.expm1(-2 * x) / tilt
        return self.draws * float(self.count @ (self.log_scale + x + np.log(mass)))

    def log_renyi(self, x: float) -> float:
        """A bound for every k = e^x > 0: ln δ(ε) ≤ this − kε, but for the infinite loss.

        Because (1 − e^{−u})₊ ≤ e^{ku} k^k/(k + 1)^{k+1} (Canonne, Kamath & Steinke 2020, Prop. 12).
        """
        k = math.exp(x)
        return self.log_mgf(k + 0.5) + k * x - (k + 1) * math.log1p(k)


def _losses(s: ArrayLike, alpha: float, A: float = math.inf, draws: int = 1) -> _Losses:
    """Losses of truncated Laplace noise for the difference s. A coordinate shifted by t > 0 has

        μ = e^{−αt/2}/αB · [(1 − e^{−α(A−t)})₊ at ±w, ½ between],   w = α min(t, 2A − t)

    with αB = 2(1 − e^{−αA}), because at x its loss is αt for x < 0, α(t − 2x) for 0 < x < t, −αt
    for x > t, and infinite for x < t − A.
    """
    t, count = np.unique(np.abs(np.asarray(s, dtype=np.float64)), return_counts=True)
    t, count = t[t > 0], count[t > 0]
    if (t >= 2 * A).any():  # the supports do not meet: no loss is finite
        t, count = t[:0], count[:0]
    return _Losses(
        width=alpha * np.minimum(t, 2 * A - t),
        atom=-np.expm1(-alpha * np.maximum(A - t, 0)),
        density=np.full(len(t), 0.5),
        log_scale=-alpha * t / 2 - math.log(-2 * math.expm1(-alpha * A)),
        count=count,
        draws=draws,
        log_infinity=trlap_log_delta(s, alpha, A, draws=draws),
    )


def _response_losses(epsilon: float, log_delta: float, draws: int) -> _Losses:
    """Randomised response: ±ε with probability (1 − δ)e^{±ε/2}/2cosh(ε/2), infinite with δ."""
    log_hazard = float(_log_hazard(log_delta))
    return _Losses(
        width=np.array([epsilon]),
        atom=np.ones(1),
        density=np.zeros(1),
        log_scale=np.array([-math.exp(log_hazard) - epsilon / 2 - math.log1p(math.exp(-epsilon))]),
        count=np.ones(1, dtype=np.int64),
        draws=draws,
        log_infinity=_log_probability(log_hazard + math.log(draws)),
    )


def _log_delta(
    losses: _Losses, epsilon: float, pessimistic: bool = True, cells: int = SCAN_CELLS
) -> float:
    if losses.end_at(epsilon):
        return losses.log_infinity
    # Tilted by the order of the best Rényi bound, the losses that count at ε are the likely ones.
    x, _ = _minimise(lambda x: losses.log_renyi(x) - math.exp(x) * epsilon, -20, 20)
    return _Convolved(losses, 0.5 + math.exp(x), pessimistic, cells).log_delta(epsilon)


def _epsilon(losses: _Losses, log_delta: float, cells: int = SCAN_CELLS) -> float:
    if log_delta < losses.log_infinity:
        return math.inf
    if log_delta == losses.log_infinity or losses.largest == 0:
        return losses.largest
    log_finite = log_delta + _log1mexp(losses.log_infinity - log_delta)
    x, _ = _minimise(lambda x: (losses.log_renyi(x) - log_finite) / math.exp(x), -20, 20)
    convolved = _Convolved(losses, 0.5 + math.exp(x), True, cells)
    if convolved.log_delta(0.0) <= log_delta:
        return 0.0
    return _smallest(
        lambda e: convolved.log_delta(e) <= log_delta, 1e-12 * losses.largest, losses.largest
    )


class _Convolved:
    """The law of the sum of all losses, on a grid by FFT, and δ(ε) from it.

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
    lower, and so is an allowance for rounding.
    """

    outside = 45.0  # the window is laid so that about e^-45 of the tilted mass is outside
    negligible = 1e-30  # the tail of a coordinate is cut off where no point has more mass than this
    rounding = 1e-12  # allows for such cuts and for the FFT, which is good to about 1e-14

    def __init__(self, losses: _Losses, tilt: float, pessimistic: bool, cells: int) -> None:
        self.losses, self.tilt, self.pessimistic = losses, tilt, pessimistic
        above, high = self._reach(+1)
        below, low = self._reach(-1)
        span = max(high - low, 2 * float(losses.width.max()))
        # coordinates that occur once are convolved one by one: at most 2·cells points in all
        step = max(span, float(losses.width[losses.count == 1].sum())) / cells
        common = float(losses.width[np.argmax(losses.count)])
        if common > step:  # puts the atoms of the most frequent coordinate on the grid
            step = common / math.ceil(common / step)
        first = int((losses.largest - high) / step)
        coordinates = losses.draws * int(losses.count.sum())  # each may reach one step too low
        size = fft.next_fast_len(int(span / step) + 2 + min(coordinates, cells), real=True)

        spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
        single: list[Floats] = []
        log_mass, log_above, log_below, last = 0.0, 0.0, 0.0, 0
        for width, atom, density, log_scale, count in zip(
            losses.width,
            losses.atom,
            losses.density,
            losses.log_scale,
            losses.count.tolist(),
            strict=True,
        ):
            mass = (_spread if pessimistic else _merge)(width, atom, density, step)
            mass *= np.exp(-tilt * step * np.arange(len(mass)))
            total = mass.sum()
            mass /= total
            mass = mass[: np.flatnonzero(mass > self.negligible)[-1] + 1]
            if count == 1:
                single.append(mass)
            else:
                spectrum *= fft.rfft(mass, size) ** count
            down = step * np.arange(len(mass))
            log_mass += count * (log_scale + tilt * width + math.log(total))
            log_above += count * math.log(max(1e-300, mass @ np.exp(-above * down)))
            log_below += count * (
                below * down[-1] + math.log(mass @ np.exp(below * (down - down[-1])))
            )
            last += count * (len(mass) - 1)
        while len(single) > 1:  # in pairs of like length: far cheaper than a full FFT for each
            odd = single[len(single) // 2 * 2 :]
            pairs = zip(single[::2], single[1::2], strict=False)
            single = [signal.fftconvolve(x, y) for x, y in pairs] + odd
        for mass in single:
            folded = np.pad(mass, (0, -len(mass) % size)).reshape(-1, size).sum(axis=0)
            spectrum *= fft.rfft(folded)

        self.log_mass = losses.draws * log_mass
        self.mass = np.roll(fft.irfft(spectrum**losses.draws, size), -(first % size))
        self.loss = losses.largest - step * (first + np.arange(size))
        self.error = self.rounding
        if first > 0:
            self.error += math.exp(min(0.0, losses.draws * log_above + above * step * first))
        if losses.draws * last >= first + size:
            log_outside = losses.draws * log_below - below * step * (first + size)
            self.error += math.exp(min(0.0, log_outside))

    def _reach(self, sign: int) -> tuple[float, float]:
        """(order, loss): by a Chernoff bound of that order, e^-45 of the mass is past the loss."""
        mgf, centre = self.losses.log_mgf, self.losses.log_mgf(self.tilt)

        def distance(x: float) -> float:
            order = math.exp(x)
            return (mgf(self.tilt + sign * order) - centre + self.outside) / order

        x, reach = _minimise(distance, -15, 20)
        return math.exp(x), sign * min(reach, self.losses.largest)

    def log_delta(self, epsilon: float) -> float:
        """ln of ∫(e^{ℓ/2} − e^{ε−ℓ/2})₊ dμ and the infinite mass, in tilted form, u = ℓ − ε > 0."""
        u = self.loss[: np.searchsorted(-self.loss, -epsilon)] - epsilon
        weight = -np.expm1(-u) * np.exp((0.5 - self.tilt) * u)  # at most 1
        total = float(self.mass[: len(u)] @ weight)
        total += self.error if self.pessimistic else -self.error
        if total <= 0:
            return self.losses.log_infinity
        log_finite = self.log_mass + (0.5 - self.tilt) * epsilon + math.log(total)
        return min(0.0, float(np.logaddexp(log_finite, self.losses.log_infinity)))


def _spread(width: float, atom: float, density: float, h: float) -> Floats:
    """μ on the points width − i·h, split so that ∫e^{±ℓ/2} dμ are kept: for the upper bound.

    Of an atom at y between x and x + h, sinh((y − x)/2)/sinh(h/2) goes up and
    sinh((x + h − y)/2)/sinh(h/2) down; the constant part is the integral of that.
    """
    n = max(1, math.ceil(2 * width / h - 1e-9))
    gap = max(0.0, n * h - 2 * width)  # from the lowest point up to −width, where μ begins
    mass = np.zeros(n + 1)
    mass[0] = atom
    mass[: n - 1] += 2 * density * math.tanh(h / 4)
    mass[1:n] += 2 * density * math.tanh(h / 4)
    rest = math.sinh((h - gap) / 4)
    up = 4 * density * math.sinh((h + gap) / 4) * rest + atom * math.sinh(gap / 2)
    down = 4 * density * rest**2 + atom * math.sinh((h - gap) / 2)
    mass[n - 1] += up / math.sinh(h / 2)
    mass[n] += down / math.sinh(h / 2)
    return mass


def _merge(width: float, atom: float, density: float, h: float) -> Floats:
    """μ on the points width − i·h, merged in buckets or rounded down: for the lower bound.

    The constant part over [y − h, y + h] has mass 4·density·sinh(h/2)·e^{±y/2} under P and Q:
    merged, its loss is y. Buckets lie around odd i. Rounding a loss down keeps its mass under P.
    """
    n = max(1, math.ceil(2 * width / h - 1e-9))
    buckets = math.floor(width / h + 1e-9)
    rest = max(0.0, 2 * width - 2 * h * buckets)
    drop = max(0.0, n * h - 2 * width)
    mass = np.zeros(n + 1)
    mass[0] = atom
    mass[1 : 2 * buckets : 2] = 4 * density * math.sinh(h / 2)
    mass[n] += (atom + 2 * density * math.expm1(rest / 2)) * math.exp(drop / 2)
    return mass
