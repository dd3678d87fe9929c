"""The released projection: Φ drawn anew each batch with standard deviation 1/m, and mapped back by Φᵀ.

    M(x) = (Φx + z)Φ,   density of z ∝ e^{−ε‖z‖₂/(1 + β)} in m dimensions, one z a batch

m is the paper's, (√ln d + √ln(1/failure))²/β² rounded down, with β = 0.5 and a failure of 1e-6.
"""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from trlap.mechanisms.base import Claim
from trlap.mechanisms.cmp import ball
from trlap.mechanisms.pte import ProjectedPerturbation
from trlap.mechanisms.released.base import ReleasedMechanism

BETA = 0.5
FAILURE = 1e-6


@dataclass(kw_only=True)
class ReleasedProjectedPerturbation(ReleasedMechanism):
    name = "pte"
    look = ProjectedPerturbation.look

    def perturb_vectors(self, batch: Tensor, generator: Generator) -> Tensor:
        d = self.dimension
        m = int((math.sqrt(math.log(d)) + math.sqrt(-math.log(FAILURE))) ** 2 / BETA**2)
        phi = torch.randn(m, d, generator=generator, device=generator.device) / m
        noise = ball(1, m, self.epsilon / (1 + BETA), generator)
        return (batch @ phi.T + noise) @ phi

    def claimed(self) -> Claim:
        return Claim("metric DP", self.epsilon, distance="as published")
