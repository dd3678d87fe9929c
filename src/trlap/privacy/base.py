"""What every noise answers: how well it hides which of two words was there."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

from numpy.typing import ArrayLike


@dataclass(frozen=True, kw_only=True)
class Noise(ABC):
    """Noise added to a vector of `dimension` coordinates, `draws` times for the same two words."""

    dimension: int
    draws: int = 1

    @classmethod
    @abstractmethod
    def calibrate(cls, epsilon: float, log_delta: float, dimension: int, clip: float) -> Self:
        """The least noise that keeps (ε, δ) for one draw and any two vectors clipped to norm C."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of one coordinate of one draw."""

    @abstractmethod
    def log_delta(self, epsilon: float, difference: ArrayLike | None = None) -> float:
        """ln δ(ε) for the difference s of two vectors, in the noise's own coordinates.

        Without one: in the worst case over all clipped vectors.
        """

    @abstractmethod
    def epsilon_at(self, log_delta: float, difference: ArrayLike | None = None) -> float:
        """The smallest ε ≥ 0 with δ(ε) ≤ δ, for that difference or in the worst case."""

    def compose(self, draws: int) -> Self:
        """The same noise drawn that many times as often for the same two words."""
        return replace(self, draws=self.draws * draws)
