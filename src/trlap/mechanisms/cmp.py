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
from functools import cached_property

import numpy as np
import torch
from torch import Generator, Tensor

from trlap.mechanisms._geometry import Floats, Geometry
from trlap.mechanisms._look import Look
from trlap.mechanisms._noise import NoiseMechanism
from trlap.mechanisms.base import Claim
from trlap.privacy.multivariate_laplace import BallLaplaceNoise


@dataclass(kw_only=True)
class MultivariatePerturbation(NoiseMechanism):
    """Also the base of the mechanisms that use this noise in another norm or another space."""

    name = "cmp"
    look = Look("#009e73", "D", ":", 4)

    @property
    def norm(self) -> str:
        """The distance that the guarantee counts in."""
        return "Euclidean"

    @property
    def noise_dimension(self) -> int:
        return self.dimension

    @property
    def reach(self) -> float:
        """The largest distance of two clipped vectors in that norm."""
        return 2 * self.clip

    @cached_property
    def law(self) -> BallLaplaceNoise:
        """Density ∝ e^{−ε‖z‖₂}, in the noise's own coordinates."""
        dimension = self.noise_dimension
        return BallLaplaceNoise(rate=self.epsilon, reach=self.reach, dimension=dimension)

    def distance(self, difference: Floats | None = None) -> float:
        """The length of a difference of clipped vectors in that norm; none: of the longest."""
        if difference is None:
            return self.law.reach
        return float(np.linalg.norm(self.in_own_coordinates(difference)))

    def distance_between(self, first: int, second: int) -> float:
        return self.distance(self.difference(first, second))

    def largest_distance(self) -> float:
        return self.distance()

    def noise(self, count: int, generator: Generator) -> Tensor:
        return ball(count, self.noise_dimension, self.epsilon, generator)

    def claimed(self) -> Claim:
        return Claim("metric DP", self.epsilon, distance=self.norm)

    def geometry(self) -> Geometry:
        """ln f = const − ε‖z − x‖₂."""
        return Geometry(self.space.vectors, "l2", self.epsilon)


def ball(count: int, dimension: int, epsilon: float, generator: Generator) -> Tensor:
    """`count` draws with density ∝ e^{−ε‖z‖₂}, one a row."""
    device = generator.device
    normal = torch.randn((count, dimension), generator=generator, device=device)
    other = torch.randn((count, dimension + 1), generator=generator, device=device)
    return normal.mul_(other.norm(dim=1, keepdim=True).div_(epsilon))
