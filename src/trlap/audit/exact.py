"""The exact guarantee of a mechanism, beside the one its authors claim.

Everything is canonical word-level DP: M is (ε, δ)-DP if Pr[M(w) ∈ S] ≤ e^ε Pr[M(w') ∈ S] + δ for all
words w, w' and all events S. Metric-DP mechanisms are converted, ε times the largest distance, so that
all stand on one axis. Two scopes:

- all clipped vectors (‖s‖₂ ≤ 2C): what a vector mechanism is calibrated for; `guarantee`. A word
  mechanism has no vectors, so for it the scope is the vocabulary;
- the words of the vocabulary in use: `vocabulary`, the largest pair and quantiles.

And two points of release: the noisy vector, which Theorem 1 speaks of and where values are exact; and the
projected word, which Algorithm 1 returns. Projection is post-processing, so the vector's δ is an upper
bound for the word, and no more than that.

δ travels as its logarithm: 4^-1700 is no float.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trlap.audit.geometry import Geometry, difference, extremes, geometry, random_pairs
from trlap.mechanisms import cmp
from trlap.mechanisms._released import Released
from trlap.mechanisms.base import Base, Claim, VectorMechanism, WordMechanism
from trlap.privacy import noise as privacy
from trlap.privacy.multivariate_laplace import laplace_ball_epsilon, laplace_ball_log_delta

Floats = NDArray[np.float64]

LOG_1E6 = math.log(1e-6)
ROUNDING = 1e-9  # relative: two ways to compute one number need not agree to the last digit
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
SAMPLED_PAIRS = 1000  # for quantiles of vector mechanisms
SAMPLED_ROWS = 50  # pairs of words whose rows of the word-to-word matrix are compared
CELLS = 2**21  # float64 probabilities at once: 16 MiB, whatever the vocabulary

UNKNOWN = (
    "mahalanobis as released makes its noise from the batch's own words: no bound is known, "
    "and none is claimed here"
)


# ---------------------------------------------------------------------------------------- the block


def guarantee(mechanism: Base) -> dict[str, Any]:
    """The `guarantee` block of result.json, as far as mathematics alone can fill it.

    `exact` is the worst case over all clipped vectors for the noisy vector, or over the vocabulary for a
    word mechanism. Its ε is the claimed one, or, for metric DP, the claimed ε times the largest distance;
    its δ is the exact δ at that ε. `holds` judges the claim where its authors make it; null where nothing
    was claimed or nothing is known.
    """
    claim = mechanism.claimed()
    exact, holds = _exact(mechanism, claim)
    # of a vector mechanism's word nothing is known from below before an attack
    vector = isinstance(mechanism, VectorMechanism) and claim.notion != "none"
    lower = 0.0 if vector else exact["delta"]
    return {
        "claimed": claimed(claim),
        "exact": exact,
        "empirical": None,
        "word": word_block(lower, exact, claim),
        "holds": holds,
    }


def claimed(claim: Claim) -> dict[str, Any]:
    block: dict[str, Any] = {
        "notion": claim.notion,
        "epsilon": claim.epsilon,
        "log10_delta": privacy.log_to_log10(claim.log_delta),
    }
    return block | ({"distance": claim.distance} if claim.distance else {})


def word_block(lower: float, exact: dict[str, Any], claim: Claim) -> dict[str, Any]:
    """Bounds on the projected word's δ at the ε in question, and what they say about the claim."""
    upper = exact["delta"]
    verdict: str | None = "undecided"
    if claim.notion == "none":
        verdict = None
    elif upper is not None and _at_most(exact["log10_delta"] * math.log(10), claim.log_delta):
        verdict = "holds"
    elif lower > 0 and math.log(lower) > claim.log_delta:
        verdict = "refuted"
    return {"delta_lower": lower, "delta_upper": upper, "verdict": verdict}


