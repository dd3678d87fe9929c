"""TEM, the truncated exponential mechanism: near words by distance, all others alike.

Carvalho, Vasiloudis, Feyisetan & Wang, "TEM: high utility metric differential privacy on text",
2021 (SDM 2023). With L_w the words within γ of w: each word of L_w has the score −d(w,y); one
element ⊥ stands for all others, with the score −γ + (2/ε) ln|W∖L_w|; Gumbel noise of scale 2/ε is
added to each and the largest is taken; ⊥ is answered by a uniform word outside L_w. The largest of
scores plus Gumbel noise is a draw with probability ∝ e^{ε·score/2}. For ⊥ that is
|W∖L_w|·e^{−εγ/2}, in equal parts for its words, so in one line

    Q(y|w) ∝ e^{−ε·min(d(w,y), γ)/2}.

γ = null takes the authors' (2/ε) ln((1 − β)(V − 1)/β): then the answer is outside L_w with
probability β at most. With clipped vectors and a moderate ε this exceeds 2C (32 at ε = 1, V =
10,000, β = 0.001): nothing is truncated and TEM is santext.

**Guarantee**: metric DP, ε·min(d(w,w'), γ), for every pair and every ε > 0: half of it from the
numerator, half from the normaliser, min(d, γ) being a metric. The canonical ε is ε·min(γ, D) at
most, D the largest distance between two words; `epsilon_exact` is the true one (`_exponential.py`,
with sampling and accuracy).
"""

import math
from dataclasses import dataclass

from trlap.config.ranges import within
from trlap.mechanisms._exponential import ExponentialMechanism
from trlap.mechanisms._look import Look
from trlap.mechanisms.base import Claim


@dataclass(kw_only=True)
class TruncatedExponential(ExponentialMechanism):
    """Words beyond γ are all alike."""

    name = "tem"
    look = Look("#8c6d31", ">", "--", 8)

    # γ; null: from beta
    gamma: float | None = within("[0, inf)", None)
    beta: float = within("(0, 1)", 0.001)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma is None:
            odds = (1 - self.beta) * (len(self.space) - 1) / self.beta
            # 0 where β leaves nothing to tell apart, also where 2/ε is no float
            self.threshold = 2 / self.epsilon * math.log(odds) if odds > 1 else 0.0
        else:
            self.threshold = self.gamma

    def claimed(self) -> Claim:
        return Claim("metric DP", self.epsilon, distance=f"min(Euclidean, {self.threshold:.4g})")
