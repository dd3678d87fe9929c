"""The released Gaussian noise: standard deviation 2C√d/ε, the Laplace scale, whatever δ; one vector a batch."""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from trlap.mechanisms.base import Claim
from trlap.mechanisms.gaussian import Gaussian
from trlap.mechanisms.released.base import OneNoiseVector
from trlap.privacy.composition import paper_log_delta


@dataclass(kw_only=True)
class ReleasedGaussian(OneNoiseVector):
    name = "gaussian"
    label = Gaussian.label
    look = Gaussian.look

    def noise(self, count: int, generator: Generator) -> Tensor:
        shape = (count, self.dimension)
        return torch.randn(shape, generator=generator, device=generator.device) * self.scale

    def claimed(self) -> Claim:
        return Claim("(ε, δ)-DP", self.epsilon, paper_log_delta(self.dimension))
