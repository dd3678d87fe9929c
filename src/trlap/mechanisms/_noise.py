"""Vector mechanisms whose noise the mathematics knows: it answers, the mechanism draws."""

import math
from abc import abstractmethod
from dataclasses import dataclass

from trlap.errors import TrlapError
from trlap.mechanisms._geometry import Floats
from trlap.mechanisms.base import VectorMechanism, composed
from trlap.privacy.base import Noise
from trlap.runs.result import Composed

# Noise is drawn and added in float32, which has 24 bits: of the largest coordinate, what is this small is
# mostly rounded away, and the word shows.
ROUNDED_AWAY = 2**-20
# A longer noisy vector has a square that is no float32.
LONGEST = 1e18


@dataclass(kw_only=True)
class NoiseMechanism(VectorMechanism):
    """Holds one noise of `trlap.privacy`, its `law`, and asks that for every guarantee."""

    def __post_init__(self) -> None:
        # noise that cannot be had is refused before anything is drawn
        deviation = math.sqrt(self.law.variance)
        largest = float(self.space.vectors.abs().max())
        stated = f"epsilon={self.epsilon:g}: with this delta and clip, noise of {deviation:.3g}"
        if not deviation * math.sqrt(self.law.dimension) < LONGEST:
            raise TrlapError(f"{stated} a coordinate is too long for float32; raise epsilon")
        if not deviation > largest * ROUNDED_AWAY:
            raise TrlapError(
                f"{stated} a coordinate would be rounded away beside vectors of up to {largest:.3g}; "
                "lower epsilon, or write epsilon=inf for no noise"
            )

    @property
    @abstractmethod
    def law(self) -> Noise:
        """What is drawn, with its parameters."""

    def in_own_coordinates(self, difference: Floats) -> Floats:
        """A difference of clipped vectors as the noise sees it; here as it is."""
        return difference

    def log_delta(self, epsilon: float, difference: Floats | None = None) -> float:
        return self.law.log_delta(epsilon, self._seen(difference))

    def epsilon_at(self, log_delta: float, difference: Floats | None = None) -> float:
        return self.law.epsilon_at(log_delta, self._seen(difference))

    def epsilon_at_distance(self, log_delta: float, distance: float) -> float:
        return self.law.epsilon_at(log_delta, [distance])

    def compose(self, log_delta: float, draws: int) -> Composed:
        """By the privacy-loss distribution of all draws, for the worst pair at every position."""
        return composed(self.law.compose(draws).epsilon_at(log_delta), log_delta)

    def _seen(self, difference: Floats | None) -> Floats | None:
        return None if difference is None else self.in_own_coordinates(difference)
