"""Noise after a public random projection to fewer dimensions.

    M(w) = the word y whose Φ·CLIPEmb(y) is nearest to Φ·CLIPEmb(w) + z
    density of z ∝ e^{−ε‖z‖₂} in m dimensions,   Φ an m × d matrix with entries N(0, 1/m)

Feyisetan & Kasiviswanathan, "Private release of text embedding vectors", TrustNLP 2021. Φ roughly
keeps distances (within 1 ± β, but for a failure probability), and noise is shorter in fewer
dimensions. m = null takes (√ln d + √ln(1/failure))²/β², rounded down: 149 at d = 300. Φ is public:
drawn from `seed`, never from the text.

**Guarantee**: metric DP. For the Φ that was drawn, exactly and without a failure probability,
ε·‖Φ(x − x')‖₂ for every pair and every ε > 0: that is what is claimed here, and the triangle
inequality proves it. The worst case over all clipped vectors is 2C·σ_max(Φ), about 2C(1 + √(d/m)):
at equal ε this is *more* than CMP's.

**ε or ε/(1 + β)**. The authors count in the distance *before* projection, and for that they draw
noise with ε/(1 + β) in place of ε. This gives ε·‖x − x'‖₂ for those pairs whose distance Φ stretches
at most (1 + β)-fold; with the ε spent here these pairs have ε(1 + β)·‖x − x'‖₂. That Φ does so for
all words is likely and not certain: `failure` is the probability that it does not, over the drawing
of Φ. Once Φ is drawn nothing is left to chance, so the audit takes neither statement but computes the
stretch of the Φ at hand: `notes` has the largest over all clipped vectors, σ_max(Φ). For the default
Φ at d = 300 (m = 149) that is 2.38 and more than 1 + β = 1.5, so that over all clipped vectors
neither ε nor ε/(1 + β) is metric DP in the distance before projection; over all pairs of the 10,000
public words the largest is 1.32, and there it is. Whoever wants the authors' count writes
epsilon=ε/(1 + β). `protocol=release` divides by 1 + β as their code does.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from trlap.config.ranges import SEED, within
from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms._geometry import Floats, Geometry
from trlap.mechanisms._look import Look
from trlap.mechanisms.cmp import MultivariatePerturbation

# numbers in the projected vectors, or in Φ: 2 GiB
ENTRIES = 2**28


@dataclass(kw_only=True)
class ProjectedPerturbation(MultivariatePerturbation):
    """What is released is a vector of m dimensions."""

    name = "pte"
    look = Look("#cc79a7", "P", ":", 6)

    # null: from beta and failure
    m: int | None = within("[1, 1e5]", None)
    beta: float = within("(0, 1)", 0.5)
    failure: float = within("(0, 1)", 1e-6)
    # of the public Φ; the noise has its own
    seed: int = within(SEED, 0)

    @classmethod
    def check_keys(cls, keys: Mapping[str, Any], words: int, dimension: int) -> None:
        projected_rows(keys["m"], keys["beta"], keys["failure"], dimension, words)

    def __post_init__(self) -> None:
        space, device = self.space, self.space.device
        rows = projected_rows(self.m, self.beta, self.failure, self.dimension, len(space))
        rng = np.random.default_rng(self.seed)
        self.phi = rng.normal(scale=rows**-0.5, size=(rows, self.dimension))
        vectors, targets = (
            (matrix.cpu().double().numpy() @ self.phi.T).astype(np.float32)
            for matrix in (space.vectors, space.targets)
        )
        self._vectors = torch.from_numpy(vectors).to(device)
        self._projected = Space(space.words, targets, space.prior, clip=None, device=str(device))
        super().__post_init__()

    @property
    def norm(self) -> str:
        return "Euclidean after projection"

    @property
    def noise_dimension(self) -> int:
        return len(self.phi)

    @property
    def reach(self) -> float:
        return 2 * self.clip * float(np.linalg.norm(self.phi, 2))

    def in_own_coordinates(self, difference: Floats) -> Floats:
        """Φs."""
        return self.phi @ difference

    def perturb(self, words: Tensor, generator: Generator) -> Tensor:
        """The noisy vectors in m dimensions: what is released."""
        return self._vectors[words] + self.noise(len(words), generator)

    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        return self._projected.nearest(self.perturb(words, generator))

    def notes(self, epochs: int | None) -> list[str]:
        stretch = self.reach / (2 * self.clip)
        note = (
            f"ε counts distances after projection, which Φ stretches up to {stretch:.3g}-fold: in the "
            f"distance before it this is at most {stretch * self.epsilon:.4g} times the distance; the "
            f"authors spend ε/(1 + β) = {self.epsilon / (1 + self.beta):.4g}, which suffices for pairs "
            f"that Φ stretches at most {1 + self.beta:g}-fold"
        )
        return [note, *super().notes(epochs)]

    def geometry(self) -> Geometry:
        """ln f = const − ε‖z − Φx‖₂, in m dimensions."""
        points, project = self.space.vectors, self.phi.T
        centres = torch.from_numpy(points.cpu().double().numpy() @ project).to(points)
        return Geometry(centres, "l2", self.epsilon, project=project)


def projected_dimension(dimension: int, beta: float, failure: float) -> int:
    """m = ⌊(√ln d + √ln(1/failure))² / β²⌋, and 1 at least."""
    width = math.sqrt(math.log(dimension)) + math.sqrt(-math.log(failure))
    # a β whose square is no float asks for more than any memory has
    return max(1, int(min(width / beta * (width / beta), 1e300)))


def projected_rows(m: int | None, beta: float, failure: float, dimension: int, words: int) -> int:
    """m, given or chosen, where vectors of that many dimensions fit in memory."""
    rows = m or projected_dimension(dimension, beta, failure)
    most = ENTRIES // max(words, dimension)
    if rows > most:
        key, larger = (f"m={m}", "") if m else (f"beta={beta:g}", ", or a larger beta")
        raise TrlapError(
            f"mechanism.{key}: vectors of {rows:.3g} dimensions would not fit in memory; "
            f"choose mechanism.m of at most {most:,}{larger}"
        )
    return rows