def _exact(mechanism: Base, claim: Claim) -> tuple[dict[str, Any], bool | None]:
    if isinstance(mechanism, Released) and mechanism.released == "mahalanobis":
        unknown = dict.fromkeys(
            ("notion", "epsilon", "delta", "log10_delta", "epsilon_at_delta_1e6")
        )
        return {**unknown, "reason": UNKNOWN}, None
    if claim.notion == "metric DP":
        epsilon = mechanism.epsilon_at(-math.inf)
        log_delta = 0.0 if math.isinf(epsilon) else -math.inf
        holds: bool | None = epsilon <= worst_claimed_epsilon(mechanism) * (1 + ROUNDING)
    else:
        epsilon = claim.epsilon
        log_delta = 0.0 if math.isinf(epsilon) else mechanism.log_delta(epsilon)
        holds = None if claim.notion == "none" else _at_most(log_delta, claim.log_delta)
    return {
        "notion": _notion(log_delta),
        "epsilon": epsilon,
        "delta": math.exp(log_delta),
        "log10_delta": privacy.log_to_log10(log_delta),
        "epsilon_at_delta_1e6": mechanism.epsilon_at(LOG_1E6),
    }, holds


def _notion(log_delta: float) -> str:
    if log_delta == 0:
        return "none"
    return "ε-DP" if log_delta == -math.inf else "(ε, δ)-DP"


def _at_most(log_delta: float, limit: float) -> bool:
    return log_delta <= limit + ROUNDING


def worst_claimed_epsilon(mechanism: Base) -> float:
    """The claimed ε; for metric DP times the largest distance that there can be."""
    claim = mechanism.claimed()
    if claim.notion != "metric DP":
        return claim.epsilon
    if isinstance(mechanism, cmp.Mechanism):
        return claim.epsilon * mechanism.distance()
    return claim.epsilon * min(2 * mechanism.clip, getattr(mechanism, "threshold", math.inf))


def claimed_epsilon(mechanism: Base, first: int, second: int) -> float:
    """The ε that the authors claim for these two words: for metric DP it counts their distance."""
    claim = mechanism.claimed()
    if claim.notion != "metric DP":
        return claim.epsilon
    if isinstance(mechanism, cmp.Mechanism):
        return claim.epsilon * mechanism.distance(_gap(mechanism, first, second))
    distance = float(np.linalg.norm(_gap(mechanism, first, second)))
    return claim.epsilon * min(distance, getattr(mechanism, "threshold", math.inf))


def _gap(mechanism: Base, first: int, second: int) -> Floats:
    """s, the difference of two words' clipped vectors."""
    vectors = mechanism.space.vectors
    gap: Floats = (vectors[first].double() - vectors[second].double()).cpu().numpy()
    return gap


# --------------------------------------------------------------------------- the vocabulary in use


def vector_vocabulary(mechanism: VectorMechanism, seed: int) -> dict[str, Any]:
    """The largest pair of vocabulary words and quantiles over sampled pairs, for the noisy vector.

    Privacy-loss distributions are computed for the pairs reported and no others.
    """
    if isinstance(mechanism, Released):
        return {"words": len(mechanism.space), "reason": _release_reason(mechanism)}
    noise = geometry(mechanism)
    size = len(mechanism.space)
    first, second = random_pairs(size, SAMPLED_PAIRS, seed)
    if noise is None:  # a mechanism of a user's own
        first, second = first[:SAMPLED_ROWS], second[:SAMPLED_ROWS]
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        found = [vector_pair(mechanism, i, j) for i, j in pairs]
        found.sort(key=lambda pair: (pair["log10_delta"], pair["distance"]))
        search = f"the largest of {len(found)} sampled pairs"
        return {"words": size, "search": search, "largest": found[-1], "smallest": found[0]}
    ends = extremes(noise, seed)
    quantiles = _quantiles(noise.distance(first, second))
    block: dict[str, Any] = {
        "words": size,
        "search": ends.search,
        "norm": noise.unit,
        "largest": vector_pair(mechanism, *ends.largest, noise),
        "smallest": vector_pair(mechanism, *ends.smallest, noise),
        "quantiles": {"pairs": len(first), "distance": quantiles},
    }
    if math.isfinite(noise.bound):
        deltas = [
            privacy.trlap_log_delta(s, noise.rate, noise.bound)
            for s in difference(noise, first, second)
        ]
        block["quantiles"]["delta"] = {q: math.exp(x) for q, x in _quantiles(deltas).items()}
    elif noise.norm == "l1":  # pure ε; a δ > 0 would need a loss distribution for each pair
        block["quantiles"]["epsilon"] = {q: noise.rate * x for q, x in quantiles.items()}
    else:  # δ rises with the distance, so quantiles carry over
        block["quantiles"]["epsilon_at_delta_1e6"] = {
            q: _epsilon_of_distance(mechanism, x) for q, x in quantiles.items()
        }
    return block


