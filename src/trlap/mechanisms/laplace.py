"""Laplace noise, i.i.d. in every coordinate: the paper's ε-DP baseline.

    M(w) = CLIPEmb(w) + η,  η_j ~ Lap(b),  ‖CLIPEmb(w) − CLIPEmb(w')‖₁ ≤ Δ₁ = 2√d C

calibration=published   b = Δ₁/ε: ε-DP with δ = 0 (Dwork et al. 2006; the paper's theorem).
                        Holds for every ε, and is tight: two opposite vectors with equal coordinates
                        reach it.
calibration=exact       the least b whose δ at ε is proven to meet δ in every direction
                        (`LaplaceNoise.calibrate`): much less noise once a δ > 0 is allowed. Which
                        direction is the worst is not known; the proof costs 0.7 % of b at (1, 1e-5),
                        d = 300, against the worst of some 500 directions that were tried.

Sampling inverts the distribution function: with v uniform on (−1, 1), x = −b sign(v) ln(1 − |v|).
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Generator, Tensor

from trlap.mechanisms._geometry import Geometry
from trlap.mechanisms._look import Look
from trlap.mechanisms._noise import NoiseMechanism
from trlap.mechanisms.base import Claim
from trlap.privacy.laplace import LaplaceNoise

# coordinates at once
PIECE = 2**21


@dataclass(kw_only=True)
class Laplace(NoiseMechanism):
    """Noise along the axes: two words that differ in all coordinates are dearest."""

    name = "laplace"
    label = "Laplacian"
    look = Look("#e69f00", "s", "--", 2)
    calibrated = True

    @cached_property
    def law(self) -> LaplaceNoise:
        """Lap(b) in every coordinate."""
        if self.calibration == "exact":
            target = self.log_delta_target
            return LaplaceNoise.calibrate(self.epsilon, target, self.dimension, self.clip)
        return LaplaceNoise.published(self.epsilon, self.dimension, self.clip)

    def noise(self, count: int, generator: Generator) -> Tensor:
        return signed_exponential(count, self.dimension, generator, 1.0).mul_(self.law.scale)

    def claimed(self) -> Claim:
        if self.calibration == "exact":
            return Claim("(ε, δ)-DP", self.epsilon, self.log_delta_target)
        return Claim("ε-DP", self.epsilon)

    def geometry(self) -> Geometry:
        """ln f = const − ‖z − x‖₁ / b."""
        return Geometry(self.space.vectors, "l1", 1 / self.law.scale)


def signed_exponential(count: int, dimension: int, generator: Generator, mass: float) -> Tensor:
    """Draws with density ∝ e^{−|x|} on |x| ≤ −ln(1 − mass), by inversion: one uniform a coordinate.

    |x| = −ln(1 − |v| · mass) with v uniform on (−1, 1). `log1p` keeps full precision where mass is tiny.
    """
    v = torch.rand((count, dimension), generator=generator, device=generator.device)
    # on a CPU in parts: what is needed beside v is then memory that was used before, and in the cache
    for part in v.split(max(1, PIECE // dimension if v.is_cpu else count)):
        # symmetric about 0, and never ±1, where the logarithm ends
        part.mul_(2).sub_(1 - 2**-24)
        torch.copysign(part.abs().mul_(-mass).log1p_(), part, out=part)
    return v
