"""The released Mahalanobis noise: per token, but made from the batch's own words.

    noise = Gamma(d, 1/ε) · direction · Rᵀ,   R = λS + (1 − λ)I,   λ = 0.5

S is the second moment of the batch's own words, R itself is taken and not its root, and directions are
normalised over the tokens instead of over the coordinates: the more tokens in a batch, the less noise.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from trlap.mechanisms.base import Claim
from trlap.mechanisms.cmp import ball
from trlap.mechanisms.mahalanobis import Mahalanobis
from trlap.mechanisms.released.base import ReleasedMechanism

# λ
LAM = 0.5
UNKNOWN = (
    "mahalanobis as released makes its noise from the batch's own words: no bound is known, "
    "and none is claimed here"
)


@dataclass(kw_only=True)
class ReleasedMahalanobis(ReleasedMechanism):
    name = "mahalanobis"
    look = Mahalanobis.look
    unknown = UNKNOWN
    all_pairs = UNKNOWN
    one_noise_vector = False
    # its noise is made from the whole batch
    known_words = 31
    batches = 250

    def perturb_vectors(self, batch: Tensor, generator: Generator) -> Tensor:
        d = self.dimension
        moment = batch.T @ batch / len(batch)
        matrix = LAM * moment + (1 - LAM) * torch.eye(d, device=batch.device)
        normal = torch.randn(batch.shape, generator=generator, device=generator.device)
        # lengths are Gamma's
        lengths = ball(len(batch), d, self.epsilon, generator).norm(dim=1, keepdim=True)
        return batch + lengths * (torch.nn.functional.normalize(normal, dim=0) @ matrix.T)

    def claimed(self) -> Claim:
        return Claim("metric DP", self.epsilon, distance="as published")
