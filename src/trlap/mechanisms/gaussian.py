"""Gaussian noise, as the paper's baseline and as the analytic Gaussian mechanism.

    M(w) = CLIPEmb(w) + η,  η ~ N(0, σ² I_d),  ‖CLIPEmb(w) − CLIPEmb(w')‖₂ ≤ Δ = 2C

calibration=published   σ² = 8 C² ln(1.25/δ) / ε²   (the paper's theorem, after Dwork & Roth 2014,
                        Theorem A.1). Proven for ε ≤ 1; it stays valid somewhat beyond (to ε = 16.9 at
                        δ = 4^-300, to 8.42 at 1e-5) and fails after that.
calibration=exact       the smallest σ with Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ) ≤ δ
                        (Balle & Wang 2018, Theorem 8). Holds for every ε > 0, and no smaller σ does.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Generator, Tensor

from trlap.mechanisms._geometry import Geometry
from trlap.mechanisms._look import Look
from trlap.mechanisms._noise import NoiseMechanism
from trlap.mechanisms.base import Claim
from trlap.privacy.gaussian import GaussianNoise


@dataclass(kw_only=True)
class Gaussian(NoiseMechanism):
    """Noise without a preferred direction: of two words only the distance matters."""

    name = "gaussian"
    label = "Gaussian"
    look = Look("#0072b2", "o", "-", 1)
    calibrated = True

    @cached_property
    def law(self) -> GaussianNoise:
        """N(0, σ²I)."""
        exact = self.calibration == "exact"
        scale = GaussianNoise.calibrate if exact else GaussianNoise.published
        return scale(self.epsilon, self.log_delta_target, self.dimension, self.clip)

    def noise(self, count: int, generator: Generator) -> Tensor:
        shape = (count, self.dimension)
        return torch.randn(shape, generator=generator, device=generator.device).mul_(self.law.sigma)

    def claimed(self) -> Claim:
        return Claim("(ε, δ)-DP", self.epsilon, self.log_delta_target)

    def geometry(self) -> Geometry:
        """ln f = const − ‖z − x‖₂² / 2σ²."""
        return Geometry(self.space.vectors, "l2²", 1 / (2 * self.law.sigma**2))
