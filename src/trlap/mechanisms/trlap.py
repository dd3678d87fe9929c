"""The paper's truncated Laplace noise (Theorem 1), i.i.d. in every coordinate.

    M(w) = CLIPEmb(w) + η,  density of η_j: e^{−α|x|}/B on [−A, A]
    Δ₁ = 2√d C,  α = ε/Δ₁,  A = −(Δ₁/ε) ln(1 − ε/(2 δ^{1/d} √d)),  B = 2(1 − e^{−αA})/α

**Claimed**: (ε, δ)-DP for ε ≤ 2 δ^{1/d} √d, with δ = 4^-d. **This does not hold.** The proof bounds the
part of one word's support that lies outside another's by a box of side 2C in *every* coordinate; but a
single coordinate outside already tells the words apart, so the exact δ at that ε is

    δ(s) = 1 − Π_j (1 − p(s_j)),   p(t) = (e^{−α(A−|t|)} − e^{−αA}) / (αB)  for |t| ≤ A

(`trlap.privacy.trlap_log_delta`), at worst 0.987 instead of 10^-181 for d = 300, ε = 0.1.

Where ε > 2 δ^{1/d} √d the paper adds dummy coordinates, draws noise for all and drops them again
(d = 500 at ε = 10, 1700 at ε = 20). The dropped coordinates are independent of the kept ones and have the
same law for every word, so they change nothing but A and α; they are not drawn here.

calibration=exact keeps α and takes the smallest A whose worst-case δ over ‖s‖₂ ≤ 2C meets the target. It
keeps its promise, and its variance is within a fraction of a percent of plain Laplace noise.

Sampling inverts the distribution function: |x| = −ln(1 − |v|(1 − e^{−αA}))/α, v uniform on (−1, 1);
the paper rejects draws outside [−A, A] instead, with the same law.
"""

import math
from dataclasses import dataclass

from torch import Generator, Tensor

from trlap.mechanisms._geometry import Floats, Geometry
from trlap.mechanisms._look import Look
from trlap.mechanisms.base import Claim, VectorMechanism, composed
from trlap.mechanisms.laplace import signed_exponential
from trlap.privacy import noise as privacy
from trlap.runs.result import Composed


@dataclass(kw_only=True)
class TruncatedLaplace(VectorMechanism):
    """Laplace noise that ends at ±A: what lies beyond another word's end tells the words apart."""

    name = "trlap"
    label = "TrLaplacian"
    look = Look("#d55e00", "^", "-.")
    calibrated = True

    def __post_init__(self) -> None:
        self.nominal_dimension = self.dimension
        if self.calibration == "exact":
            log_delta = self.log_delta_target
            self.alpha = self.epsilon / (2 * math.sqrt(self.dimension) * self.clip)
            self.A = privacy.trlap_truncation_exact(
                self.epsilon, log_delta, self.dimension, self.clip
            )
        else:
            if self.epsilon >= self._largest_epsilon():
                self.nominal_dimension = privacy.trlap_dummy_dimension(self.epsilon, self.dimension)
            self.alpha, self.A, _ = privacy.trlap_parameters(
                self.epsilon, self.log_delta_target, self.nominal_dimension, self.clip
            )

    @property
    def log_delta_target(self) -> float:
        """ln δ asked for; 4^-d takes the enlarged d where dummy dimensions are added."""
        if isinstance(self.delta, str):
            return -self.nominal_dimension * math.log(4)
        return math.log(self.delta)

    def noise(self, count: int, generator: Generator) -> Tensor:
        mass = -math.expm1(-self.alpha * self.A)
        draws = signed_exponential(count, self.dimension, generator, mass)
        # float32 rounding may pass A by one unit
        return draws.div_(self.alpha).clamp_(-self.A, self.A)

    def claimed(self) -> Claim:
        return Claim("(ε, δ)-DP", self.epsilon, self.log_delta_target)

    def log_delta(self, epsilon: float, difference: Floats | None = None) -> float:
        if difference is not None:
            return privacy.trlap_log_delta_at(epsilon, difference, self.alpha, self.A)
        return privacy.worst_log_delta(epsilon, self.alpha, self.A, self.dimension, self.clip)[0]

    def epsilon_at(self, log_delta: float, difference: Floats | None = None) -> float:
        if difference is not None:
            return privacy.trlap_epsilon(log_delta, difference, self.alpha, self.A)
        return privacy.worst_epsilon(log_delta, self.alpha, self.A, self.dimension, self.clip)[0]

    def compose(self, log_delta: float, draws: int) -> Composed:
        epsilon, _ = privacy.worst_epsilon(
            log_delta, self.alpha, self.A, self.dimension, self.clip, draws=draws
        )
        return composed(epsilon, log_delta)

    def geometry(self) -> Geometry:
        """ln f = const − α‖z − x‖₁ where no coordinate is further than A from its centre."""
        return Geometry(self.space.vectors, "l1", self.alpha, bound=self.A)

    def notes(self, epochs: int | None) -> list[str]:
        extra = self.nominal_dimension - self.dimension
        same = self.epsilon * math.sqrt(self.dimension / self.nominal_dimension)
        dummies = (
            f"the {extra} dummy dimensions change nothing: they have the same law for every word; "
            f"this is the mechanism in {self.dimension} dimensions at ε = {same:.4g}"
        )
        return [dummies] * (extra > 0) + super().notes(epochs)

    def _largest_epsilon(self) -> float:
        """The condition of Theorem 1: ε < 2 δ^{1/d} √d."""
        return 2 * math.exp(self.log_delta_target / self.dimension) * math.sqrt(self.dimension)
