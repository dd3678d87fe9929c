"""What the authors' published code does, which is not what the paper's algorithm says.

The paper's tables come from this code. Against Algorithm 1, as read from its source:

- vectors are not clipped; C = 0.005 only sets the scale of the noise;
- gaussian, laplace, trlap, cmp, pte: **one** noise vector a batch, added to all of its tokens;
- gaussian: standard deviation 2C√d/ε, the Laplace scale, whatever δ;
- trlap: one-sided, on [0, A]: a slip in a call of `bernoulli.rvs` makes the sign always +;
- mahalanobis: per token, but through λ·S + (1−λ)I itself and not its root, S the second moment of the batch's own
  words, λ = 0.5; directions are normalised over the tokens instead of over the coordinates;
- pte: Φ drawn anew each batch with standard deviation 1/m, budget ε/(1 + β), mapped back by Φᵀ;
- no projection: the auto-encoder reads the noisy vectors, at test time too.

Shared noise protects nothing: whoever knows one word of the batch subtracts its vector from the noisy one,
has the noise, and reads all other words exactly. The nearest words written here are for display; a block
of tokens stands for a batch.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor

from trlap.mechanisms.base import Claim, Floats, VectorMechanism
from trlap.mechanisms.cmp import ball
from trlap.mechanisms.laplace import signed_exponential
from trlap.privacy import noise as privacy

SHARED = ("gaussian", "laplace", "trlap", "cmp", "pte")


@dataclass(kw_only=True)
class Released(VectorMechanism):
    """One of the released mechanisms on the unclipped vectors of `space`."""

    released: str = field(default="trlap")
    lam: float = 0.5
    beta: float = 0.5
    failure: float = 1e-6

    @property
    def name(self) -> str:
        return self.released

    def perturb(self, words: Tensor, generator: Generator) -> Tensor:
        return self.perturb_vectors(self.space.vectors[words], generator)

    def perturb_vectors(self, batch: Tensor, generator: Generator) -> Tensor:
        """The noisy vectors of a batch of tokens, one a row."""
        if self.released == "none":
            return batch
        if self.released == "mahalanobis":
            return batch + self._mahalanobis(batch, generator)
        if self.released == "pte":
            return self._pte(batch, generator)
        return batch + self.noise(1, generator)

    def noise(self, count: int, generator: Generator) -> Tensor:
        d = self.dimension
        scale = 2 * self.clip * math.sqrt(d) / self.epsilon
        if self.released == "gaussian":
            return torch.randn(count, d, generator=generator, device=generator.device) * scale
        if self.released == "laplace":
            return signed_exponential(count, d, generator, 1.0) * scale
        if self.released == "cmp":
            return ball(count, d, self.epsilon, generator)
        nominal = privacy.trlap_dummy_dimension(self.epsilon, d)
        alpha, A, _ = privacy.trlap_parameters(
            self.epsilon, privacy.paper_log_delta(nominal), nominal, self.clip
        )
        return signed_exponential(count, d, generator, -math.expm1(-alpha * A)).abs() / alpha

    def _mahalanobis(self, batch: Tensor, generator: Generator) -> Tensor:
        d = self.dimension
        moment = batch.T @ batch / len(batch)
        matrix = self.lam * moment + (1 - self.lam) * torch.eye(d, device=batch.device)
        normal = torch.randn(batch.shape, generator=generator, device=generator.device)
        lengths = ball(len(batch), d, self.epsilon, generator).norm(dim=1, keepdim=True)  # Gamma
        return lengths * (torch.nn.functional.normalize(normal, dim=0) @ matrix.T)

    def _pte(self, batch: Tensor, generator: Generator) -> Tensor:
        d = self.dimension
        m = int((math.sqrt(math.log(d)) + math.sqrt(-math.log(self.failure))) ** 2 / self.beta**2)
        phi = torch.randn(m, d, generator=generator, device=generator.device) / m
        noise = ball(1, m, self.epsilon / (1 + self.beta), generator)
        return (batch @ phi.T + noise) @ phi

    def claimed(self) -> Claim:
        if self.released == "none":
            return Claim("none", math.inf, 0.0)
        if self.released == "laplace":
            return Claim("ε-DP", self.epsilon)
        if self.released in ("gaussian", "trlap"):
            nominal = self.dimension
            if self.released == "trlap":
                nominal = privacy.trlap_dummy_dimension(self.epsilon, nominal)
            return Claim("(ε, δ)-DP", self.epsilon, privacy.paper_log_delta(nominal))
        return Claim("metric DP", self.epsilon, distance="as published")

    def log_delta(self, epsilon: float, difference: Floats | None = None) -> float:
        """ln δ = 0: in the worst case all other words of the batch are known, and with them the noise.

        For mahalanobis, whose noise is per token but made from the batch's own words, no bound is known.
        """
        return 0.0

    def epsilon_at(self, log_delta: float, difference: Floats | None = None) -> float:
        return math.inf
