"""SanText: every word of the vocabulary, with probability falling exponentially with its distance.

    Q(y|w) ∝ e^{−ε·d(w,y)/2},   d the Euclidean distance between clipped vectors

Yue, Du, Wang, Li, Sun & Chow, "Differential privacy for text analytics via natural text
sanitization", Findings of ACL 2021: the exponential mechanism (McSherry & Talwar 2007) with the
distance as score.

**Guarantee**: metric DP, ε·d(w,w'), for every pair and every ε > 0: half of it from the numerator,
half from the normaliser. The canonical ε is ε·D at most, D ≤ 2C the largest distance between two
words; `epsilon_exact` is the true one (`_exponential.py`, with sampling and accuracy). SanText+,
which passes words through that it takes to be insensitive, has no such guarantee and is not here.
"""

from dataclasses import dataclass

from trlap.mechanisms._exponential import ExponentialMechanism
from trlap.mechanisms._look import Look
from trlap.mechanisms.base import Claim


@dataclass(kw_only=True)
class SanText(ExponentialMechanism):
    """Distances count without an end."""

    name = "santext"
    look = Look("#6b4c9a", "p", "--", 9)

    def claimed(self) -> Claim:
        return Claim("metric DP", self.epsilon, distance="Euclidean")
