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

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Generator, Tensor

from trlap.mechanisms._geometry import Floats, Geometry
from trlap.mechanisms._look import Look
from trlap.mechanisms.base import Claim, VectorMechanism, composed
from trlap.privacy.multivariate_laplace import laplace_ball_epsilon, laplace_ball_log_delta
from trlap.runs.result import Composed

# of the grid on which δ(ε') is computed, from 0 up
POINTS = 120


@dataclass(kw_only=True)
class MultivariatePerturbation(VectorMechanism):
    """Also the base of the mechanisms that use this noise in another norm or another space."""

    name = "cmp"
    look = Look("#009e73", "D", ":")

    @property
    def norm(self) -> str:
        """The distance that the guarantee counts in."""
        return "Euclidean"

    @property
    def noise_dimension(self) -> int:
        return self.dimension

    def distance(self, difference: Floats | None = None) -> float:
        """The length of a difference of clipped vectors in that norm; none: of the longest, 2C."""
        return 2 * self.clip if difference is None else float(np.linalg.norm(difference))

    def distance_between(self, first: int, second: int) -> float:
        return self.distance(self.difference(first, second))

    def largest_distance(self) -> float:
        return self.distance()

    def noise(self, count: int, generator: Generator) -> Tensor:
        return ball(count, self.noise_dimension, self.epsilon, generator)

    def claimed(self) -> Claim:
        return Claim("metric DP", self.epsilon, distance=self.norm)

    def log_delta(self, epsilon: float, difference: Floats | None = None) -> float:
        distance = self.distance(difference)
        return laplace_ball_log_delta(epsilon, self.epsilon, distance, self.noise_dimension)

    def epsilon_at(self, log_delta: float, difference: Floats | None = None) -> float:
        return self.epsilon_at_distance(log_delta, self.distance(difference))

    def epsilon_at_distance(self, log_delta: float, distance: float) -> float:
        return laplace_ball_epsilon(log_delta, self.epsilon, distance, self.noise_dimension)

    def compose(self, log_delta: float, draws: int) -> Composed:
        """From the exact δ(ε') of one draw on a grid.

        Between the grid points the distribution is completed pessimistically ("connect the dots",
        Doroshenko et al. 2022, in dp-accounting), so this is an upper bound. What is lost beyond the
        grid, 1e-4 of δ, is counted as lost for good. For ε' < 0, δ(ε') = 1 − e^{ε'}(1 − δ(−ε')), the
        pair being symmetric.
        """
        from dp_accounting.pld import pld_pmf

        largest = self.epsilon_at(log_delta - math.log(1e4 * draws))
        if largest == 0:
            return composed(0.0, log_delta)
        grid = np.arange(POINTS + 1) * (largest / POINTS)
        above = np.exp([self.log_delta(epsilon) for epsilon in grid])
        below = 1 - np.exp(-grid[:0:-1]) * (1 - above[:0:-1])
        losses = pld_pmf.create_pmf_pessimistic_connect_dots(
            largest / POINTS, np.arange(-POINTS, POINTS + 1), np.concatenate([below, above])
        )
        epsilon = losses.self_compose(draws).get_epsilon_for_delta(math.exp(log_delta))
        pure = draws * self.epsilon * self.distance()
        return composed(min(float(epsilon), pure), log_delta)

    def geometry(self) -> Geometry:
        """ln f = const − ε‖z − x‖₂."""
        return Geometry(self.space.vectors, "l2", self.epsilon)


def ball(count: int, dimension: int, epsilon: float, generator: Generator) -> Tensor:
    """`count` draws with density ∝ e^{−ε‖z‖₂}, one a row."""
    device = generator.device
    normal = torch.randn((count, dimension), generator=generator, device=device)
    other = torch.randn((count, dimension + 1), generator=generator, device=device)
    return normal.mul_(other.norm(dim=1, keepdim=True).div_(epsilon))
