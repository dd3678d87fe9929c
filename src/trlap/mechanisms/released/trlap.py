"""The released truncated Laplace noise: one-sided, on [0, A], and one vector a batch.

A slip in a call of `bernoulli.rvs` makes the sign always +. As in the paper, dummy dimensions enter A and α
alone.
"""

import math
from dataclasses import dataclass

from torch import Generator, Tensor

from trlap.mechanisms.base import Claim
from trlap.mechanisms.laplace import signed_exponential
from trlap.mechanisms.released.base import OneNoiseVector
from trlap.mechanisms.trlap import TruncatedLaplace
from trlap.privacy.composition import paper_log_delta
from trlap.privacy.truncated_laplace import TruncatedLaplaceNoise, dummy_dimension


@dataclass(kw_only=True)
class ReleasedTruncatedLaplace(OneNoiseVector):
    name = "trlap"
    label = TruncatedLaplace.label
    look = TruncatedLaplace.look

    @property
    def nominal_dimension(self) -> int:
        """With the paper's dummy dimensions."""
        return dummy_dimension(self.epsilon, self.dimension)

    def noise(self, count: int, generator: Generator) -> Tensor:
        nominal = self.nominal_dimension
        law = TruncatedLaplaceNoise.published(
            self.epsilon,
            paper_log_delta(nominal),
            self.dimension,
            self.clip,
            nominal_dimension=nominal,
        )
        mass = -math.expm1(-law.alpha * law.bound)
        return signed_exponential(count, self.dimension, generator, mass).abs() / law.alpha

    def claimed(self) -> Claim:
        log_delta = paper_log_delta(self.nominal_dimension)
        return Claim("(ε, δ)-DP", self.epsilon, log_delta)
