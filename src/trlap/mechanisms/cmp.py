"""CMP, calibrated multivariate perturbation: noise without a preferred direction, for metric DP.

    M(w) = nearest word to CLIPEmb(w) + z,   density of z ∝ e^{−ε‖z‖₂}

Feyisetan, Balle, Drake & Diethe, "Privacy- and utility-preserving textual analysis via calibrated
multivariate perturbations", WSDM 2020. The direction of z is uniform, its length is Gamma(d, 1/ε).

**Guarantee**: metric DP. By the triangle inequality the log-ratio of the densities at any point is
at most ε·‖x − x'‖₂, for every pair of vectors, exactly and for every ε > 0; projection is
post-processing. Its ε is per unit of distance: any two clipped vectors have canonical ε·2C with δ
= 0, and much less once a δ > 0 is allowed (`trlap.privacy.multivariate_laplace`). `delta` and `calibration` do
not matter.

Sampling: z = N·‖N'‖/ε with standard normal N in d and N' in d + 1 dimensions. The direction is
N's. For the length, ‖N‖²/2 ~ Gamma(d/2) and ‖N'‖²/2 ~ Gamma((d+1)/2) are independent, and by
Legendre's duplication formula 2·√(product of the two) ~ Gamma(d): all of its moments agree.
Normals alone are the same code on every device.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from trlap.mechanisms.base import Claim, VectorMechanism
from trlap.privacy.multivariate_laplace import laplace_ball_epsilon, laplace_ball_log_delta


@dataclass(kw_only=True)
class Mechanism(VectorMechanism):
    """Also the base of the mechanisms that use this noise in another norm or another space."""

    @property
    def norm(self) -> str:
        """The distance that the guarantee counts in."""
        return "Euclidean"

    @property
    def noise_dimension(self) -> int:
        return self.dimension

    def distance(self, difference: NDArray[np.float64] | None = None) -> float:
        """The length of a difference of clipped vectors in that norm; none: of the longest, 2C."""
        return 2 * self.clip if difference is None else float(np.linalg.norm(difference))

    def noise(self, count: int, generator: Generator) -> Tensor:
        return ball(count, self.noise_dimension, self.epsilon, generator)

    def claimed(self) -> Claim:
        return Claim("metric DP", self.epsilon, distance=self.norm)

    def log_delta(self, epsilon: float, difference: NDArray[np.float64] | None = None) -> float:
        distance = self.distance(difference)
        return laplace_ball_log_delta(epsilon, self.epsilon, distance, self.noise_dimension)

    def epsilon_at(self, log_delta: float, difference: NDArray[np.float64] | None = None) -> float:
        distance = self.distance(difference)
        return laplace_ball_epsilon(log_delta, self.epsilon, distance, self.noise_dimension)


def ball(count: int, dimension: int, epsilon: float, generator: Generator) -> Tensor:
    """`count` draws with density ∝ e^{−ε‖z‖₂}, one a row."""
    device = generator.device
    normal = torch.randn((count, dimension), generator=generator, device=device)
    other = torch.randn((count, dimension + 1), generator=generator, device=device)
    return normal.mul_(other.norm(dim=1, keepdim=True).div_(epsilon))
