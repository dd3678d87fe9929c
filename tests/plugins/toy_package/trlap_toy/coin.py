"""A coin for every word: heads keeps it, tails draws any word of the vocabulary.

    Q(y|w) = p·1[y = w] + (1 − p)/V,   p = h (e^ε − 1)/(e^ε − 1 + V)

With h = 1 this is randomised response over the vocabulary: ε-DP with δ = 0. A smaller h loses words and
gains privacy: the largest ratio is (pV + 1 − p)/(1 − p).
"""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from trlap.config.ranges import within
from trlap.mechanisms.base import Claim, WordMechanism


@dataclass(kw_only=True)
class Coin(WordMechanism):
    name = "coin"

    heads: float = within("(0, 1]", 1.0)

    @property
    def keeps(self) -> float:
        gain = math.expm1(self.epsilon)
        return self.heads * gain / (gain + len(self.space))

    @property
    def pure(self) -> float:
        """ε with δ = 0."""
        gain, size = math.expm1(self.epsilon), len(self.space)
        lost = (1 - self.heads) * gain + size
        return math.log1p(self.heads * gain * size / lost)

    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        tails = torch.rand(len(words), generator=generator) >= self.keeps
        anything = torch.randint(len(self.space), (len(words),), generator=generator)
        return torch.where(tails.to(words.device), anything.to(words.device), words)

    def log_probabilities(self, words: Tensor) -> Tensor:
        rest = (1 - self.keeps) / len(self.space)
        rows = torch.full((len(words), len(self.space)), math.log(rest), dtype=torch.float64)
        return rows.scatter_(1, words.cpu()[:, None], math.log(self.keeps + rest))

    def claimed(self) -> Claim:
        return Claim("ε-DP", self.epsilon)

    def log_delta(self, epsilon: float) -> float:
        if epsilon >= self.pure * (1 - 1e-12):
            return -math.inf
        rest = (1 - self.keeps) / len(self.space)
        return math.log(rest) + self.pure + math.log(-math.expm1(epsilon - self.pure))

    def epsilon_at(self, log_delta: float) -> float:
        rest = (1 - self.keeps) / len(self.space)
        left = self.keeps + rest - math.exp(log_delta)
        return max(0.0, math.log(left / rest)) if left > 0 else 0.0