def vector_pair(
    mechanism: VectorMechanism, first: int, second: int, noise: Geometry | None = None
) -> dict[str, Any]:
    """What two words of the vocabulary cost, exactly, for the noisy vector."""
    s = _gap(mechanism, first, second)
    epsilon = claimed_epsilon(mechanism, first, second)
    log_delta = mechanism.log_delta(epsilon, s)
    pair = np.array([first]), np.array([second])
    return {
        "words": [mechanism.space.words[first], mechanism.space.words[second]],
        "indices": [first, second],
        "distance": float(np.linalg.norm(s)) if noise is None else float(noise.distance(*pair)[0]),
        "claimed_epsilon": epsilon,
        "delta": math.exp(log_delta),
        "log10_delta": privacy.log_to_log10(log_delta),
        "epsilon_at_delta_1e6": mechanism.epsilon_at(LOG_1E6, s),
    }


def _epsilon_of_distance(mechanism: VectorMechanism, distance: float) -> float:
    if isinstance(mechanism, cmp.Mechanism):
        dimension = mechanism.noise_dimension
        return laplace_ball_epsilon(LOG_1E6, mechanism.epsilon, distance, dimension)
    return mechanism.epsilon_at(LOG_1E6, np.array([distance]))


def _quantiles(values: Any) -> dict[str, float]:
    values = np.asarray(values, dtype=np.float64)
    found = np.quantile(values, QUANTILES, method="nearest")  # some may be infinite
    return {f"{q:g}": float(x) for q, x in zip(QUANTILES, found, strict=True)}


def _release_reason(mechanism: Released) -> str:
    if mechanism.released == "mahalanobis":
        return UNKNOWN
    return "one noise vector a batch: whoever knows one other word of it has the noise, so δ = 1"


@dataclass(frozen=True)
class Matrix:
    """What one pass over the rows of a word-to-word matrix Q(y|w) tells.

    epsilon   sup_{w,w',y} ln Q(y|w)/Q(y|w') = max_y (max_w ln Q(y|w) − min_w ln Q(y|w)): exact
    pair      the w and w' that reach it, and the output y
    guesses   for every y the word with the largest prior_w Q(y|w), the Bayes-optimal guess
    likelihoods   Q(y|guess)
    kept      Q(w|w)
    error     the largest |Σ_y Q(y|w) − 1|
    """

    epsilon: float
    pair: tuple[int, int, int]
    guesses: NDArray[np.int64]
    likelihoods: Floats
    kept: Floats
    error: float


