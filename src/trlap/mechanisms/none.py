"""No noise: the words as they are. The baseline that everything private is measured against."""

from dataclasses import dataclass

from torch import Generator, Tensor

from trlap.mechanisms.base import Base, Claim


@dataclass(kw_only=True)
class Mechanism(Base):
    """M(w) = w. Guarantees nothing, for any ε."""

    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        return words.clone()

    def claimed(self) -> Claim:
        return Claim("none", float("inf"), 0.0)

    def log_delta(self, epsilon: float) -> float:
        return 0.0

    def epsilon_at(self, log_delta: float) -> float:
        return float("inf")
