"""The released CMP: the published noise, but one vector a batch, which metric DP knows nothing of."""

from dataclasses import dataclass

from torch import Generator, Tensor

from trlap.mechanisms.base import Claim
from trlap.mechanisms.cmp import MultivariatePerturbation, ball
from trlap.mechanisms.released.base import OneNoiseVector


@dataclass(kw_only=True)
class ReleasedMultivariatePerturbation(OneNoiseVector):
    name = "cmp"
    look = MultivariatePerturbation.look

    def noise(self, count: int, generator: Generator) -> Tensor:
        return ball(count, self.dimension, self.epsilon, generator)

    def claimed(self) -> Claim:
        return Claim("metric DP", self.epsilon, distance="as published")
