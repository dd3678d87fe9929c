"""The words in use: which two are told apart best, and quantiles over sampled pairs. Nothing here is noisy.

A mechanism whose channel is known is asked for its rows, one whose noise has a geometry for its distances,
any other for sampled pairs. Privacy-loss distributions are computed for the pairs reported and no others.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trlap.audit.channel import Matrix
from trlap.audit.guarantee import LOG_1E6
from trlap.audit.records import PairCost, Quantile, Quantiles, Vocabulary
from trlap.mechanisms._extremes import difference, extremes, random_pairs
from trlap.mechanisms._geometry import Floats, Geometry
from trlap.mechanisms.base import Mechanism
from trlap.privacy.composition import log_to_log10
from trlap.privacy.numerics import log_probability_of

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
# pairs for quantiles of distances
SAMPLED_PAIRS = 1000
# pairs of words whose rows of the word-to-word matrix, or whose exact costs, are compared
SAMPLED_ROWS = 50


def vocabulary(mechanism: Mechanism, matrix: Matrix | None, seed: int) -> Vocabulary:
    """The largest pair of words and quantiles over sampled ones, or why there is none to look at."""
    size = len(mechanism.space)
    if size < 2:
        return Vocabulary(size, reason="one word: there is nothing to tell apart")
    if mechanism.all_pairs is not None:
        return Vocabulary(size, reason=mechanism.all_pairs)
    if matrix is not None:
        return _by_rows(mechanism, matrix, seed)
    noise = mechanism.geometry()
    return _sampled(mechanism, seed) if noise is None else _by_distance(mechanism, noise, seed)


def pair_cost(mechanism: Mechanism, first: int, second: int) -> PairCost:
    """What these two words cost at the ε that was claimed for them."""
    epsilon = mechanism.claimed_epsilon(first, second)
    log_delta = mechanism.pair_log_delta(epsilon, first, second)
    words = mechanism.space.words
    return PairCost(
        words=(words[first], words[second]),
        indices=(first, second),
        claimed_epsilon=epsilon,
        delta=math.exp(log_delta),
        log10_delta=log_to_log10(log_delta),
        epsilon_at_delta_1e6=mechanism.pair_epsilon_at(LOG_1E6, first, second),
    )


# ------------------------------------------------------------------------------------- a known channel


def _by_rows(mechanism: Mechanism, matrix: Matrix, seed: int) -> Vocabulary:
    """The largest of all pairs and outputs: exact for the word."""
    size = len(mechanism.space)
    pairs = [row_cost(mechanism, i, j) for i, j in _pairs(size, SAMPLED_ROWS, seed)]
    limit = log_to_log10(mechanism.claimed().log_delta)
    first, second, output = matrix.pair
    return Vocabulary(
        words=size,
        search=f"all {size * (size - 1) // 2:,} pairs and all outputs",
        epsilon=matrix.epsilon,
        row_sum_error=matrix.error,
        largest=replace(row_cost(mechanism, first, second), output=mechanism.space.words[output]),
        violations=sum(pair.log10_delta > limit for pair in pairs),
        quantiles=Quantiles(
            pairs=len(pairs),
            epsilon=_quantiles([pair.epsilon or 0.0 for pair in pairs]),
            epsilon_at_delta_1e6=_quantiles([pair.epsilon_at_delta_1e6 for pair in pairs]),
        ),
    )


def row_cost(mechanism: Mechanism, first: int, second: int) -> PairCost:
    """With the ε at δ = 0, which two rows tell at once."""
    cost = pair_cost(mechanism, first, second)
    return replace(cost, epsilon=mechanism.pair_epsilon_at(-math.inf, first, second))


# ------------------------------------------------------------------------------- a geometry of the noise


def _by_distance(mechanism: Mechanism, noise: Geometry, seed: int) -> Vocabulary:
    """The largest of all pairs, for the noisy vector: δ rises with a distance, or with a hazard."""
    size = len(mechanism.space)
    ends = extremes(noise, seed)
    return Vocabulary(
        words=size,
        search=ends.search,
        norm=noise.unit,
        largest=distance_cost(mechanism, noise, ends.largest),
        smallest=distance_cost(mechanism, noise, ends.smallest),
        quantiles=_distance_quantiles(mechanism, noise, seed),
    )


def distance_cost(mechanism: Mechanism, noise: Geometry, pair: tuple[int, int]) -> PairCost:
    """With the distance in the norm of the noise."""
    first, second = pair
    distance = float(noise.distance(np.array([first]), np.array([second]))[0])
    return replace(pair_cost(mechanism, first, second), distance=distance)


def _distance_quantiles(mechanism: Mechanism, noise: Geometry, seed: int) -> Quantiles:
    first, second = random_pairs(len(mechanism.space), SAMPLED_PAIRS, seed)
    distances = _quantiles(noise.distance(first, second))
    pairs = Quantiles(len(first), distances)
    if noise.bounded:
        differences = difference(noise, first, second)
        deltas = [log_probability_of(noise.log_exit(s)) for s in differences]
        return replace(pairs, delta={q: math.exp(x) for q, x in _quantiles(deltas).items()})
    if noise.unit == "l1":
        # pure ε; a δ > 0 would need a loss distribution for each pair
        return replace(pairs, epsilon={q: noise.rate * x for q, x in distances.items()})
    # δ rises with the distance, so quantiles carry over
    epsilons = {q: mechanism.epsilon_at_distance(LOG_1E6, x) for q, x in distances.items()}
    return replace(pairs, epsilon_at_delta_1e6=epsilons)


# ------------------------------------------------------------------------------- nothing but the contract


def _sampled(mechanism: Mechanism, seed: int) -> Vocabulary:
    """The largest and the smallest of pairs drawn at random."""
    size = len(mechanism.space)
    pairs = [
        replace(
            pair_cost(mechanism, first, second),
            distance=float(np.linalg.norm(mechanism.difference(first, second))),
        )
        for first, second in _pairs(size, SAMPLED_PAIRS, seed)[:SAMPLED_ROWS]
    ]
    pairs.sort(key=lambda pair: (pair.log10_delta, pair.distance or 0.0))
    return Vocabulary(
        words=size,
        search=f"the largest of {len(pairs)} sampled pairs",
        largest=pairs[-1],
        smallest=pairs[0],
    )


def _pairs(size: int, count: int, seed: int) -> list[tuple[int, int]]:
    first, second = random_pairs(size, count, seed)
    return list(zip(first.tolist(), second.tolist(), strict=True))


def _quantiles(values: Sequence[float] | Floats) -> Quantile:
    """Values that occur, since some may be infinite."""
    quantiles = np.quantile(np.asarray(values, np.float64), QUANTILES, method="nearest")
    return {f"{q:g}": float(x) for q, x in zip(QUANTILES, quantiles, strict=True)}
