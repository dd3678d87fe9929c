"""What `oov=keep` leaves of a guarantee: nothing, because whether a word is protected depends on the word.

With it a token outside the vocabulary is published as it is. A word of the vocabulary never becomes such a
token, so that a token w outside, any other word w' and S = {w} have

    Pr[M(w) ∈ S] − e^ε Pr[M(w') ∈ S] = 1 − e^ε · 0 = 1:

δ = 1 at every ε. This is a fact of the mechanism, not of the text at hand, and so no promise holds with
`oov=keep`, however many tokens it let through. Where it let through none, that all words are known is
itself something that the private text shows. What stays true is what the mechanism says of two words of the
vocabulary, `LetThrough.vocabulary`.
"""

import math
from dataclasses import replace

from trlap.mechanisms.base import composed
from trlap.runs.result import (
    DocumentGuarantee,
    Documents,
    EpsilonDelta,
    Exact,
    Guarantee,
    LetThrough,
    WordBounds,
)

LOG_1E6 = math.log(1e-6)


def let_through(guarantee: Guarantee, tokens: int, of: int) -> Guarantee:
    """The guarantee of a release that lets `tokens` of `of` tokens through, as all unknown words.

    Where nothing was claimed, nothing is broken.
    """
    claimed, exact = guarantee.claimed, guarantee.exact
    if claimed.notion == "none":
        return guarantee
    documents = guarantee.document
    return Guarantee(
        claimed=claimed,
        exact=Exact(
            notion="none",
            epsilon=claimed.epsilon if exact.epsilon is None else exact.epsilon,
            delta=1.0,
            log10_delta=0.0,
            epsilon_at_delta_1e6=math.inf,
        ),
        empirical=guarantee.empirical,
        word=WordBounds(1.0, 1.0, "refuted"),
        document=None if documents is None else _unprotected(documents),
        holds=False,
        let_through=LetThrough(tokens, of, _reason(tokens, of), guarantee),
    )


def _reason(tokens: int, of: int) -> str:
    if tokens:
        counted = f"{tokens:,} of the {of:,} words of this text are"
    else:
        counted = f"none of the {of:,} words of this text is, which the private text then tells"
    return (
        "oov=keep publishes a word outside the vocabulary as it is, so that δ = 1 for it at every ε; "
        f"{counted}. Words of the vocabulary are protected from one another as before"
    )


def _unprotected(documents: Documents) -> Documents:
    """A document of which all words may differ may have an unknown one."""
    return replace(
        documents,
        median=_without_bound(documents.median),
        longest=_without_bound(documents.longest),
    )


def _without_bound(document: DocumentGuarantee) -> DocumentGuarantee:
    basic = document.basic or document.claimed_basic
    return replace(
        document,
        basic=None if basic is None else EpsilonDelta(basic.epsilon, 0.0),
        loss_distribution=composed(math.inf, LOG_1E6),
    )
