"""The paper's truncated Laplace noise (Theorem 1), i.i.d. in every coordinate.

    M(w) = CLIPEmb(w) + η,  density of η_j: e^{−α|x|}/B on [−A, A]
    Δ₁ = 2√d C,  α = ε/Δ₁,  A = −(Δ₁/ε) ln(1 − ε/(2 δ^{1/d} √d)),  B = 2(1 − e^{−αA})/α

**Claimed**: (ε, δ)-DP for ε ≤ 2 δ^{1/d} √d, with δ = 4^-d. **This does not hold.** The proof bounds the
part of one word's support that lies outside another's by a box of side 2C in *every* coordinate; but a
single coordinate outside already tells the words apart, so the exact δ at that ε is

    δ(s) = 1 − Π_j (1 − p(s_j)),   p(t) = (e^{−α(A−|t|)} − e^{−αA}) / (αB)  for |t| ≤ A

(`TruncatedLaplaceNoise.log_infinity`), at worst 0.987 instead of 10^-181 for d = 300, ε = 0.1.

Where ε > 2 δ^{1/d} √d the paper adds dummy coordinates, draws noise for all and drops them again
(d = 500 at ε = 10, 1700 at ε = 20). The dropped coordinates are independent of the kept ones and have the
same law for every word, so they change nothing but A and α; they are not drawn here.

calibration=exact keeps α and takes the smallest A whose δ is proven to meet the target for every ‖s‖₂ ≤ 2C. It
keeps its promise, and its variance is within a fraction of a percent of plain Laplace noise.

Sampling inverts the distribution function: |x| = −ln(1 − |v|(1 − e^{−αA}))/α, v uniform on (−1, 1);
the paper rejects draws outside [−A, A] instead, with the same law.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Generator, Tensor

from trlap.mechanisms._geometry import Geometry
from trlap.mechanisms._look import Look
from trlap.mechanisms._noise import NoiseMechanism
from trlap.mechanisms.base import Claim
from trlap.mechanisms.laplace import signed_exponential
from trlap.privacy.composition import paper_log_delta
from trlap.privacy.truncated_laplace import (
    TruncatedLaplaceNoise,
    dummy_dimension,
    theorem_1_limit,
)


@dataclass(kw_only=True)
class TruncatedLaplace(NoiseMechanism):
    """Laplace noise that ends at ±A: what lies beyond another word's end tells the words apart."""

    name = "trlap"
    label = "TrLaplacian"
    look = Look("#d55e00", "^", "-.", 3)
    calibrated = True

    @cached_property
    def nominal_dimension(self) -> int:
        """The d of Theorem 1: with dummies where the published noise needs them, else the real one."""
        if self.calibration == "exact":
            return self.dimension
        if self.epsilon < theorem_1_limit(self._log_delta_in(self.dimension), self.dimension):
            return self.dimension
        return dummy_dimension(self.epsilon, self.dimension)

    @cached_property
    def law(self) -> TruncatedLaplaceNoise:
        """Density e^{−α|x|}/B on [−A, A] in every coordinate."""
        epsilon, dimension, clip = self.epsilon, self.dimension, self.clip
        if self.calibration == "exact":
            target = self.log_delta_target
            return TruncatedLaplaceNoise.calibrate(epsilon, target, dimension, clip)
        return TruncatedLaplaceNoise.published(
            epsilon,
            self.log_delta_target,
            dimension,
            clip,
            nominal_dimension=self.nominal_dimension,
        )

    @property
    def log_delta_target(self) -> float:
        """ln δ asked for; 4^-d takes the enlarged d where dummy dimensions are added."""
        return self._log_delta_in(self.nominal_dimension)

    def _log_delta_in(self, dimension: int) -> float:
        if isinstance(self.delta, str):
            return paper_log_delta(dimension)
        return math.log(self.delta)

    def noise(self, count: int, generator: Generator) -> Tensor:
        alpha, bound = self.law.alpha, self.law.bound
        # uniform, but for a factor of e^±1e-12 at most
        if alpha * bound < 1e-12:
            shape = (count, self.dimension)
            draws = torch.rand(shape, generator=generator, device=generator.device)
            return draws.mul_(2).sub_(1 - 2**-24).mul_(bound)
        mass = -math.expm1(-alpha * bound)
        draws = signed_exponential(count, self.dimension, generator, mass)
        # float32 rounding may pass A by one unit
        return draws.div_(alpha).clamp_(-bound, bound)

    def claimed(self) -> Claim:
        return Claim("(ε, δ)-DP", self.epsilon, self.log_delta_target)

    def geometry(self) -> Geometry:
        """ln f = const − α‖z − x‖₁ where no coordinate is further than A from its centre."""
        return Geometry(self.space.vectors, "l1", self.law.alpha, bound=self.law.bound)

    def notes(self, epochs: int | None) -> list[str]:
        extra = self.nominal_dimension - self.dimension
        same = self.epsilon * math.sqrt(self.dimension / self.nominal_dimension)
        dummies = (
            f"the {extra} dummy dimensions change nothing: they have the same law for every word; "
            f"this is the mechanism in {self.dimension} dimensions at ε = {same:.4g}"
        )
        return [dummies] * (extra > 0) + super().notes(epochs)
