"""Randomised response over the vocabulary: a word's neighbourhood is the word itself.

    Q(w|w) = e^ε / (e^ε + V − 1),   Q(y|w) = 1 / (e^ε + V − 1) for y ≠ w

ε-DP with δ = 0 for every ε (k-ary randomised response; Kairouz, Oh & Viswanath 2014); proof and
sampler: `_response.py`. Of equally likely words no ε-DP mechanism keeps a larger share. It is blind
to meaning: a word that is not kept becomes any other.
"""

from dataclasses import dataclass

import torch

from trlap.mechanisms._look import Look
from trlap.mechanisms._response import Response, centred, constant_scores


@dataclass(kw_only=True)
class RandomisedResponse(Response):
    """The word, or any."""

    name = "krr"
    look = Look("#117733", "X", "-", 10)
    undoes = ("unbiased", "posterior")

    def __post_init__(self) -> None:
        unit, weights = centred(self.space)
        words = torch.arange(len(self.space))
        inside = float(weights @ (unit**2).sum(1))
        outside = float(constant_scores(unit, weights).mean())
        self.set_up(words, words[:, None], inside, outside)
