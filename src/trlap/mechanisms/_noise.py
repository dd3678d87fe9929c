"""Vector mechanisms whose noise the mathematics knows: it answers, the mechanism draws."""

from abc import abstractmethod
from dataclasses import dataclass

from trlap.mechanisms._geometry import Floats
from trlap.mechanisms.base import VectorMechanism, composed
from trlap.privacy.base import Noise
from trlap.runs.result import Composed


@dataclass(kw_only=True)
class NoiseMechanism(VectorMechanism):
    """Holds one noise of `trlap.privacy`, its `law`, and asks that for every guarantee."""

    def __post_init__(self) -> None:
        # noise that cannot be had is refused before anything is drawn
        _ = self.law

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
