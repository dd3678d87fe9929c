"""Gaussian noise, as the paper's baseline and as the analytic Gaussian mechanism.

    M(w) = CLIPEmb(w) + η,  η ~ N(0, σ² I_d),  ‖CLIPEmb(w) − CLIPEmb(w')‖₂ ≤ Δ = 2C

calibration=published   σ² = 8 C² ln(1.25/δ) / ε²   (the paper's theorem, after Dwork & Roth 2014,
                        Theorem A.1). Proven for ε ≤ 1; it stays valid somewhat beyond (to ε = 16.9 at
                        δ = 4^-300, to 8.42 at 1e-5) and fails after that.
calibration=exact       the smallest σ with Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ) ≤ δ
                        (Balle & Wang 2018, Theorem 8). Holds for every ε > 0, and no smaller σ does.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Generator, Tensor

from trlap.mechanisms._geometry import Floats, Geometry
from trlap.mechanisms._look import Look
from trlap.mechanisms.base import Claim, VectorMechanism, composed
from trlap.privacy import noise as privacy
from trlap.runs.result import Composed


@dataclass(kw_only=True)
class Gaussian(VectorMechanism):
    """Noise without a preferred direction: of two words only the distance matters."""

    name = "gaussian"
    label = "Gaussian"
    look = Look("#0072b2", "o", "-")
    calibrated = True

    def __post_init__(self) -> None:
        if self.calibration == "exact":
            self.sigma = privacy.gaussian_sigma_exact(
                self.epsilon, self.log_delta_target, 2 * self.clip
            )
        else:
            self.sigma = privacy.gaussian_sigma_published(
                self.epsilon, self.log_delta_target, self.clip
            )

    def noise(self, count: int, generator: Generator) -> Tensor:
        shape = (count, self.dimension)
        return torch.randn(shape, generator=generator, device=generator.device).mul_(self.sigma)

    def claimed(self) -> Claim:
        return Claim("(ε, δ)-DP", self.epsilon, self.log_delta_target)

    def log_delta(self, epsilon: float, difference: Floats | None = None) -> float:
        return privacy.gaussian_log_delta(epsilon, self.sigma, self._distance(difference))

    def epsilon_at(self, log_delta: float, difference: Floats | None = None) -> float:
        return privacy.gaussian_epsilon(log_delta, self.sigma, self._distance(difference))

    def compose(self, log_delta: float, draws: int) -> Composed:
        epsilon = privacy.gaussian_epsilon(log_delta, self.sigma, 2 * self.clip, draws=draws)
        return composed(epsilon, log_delta)

    def geometry(self) -> Geometry:
        """ln f = const − ‖z − x‖₂² / 2σ²."""
        return Geometry(self.space.vectors, "l2²", 1 / (2 * self.sigma**2))

    def _distance(self, difference: Floats | None) -> float:
        """Only the distance matters: the noise has no direction. The worst case is 2C."""
        return 2 * self.clip if difference is None else float(np.linalg.norm(difference))
