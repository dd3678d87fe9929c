"""Vectors for private words whose channel Q(y|w) is known: what the classifier reads in their place.

krr, srr and crr answer a word w with any word of its neighbourhood f_w with probability λ, else with any
output (`_response.py`). Both decoders below are functions of public things alone, so what they
read stays as private as it was.

**unbiased** (krr, crr). f_w is one word c(w); for krr c(w) = w. With K outputs,

    Q(y|w) = λ 1[y = c(w)] + (1 − λ)/K,      u(y) = (m(y) − (1 − λ) m̄) / λ,

m(c) the mean vector, under the prior, of the words that answer with c, and m̄ the plain mean of m over the
outputs. Then Σ_y Q(y|w) u(y) = m(c(w)) exactly: over the noise, the mean of a text is that of its words
(of their centres). The price is variance: the noise is multiplied by 1/λ. srr has no such inverse: its
neighbourhoods overlap, and their matrix is singular for most m.

**posterior** (all three). u(y) = E[vector of w | y], w drawn from the prior and y from Q(·|w),

    u(y) = (μ + (e^ε − 1) S(y)) / (1 + (e^ε − 1) s(y)),   S(y) = Σ_{w: y ∈ f_w} p_w E_w,   s(y) = Σ_{w: y ∈ f_w} p_w,

μ the mean vector: one sparse product. Biased towards μ, and no noise is enlarged.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from trlap.errors import TrlapError

if TYPE_CHECKING:
    from trlap.mechanisms._response import Response

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Reading:
    """What a classifier reads of a word: its vector, the word whose learned displacement it shares, and
    how likely the word that was there shares it too.
    """

    vectors: Vectors
    shares: NDArray[np.int64]
    trust: NDArray[np.float32]

    @classmethod
    def plain(cls, vectors: Vectors) -> "Reading":
        """Every word stands for itself."""
        return cls(vectors, np.arange(len(vectors)), np.ones(len(vectors), np.float32))


def decode(mechanism: "Response", vectors: Vectors, how: str) -> tuple[Reading, Reading]:
    """The readings of private and of original words. Private words that never come stay as they are."""
    plain = Reading.plain(vectors)
    decoder = {"unbiased": unbiased, "posterior": posterior}[how]
    outputs, decoded = mechanism.outputs.numpy(), vectors.copy()
    decoded[outputs] = decoder(mechanism, vectors)[outputs]
    sharing, likely = shares(mechanism), plain.trust.copy()
    likely[outputs] = trust(mechanism)[outputs]
    return Reading(decoded, sharing, likely), Reading(vectors, sharing, plain.trust)


def unbiased(mechanism: "Response", vectors: Vectors) -> NDArray[np.float64]:
    if mechanism.neighbours.shape[1] > 1:
        raise TrlapError(
            f"classify.debias=unbiased: neighbourhoods of mechanism={mechanism.name} overlap, so that "
            "its channel has no stable inverse; use classify.debias=posterior"
        )
    means = answered(mechanism, vectors)
    centre = means[mechanism.outputs.numpy()].mean(0)
    # 1/λ = 1 + 1/odds
    return centre + (means - centre) * (1 + math.exp(-mechanism.log_odds))


def posterior(mechanism: "Response", vectors: Vectors) -> NDArray[np.float64]:
    prior = mechanism.space.prior
    sums, masses = _sums(mechanism, vectors)
    mean = prior @ vectors.astype(np.float64)
    # (μ + (e^ε − 1) S) / (1 + (e^ε − 1) s) = μ + g (S/s − μ), g the share of the neighbours
    share = expit(_log_gain(mechanism) + _log(masses))[:, None]
    neighbours = sums / np.maximum(masses, 1e-300)[:, None]
    return mean + share * np.where(masses[:, None] > 0, neighbours - mean, 0)


def shares(mechanism: "Response") -> NDArray[np.int64]:
    """Words that answer alike cannot be told apart, so they learn one displacement: that of the answer
    c(w). Under srr every word has its own.
    """
    if mechanism.neighbours.shape[1] > 1:
        return np.arange(len(mechanism.space))
    return mechanism.neighbours[:, 0].numpy().astype(np.int64)


def trust(mechanism: "Response") -> NDArray[np.float64]:
    """P(w shares y's displacement | y) = e^ε Σ_{w shares y's} p_w / (1 + (e^ε − 1) s(y)), as y ∈ f_w for all
    of them, under all three.
    """
    prior = mechanism.space.prior
    _, masses = _sums(mechanism, np.zeros((len(prior), 1), np.float32))
    log_ratio = np.logaddexp(0, _log_gain(mechanism) + _log(masses))
    sharing = np.zeros_like(prior)
    np.add.at(sharing, shares(mechanism), prior)
    likely: NDArray[np.float64] = sharing * np.exp(mechanism.epsilon - log_ratio)
    return likely


def answered(mechanism: "Response", vectors: Vectors) -> NDArray[np.float64]:
    """m(y): the mean vector of the words whose neighbourhood has y."""
    sums, masses = _sums(mechanism, vectors)
    return sums / np.maximum(masses, 1e-300)[:, None]


def _log_gain(mechanism: "Response") -> float:
    """ln(e^ε − 1)."""
    return mechanism.epsilon + math.log(-math.expm1(-mechanism.epsilon))


def _log(masses: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.log(masses)


def _sums(
    mechanism: "Response", vectors: Vectors
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """S(y) and s(y) of every word y."""
    words, width = mechanism.neighbours.shape
    columns = mechanism.neighbours.numpy().ravel()
    weights = np.repeat(mechanism.space.prior, width)
    starts = np.arange(0, words * width + 1, width)
    matrix = sparse.csr_array((weights, columns, starts), (words, words)).T
    return matrix @ vectors.astype(np.float64), matrix.sum(1)
