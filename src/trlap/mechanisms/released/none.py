"""The release without noise: the unclipped vectors as they are."""

import math
from dataclasses import dataclass

from torch import Generator, Tensor

from trlap.mechanisms.base import Claim
from trlap.mechanisms.none import NoNoise
from trlap.mechanisms.released.base import ReleasedMechanism


@dataclass(kw_only=True)
class ReleasedNoNoise(ReleasedMechanism):
    name = "none"
    look = NoNoise.look
    private = False
    undoes = NoNoise.undoes
    all_pairs = NoNoise.all_pairs
    one_noise_vector = False

    def perturb_vectors(self, batch: Tensor, generator: Generator) -> Tensor:
        return batch

    def notes(self, epochs: int | None) -> list[str]:
        return []

    def claimed(self) -> Claim:
        return Claim("none", math.inf, 0.0)
