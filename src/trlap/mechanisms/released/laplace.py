"""The released Laplace noise: the published scale, but one vector a batch."""

from dataclasses import dataclass

from torch import Generator, Tensor

from trlap.mechanisms.base import Claim
from trlap.mechanisms.laplace import Laplace, signed_exponential
from trlap.mechanisms.released.base import OneNoiseVector


@dataclass(kw_only=True)
class ReleasedLaplace(OneNoiseVector):
    name = "laplace"
    label = Laplace.label
    look = Laplace.look

    def noise(self, count: int, generator: Generator) -> Tensor:
        return signed_exponential(count, self.dimension, generator, 1.0) * self.scale

    def claimed(self) -> Claim:
        return Claim("ε-DP", self.epsilon)
