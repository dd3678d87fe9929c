"""No noise: the words as they are. The baseline that everything private is measured against."""

from dataclasses import dataclass

from torch import Generator, Tensor

from trlap.mechanisms._look import Look
from trlap.mechanisms.base import Claim, Mechanism


@dataclass(kw_only=True)
class NoNoise(Mechanism):
    """M(w) = w. Guarantees nothing, for any ε."""

    name = "none"
    look = Look("#000000", "_", "-", 0)
    private = False
    # there is nothing to undo
    undoes = ("unbiased", "posterior")
    all_pairs = "no noise: every pair is told apart"

    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        return words.clone()

    def claimed(self) -> Claim:
        return Claim("none", float("inf"), 0.0)

    def log_delta(self, epsilon: float) -> float:
        return 0.0

    def epsilon_at(self, log_delta: float) -> float:
        return float("inf")
