"""The exact guarantee of a mechanism, beside the one its authors claim.

Everything is canonical word-level DP: M is (ε, δ)-DP if Pr[M(w) ∈ S] ≤ e^ε Pr[M(w') ∈ S] + δ for all
words w, w' and all events S. Metric-DP mechanisms are converted, ε times the largest distance, so that
all stand on one axis. Two scopes:

- all clipped vectors (‖s‖₂ ≤ 2C): what a vector mechanism is calibrated for; `guarantee`. A word
  mechanism has no vectors, so for it the scope is the vocabulary;
- the words of the vocabulary in use: `vocabulary.py`, the largest pair and quantiles.

And two points of release: the noisy vector, which Theorem 1 speaks of and where values are exact; and the
projected word, which Algorithm 1 returns. Projection is post-processing, so the vector's δ is an upper
bound for the word, and no more than that.

δ travels as its logarithm: 4^-1700 is no float.
"""

import math
from dataclasses import replace

from trlap.mechanisms.base import Claim, Mechanism
from trlap.privacy.composition import basic_composition, log_to_log10
from trlap.runs.result import Claimed, Exact, Guarantee, WordBounds

LOG_1E6 = math.log(1e-6)
# relative: two ways to compute one number need not agree to the last digit
ROUNDING = 1e-9


def of_document(one: Guarantee, mechanism: Mechanism, answers: int) -> Guarantee:
    """What holds between any two documents that give so many answers, from what holds of one answer.

    `trlap.privatize.picks` has the proof. ε and δ add up; for one answer nothing changes. What attacks
    showed of one answer is a lower bound for a document all the same.
    """
    if answers == 1:
        return one
    claimed, exact = one.claimed, one.exact
    epsilon, log_delta = basic_composition(
        claimed.epsilon, claimed.log10_delta * math.log(10), answers
    )
    claimed = replace(claimed, epsilon=epsilon, log10_delta=log_to_log10(log_delta))
    if exact.epsilon is not None and exact.log10_delta is not None:
        epsilon, log_delta = basic_composition(
            exact.epsilon, exact.log10_delta * math.log(10), answers
        )
        exact = replace(
            exact,
            epsilon=epsilon,
            delta=math.exp(log_delta),
            log10_delta=log_to_log10(log_delta),
            epsilon_at_delta_1e6=mechanism.compose(LOG_1E6, answers).epsilon,
        )
    return replace(one, claimed=claimed, exact=exact)


def guarantee(mechanism: Mechanism) -> Guarantee:
    """Claimed, exact and whether that holds, as far as mathematics alone can say.

    `exact` is the worst case over all clipped vectors for the noisy vector, or over the vocabulary for a
    word mechanism. Its ε is the claimed one, or, for metric DP, the claimed ε times the largest distance;
    its δ is the exact δ at that ε. `holds` judges the claim where its authors make it; null where nothing
    was claimed or nothing is known.
    """
    claim = mechanism.claimed()
    exact, holds = _exact(mechanism, claim)
    # of a projected word nothing is known from below before an attack
    projected = mechanism.point == "vector" and mechanism.private
    lower = 0.0 if projected else exact.delta
    log10_delta = log_to_log10(claim.log_delta)
    return Guarantee(
        claimed=Claimed(claim.notion, claim.epsilon, log10_delta, claim.distance),
        exact=exact,
        word=word_bounds(lower, exact, claim),
        holds=holds,
    )


def word_bounds(lower: float | None, exact: Exact, claim: Claim) -> WordBounds:
    """Bounds on the written word's δ at the ε in question, and what they say about the claim."""
    verdict: str | None = "undecided"
    if claim.nothing:
        verdict = None
    elif exact.log10_delta is not None and _at_most(
        exact.log10_delta * math.log(10), claim.log_delta
    ):
        verdict = "holds"
    elif lower is not None and lower > 0 and math.log(lower) > claim.log_delta:
        verdict = "refuted"
    return WordBounds(lower, exact.delta, verdict)


def _exact(mechanism: Mechanism, claim: Claim) -> tuple[Exact, bool | None]:
    if mechanism.unknown is not None:
        return Exact(reason=mechanism.unknown), None
    if claim.metric:
        epsilon = mechanism.epsilon_at(-math.inf)
        log_delta = 0.0 if math.isinf(epsilon) else -math.inf
        # a claim that is infinite itself, by an overflow, is none that could be kept
        claimed = mechanism.largest_claimed_epsilon()
        holds: bool | None = math.isfinite(epsilon) and epsilon <= claimed * (1 + ROUNDING)
    else:
        epsilon = claim.epsilon
        log_delta = 0.0 if math.isinf(epsilon) else mechanism.log_delta(epsilon)
        holds = None if claim.nothing else _at_most(log_delta, claim.log_delta)
    exact = Exact(
        notion=_notion(log_delta),
        epsilon=epsilon,
        delta=math.exp(log_delta),
        log10_delta=log_to_log10(log_delta),
        epsilon_at_delta_1e6=mechanism.epsilon_at(LOG_1E6),
    )
    return exact, holds


def _notion(log_delta: float) -> str:
    if log_delta == 0:
        return "none"
    return "ε-DP" if log_delta == -math.inf else "(ε, δ)-DP"


def _at_most(log_delta: float, limit: float) -> bool:
    return log_delta <= limit + ROUNDING
