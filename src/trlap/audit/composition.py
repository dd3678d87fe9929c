"""What a whole document costs: n words, each privatised once, or once an epoch where noise is redrawn.

Two documents of n words of which all may differ. Of documents of different lengths nothing is said: how many
words there are is published, and tells them apart. `basic` adds up the exact (ε, δ) of one word;
`loss_distribution` composes the losses themselves, at δ = 1e-6, for the worst pair at every position.
"""

import math
from collections.abc import Sequence
from statistics import median_low

from trlap.audit.guarantee import LOG_1E6
from trlap.mechanisms.base import Mechanism
from trlap.privacy.composition import basic_composition, log_to_log10
from trlap.runs.result import DocumentGuarantee, Documents, EpsilonDelta, Exact


def documents(
    mechanism: Mechanism, lengths: Sequence[int], epochs: int | None, exact: Exact
) -> Documents | None:
    """The median and the longest of documents with so many words; None where all are empty."""
    counted = [words for words in lengths if words > 0]
    if not counted:
        return None
    draws_a_word = epochs or 1
    return Documents(
        median=_document(mechanism, median_low(counted), draws_a_word, exact),
        longest=_document(mechanism, max(counted), draws_a_word, exact),
        draws_a_word=draws_a_word,
    )


def _document(
    mechanism: Mechanism, words: int, draws_a_word: int, exact: Exact
) -> DocumentGuarantee:
    draws, claim = words * draws_a_word, mechanism.claimed()
    # ε times a distance cannot be added up without the distances
    addable = not claim.nothing and not claim.metric
    claimed = _added_up(claim.epsilon, claim.log_delta, draws) if addable else None
    if exact.epsilon is None or exact.log10_delta is None:
        return DocumentGuarantee(words, draws, claimed, reason=exact.reason)
    return DocumentGuarantee(
        words,
        draws,
        claimed,
        basic=_added_up(exact.epsilon, exact.log10_delta * math.log(10), draws),
        loss_distribution=mechanism.compose(LOG_1E6, draws),
    )


def _added_up(epsilon: float, log_delta: float, draws: int) -> EpsilonDelta:
    total, log_total = basic_composition(epsilon, log_delta, draws)
    return EpsilonDelta(total, log_to_log10(log_total))
