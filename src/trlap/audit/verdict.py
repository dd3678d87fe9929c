"""What the attack showed, put beside the exact values: does the claim hold?"""

import math
from dataclasses import replace

from trlap.audit.channel import Matrix
from trlap.audit.guarantee import ROUNDING, word_bounds
from trlap.audit.records import Bound, Distinguished, Vocabulary
from trlap.mechanisms.base import Mechanism
from trlap.runs.result import Empirical, Guarantee

# no noise: every pair is told apart with certainty
CERTAIN = Empirical(epsilon_lower=math.inf, delta_lower=1.0, confidence=1.0)


def attacked(
    guarantee: Guarantee, mechanism: Mechanism, shown: Distinguished | None
) -> tuple[Guarantee, list[str]]:
    """With what the attack showed, and what a reader must know of it."""
    if shown is None:
        return (guarantee if mechanism.private else replace(guarantee, empirical=CERTAIN)), []
    claim, bounds = mechanism.claimed(), shown.seen_at(mechanism.point)
    empirical = Empirical(
        epsilon_lower=max(bound.epsilon_lower for bound in bounds),
        delta_lower=_largest(bounds),
        confidence=shown.confidence,
    )
    guarantee = replace(guarantee, empirical=empirical)
    if mechanism.point == "vector":
        word = word_bounds(_largest(shown.word), guarantee.exact, claim)
        guarantee = replace(guarantee, word=word)
    vector_refuted = _refutes(shown.vector, claim.log_delta)
    word_refuted = _refutes(shown.word, claim.log_delta)
    if not guarantee.holds or not (vector_refuted or word_refuted):
        return guarantee, []
    note = (
        "the formula keeps the promise but the attack breaks it: the noise that is drawn is not the "
        "noise of the formula (or the attack erred, which it does no oftener than its error rate)"
    )
    return _broken(guarantee, "refuted" if word_refuted else "undecided"), [note]


def checked(
    guarantee: Guarantee, mechanism: Mechanism, matrix: Matrix | None, vocabulary: Vocabulary
) -> tuple[Guarantee, list[str]]:
    """Where the channel is known, the whole matrix must keep what the formula states."""
    if matrix is None or mechanism.claimed().nothing:
        return guarantee, []
    stated = mechanism.epsilon_at(-math.inf)
    if matrix.epsilon <= stated * (1 + ROUNDING) and not vocabulary.violations:
        return guarantee, []
    note = (
        f"the word-to-word matrix has ε = {matrix.epsilon:.6g} where the formula states "
        f"{stated:.6g}, or breaks the promise for a pair of words"
    )
    return _broken(guarantee, "refuted"), [note]


def _broken(guarantee: Guarantee, verdict: str) -> Guarantee:
    assert guarantee.word is not None
    return replace(guarantee, holds=False, word=replace(guarantee.word, verdict=verdict))


def _largest(bounds: list[Bound]) -> float:
    return max(bound.delta_lower for bound in bounds)


def _refutes(bounds: list[Bound], log_delta: float) -> bool:
    return any(
        bound.delta_lower > 0 and math.log(bound.delta_lower) > log_delta for bound in bounds
    )
