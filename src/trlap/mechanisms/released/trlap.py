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
from trlap.privacy import noise as privacy


@dataclass(kw_only=True)
class ReleasedTruncatedLaplace(OneNoiseVector):
    name = "trlap"
    label = TruncatedLaplace.label
    look = TruncatedLaplace.look

    @property
    def nominal_dimension(self) -> int:
        """With the paper's dummy dimensions."""
        return privacy.trlap_dummy_dimension(self.epsilon, self.dimension)

    def noise(self, count: int, generator: Generator) -> Tensor:
        nominal = self.nominal_dimension
        alpha, A, _ = privacy.trlap_parameters(
            self.epsilon, privacy.paper_log_delta(nominal), nominal, self.clip
        )
        mass = -math.expm1(-alpha * A)
        return signed_exponential(count, self.dimension, generator, mass).abs() / alpha

    def claimed(self) -> Claim:
        log_delta = privacy.paper_log_delta(self.nominal_dimension)
        return Claim("(ε, δ)-DP", self.epsilon, log_delta)