def matrix(mechanism: WordMechanism) -> Matrix:
    size = len(mechanism.space)
    prior = torch.from_numpy(np.log(np.maximum(mechanism.space.prior, 1e-300)))
    none = torch.full((size,), -math.inf, dtype=torch.float64)
    high, low, posterior = none.clone(), -none, none.clone()
    highest, lowest, guesses = (torch.zeros(size, dtype=torch.long) for _ in range(3))
    likelihoods, kept = torch.zeros(size).double(), torch.zeros(size).double()
    error = 0.0
    for words in torch.arange(size).split(max(1, CELLS // size)):
        rows = mechanism.log_probabilities(words.to(mechanism.space.device)).cpu()
        error = max(error, float((rows.exp().sum(1) - 1).abs().max()))
        kept[words] = rows[torch.arange(len(words)), words].exp()
        _update(rows.max(0), high, highest, words, 1)
        _update(rows.min(0), low, lowest, words, -1)
        best = (rows + prior[words, None]).max(0)
        better = best.values > posterior
        posterior[better] = best.values[better]
        guesses[better] = words[best.indices[better]]
        likelihoods[better] = rows[best.indices[better], better.nonzero().squeeze(1)].exp()
    spread = torch.where(
        high > -math.inf, high - low, -math.inf
    )  # a y that no word has says nothing
    y = int(spread.argmax())
    pair = int(highest[y]), int(lowest[y]), y
    found = guesses.numpy(), likelihoods.numpy(), kept.numpy()
    return Matrix(float(spread[y]), pair, *found, error)


def _update(found: Any, best: Tensor, where: Tensor, words: Tensor, sign: int) -> None:
    better = sign * found.values > sign * best
    best[better] = found.values[better]
    where[better] = words[found.indices[better]]


def word_vocabulary(mechanism: WordMechanism, found: Matrix, seed: int) -> dict[str, Any]:
    """The largest pair of vocabulary words, and quantiles over sampled pairs: exact for the word."""
    size = len(mechanism.space)
    first, second = (part[:SAMPLED_ROWS] for part in random_pairs(size, SAMPLED_ROWS, seed))
    words = [
        word_pair(mechanism, i, j) for i, j in zip(first.tolist(), second.tolist(), strict=True)
    ]
    limit = privacy.log_to_log10(mechanism.claimed().log_delta)
    return {
        "words": size,
        "search": f"all {size * (size - 1) // 2:,} pairs and all outputs",
        "epsilon": found.epsilon,
        "row_sum_error": found.error,
        "largest": word_pair(mechanism, *found.pair[:2])
        | {"output": mechanism.space.words[found.pair[2]]},
        "violations": sum(pair["log10_delta"] > limit for pair in words),
        "quantiles": {
            "pairs": len(words),
            "epsilon": _quantiles([pair["epsilon"] for pair in words]),
            "epsilon_at_delta_1e6": _quantiles([pair["epsilon_at_delta_1e6"] for pair in words]),
        },
    }


def word_pair(mechanism: WordMechanism, first: int, second: int) -> dict[str, Any]:
    """What two words cost, exactly, from their rows: the dearer of the two directions."""
    ends = torch.tensor([first, second], device=mechanism.space.device)
    rows = mechanism.log_probabilities(ends).cpu().double().numpy()
    epsilon = claimed_epsilon(mechanism, first, second)
    ways = (rows[0], rows[1]), (rows[1], rows[0])
    log_delta = max(row_log_delta(p, q, epsilon) for p, q in ways)
    return {
        "words": [mechanism.space.words[first], mechanism.space.words[second]],
        "indices": [first, second],
        "claimed_epsilon": epsilon,
        "delta": math.exp(log_delta),
        "log10_delta": privacy.log_to_log10(log_delta),
        "epsilon": max(float(losses(p, q).max()) for p, q in ways),
        "epsilon_at_delta_1e6": max(row_epsilon(p, q, LOG_1E6) for p, q in ways),
    }


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
    """The smallest ε ≥ 0 with Σ_y (P(y) − e^ε Q(y))₊ ≤ δ."""
    low, high = 0.0, float(losses(p, q).max())
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


# -------------------------------------------------------------------------------------- composition


def composition(
    mechanism: Base, lengths: Sequence[int], epochs: int | None, exact: dict[str, Any]
) -> dict[str, Any]:
    """What a whole document costs: n words, each privatised once, or once an epoch where noise is redrawn.

    Two documents of n words of which all may differ. `basic` adds up the exact (ε, δ) of one word;
    `loss_distribution` composes the losses themselves, at δ = 1e-6, for the worst pair at every position.
    """
    counted = [n for n in lengths if n > 0]
    if not counted:
        return {}
    documents = {"median": median_low(counted), "longest": max(counted)}
    return {
        name: _document(mechanism, words, epochs or 1, exact) for name, words in documents.items()
    } | {"draws_a_word": epochs or 1}


def _document(mechanism: Base, words: int, epochs: int, exact: dict[str, Any]) -> dict[str, Any]:
    draws, claim = words * epochs, mechanism.claimed()
    block: dict[str, Any] = {"words": words, "draws": draws}
    if claim.notion in ("ε-DP", "(ε, δ)-DP"):
        block["claimed_basic"] = _basic(claim.epsilon, claim.log_delta, draws)
    if exact["epsilon"] is None:
        return block | {"basic": None, "loss_distribution": None, "reason": exact["reason"]}
    block["basic"] = _basic(exact["epsilon"], exact["log10_delta"] * math.log(10), draws)
    epsilon, method = composed_epsilon(mechanism, LOG_1E6, draws)
    return block | {
        "loss_distribution": {"epsilon": epsilon, "log10_delta": -6.0, "method": method}
    }


def _basic(epsilon: float, log_delta: float, draws: int) -> dict[str, float]:
    epsilon, log_delta = privacy.basic_composition(epsilon, log_delta, draws)
    return {"epsilon": epsilon, "log10_delta": privacy.log_to_log10(log_delta)}


def composed_epsilon(mechanism: Base, log_delta: float, draws: int) -> tuple[float, str]:
    """The ε at that δ of n draws for the worst pair at every position, and how it was found."""
    if isinstance(mechanism, cmp.Mechanism):
        return _ball_composed(mechanism, log_delta, draws), "privacy-loss distribution"
    epsilon = mechanism.composed_epsilon(log_delta, draws)
    if math.isinf(epsilon):
        return epsilon, "none is finite"
    if type(mechanism).composed_epsilon is Base.composed_epsilon:
        return epsilon, "the most that any mechanism of this pure ε can lose"
    return epsilon, "privacy-loss distribution"


def _ball_composed(
    mechanism: cmp.Mechanism, log_delta: float, draws: int, points: int = 120
) -> float:
    """n-fold composition of the multivariate Laplace from its exact δ(ε') on a grid.

    Between the grid points the distribution is completed pessimistically ("connect the dots", Doroshenko
    et al. 2022, in dp-accounting), so this is an upper bound. What is lost beyond the grid, 1e-4 of δ, is
    counted as lost for good. For ε' < 0, δ(ε') = 1 − e^{ε'}(1 − δ(−ε')), the pair being symmetric.
    """
    from dp_accounting.pld import pld_pmf

    rate, distance, dimension = mechanism.epsilon, mechanism.distance(), mechanism.noise_dimension
    largest = laplace_ball_epsilon(log_delta - math.log(1e4 * draws), rate, distance, dimension)
    if largest == 0:
        return 0.0
    grid = np.arange(points + 1) * (largest / points)
    above = np.exp([laplace_ball_log_delta(e, rate, distance, dimension) for e in grid])
    below = 1 - np.exp(-grid[:0:-1]) * (1 - above[:0:-1])
    losses = pld_pmf.create_pmf_pessimistic_connect_dots(
        largest / points, np.arange(-points, points + 1), np.concatenate([below, above])
    )
    found = losses.self_compose(draws).get_epsilon_for_delta(math.exp(log_delta))
    return min(float(found), draws * rate * distance)
