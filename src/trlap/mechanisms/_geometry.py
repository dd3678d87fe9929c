"""What a vector mechanism's noise looks like to an auditor: a centre for every word and a norm.

All noises here have a density that falls with a norm of the distance from the word's centre,

    ln f(z | w) = const − rate · ‖(z − x_w) W‖   (squared for the Gaussian),   |z_j − x_wj| ≤ bound

so one description serves the search for the largest pair, the likelihood ratio of two words and the
attacker who compares all words.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trlap.privacy.exits import log_exit_of_any
from trlap.privacy.truncated_laplace import TruncatedLaplaceNoise

Floats = NDArray[np.float64]

# float32 noise may pass its bound by a rounding error
SUPPORT = 1 + 1e-5


@dataclass(frozen=True)
class Geometry:
    """`points`: the centres, a row for each word, in the coordinates of the noisy vector."""

    points: Tensor
    # l1 | l2 | l2², the squared one
    norm: str
    rate: float
    # W, where the norm is not that of the coordinates
    whiten: Tensor | None = None
    # from clipped vectors to centres, where that is not the identity
    project: Floats | None = None
    # A
    bound: float = math.inf

    @property
    def unit(self) -> str:
        """The norm that distances are given in."""
        return "l1" if self.norm == "l1" else "l2"

    @property
    def bounded(self) -> bool:
        """Whether the noise has an end, so that some vectors are impossible for some words."""
        return math.isfinite(self.bound)

    def log_likelihood(
        self, noisy: Tensor, words: Tensor | None = None, support: bool = True
    ) -> Tensor:
        """ln f(z | w) up to one constant, in float64: a row for each z, a column for each word.

        `support=False` forgets the bound, as an attacker does who takes the noise for Laplace noise.
        """
        points = self.points if words is None else self.points[words]
        centres, z = self.flat(points), self.flat(noisy)
        if self.norm == "l1":
            score = -self.rate * torch.cdist(z, centres, p=1)
        else:
            squares = (z**2).sum(1, keepdim=True) - 2 * z @ centres.T + (centres**2).sum(1)
            squares.clamp_(min=0)
            score = -self.rate * (squares if self.norm == "l2²" else squares.sqrt_())
        if support and self.bounded:
            score[self.outside(noisy, words).to(score.device)] = -math.inf
        return score

    def outside(self, noisy: Tensor, words: Tensor | None = None) -> Tensor:
        """The support test: whether the word cannot have led to the noisy vector."""
        points = self.points if words is None else self.points[words]
        return torch.cdist(noisy.to(points), points, p=math.inf) > self.bound * SUPPORT

    def nearest(self, noisy: Tensor) -> Tensor:
        """The word whose centre is nearest to the noisy vector: the simplest attacker."""
        plain = Geometry(self.points, "l2²", 1.0)
        return plain.log_likelihood(noisy).argmax(1)

    def flat(self, rows: Tensor) -> Tensor:
        """In float64, whitened; on the CPU where the device has no float64."""
        rows = rows.cpu() if rows.device.type == "mps" else rows
        return rows.double() if self.whiten is None else rows.double() @ self.whiten.to(rows.device)

    def distance(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
        """Distances of pairs of words in the noise's own norm, not squared."""
        order = 1 if self.norm == "l1" else 2
        parts = []
        for start in range(0, len(first), 4096):
            part = slice(start, start + 4096)
            apart = self.points[torch.from_numpy(first[part])].double().cpu()
            apart -= self.points[torch.from_numpy(second[part])].double().cpu()
            parts.append(self.flat(apart).norm(p=order, dim=1).numpy())
        return np.concatenate(parts) if parts else np.zeros(0)

    def log_exit(self, difference: Floats) -> float:
        """ln(−ln(1 − p)), p the probability that a noisy vector is impossible for the other word."""
        return log_exit_of_any(difference, self.rate, self.bound)

    def worst_pair(self, clip: float, dimension: int) -> tuple[Tensor, Tensor]:
        """Centres of two clipped vectors, not words, that are as far apart as can be: ± s/2.

        For l1 and for truncated noise s is that of `TruncatedLaplaceNoise.worst_direction`; for the
        others it is the direction that projection and whitening stretch most, of length 2C.
        """
        if self.norm == "l1":
            law = TruncatedLaplaceNoise(
                alpha=self.rate, bound=self.bound, dimension=dimension, clip=clip
            )
            s = law.worst_direction()
        else:
            stretch = np.eye(dimension) if self.project is None else self.project
            if self.whiten is not None:
                stretch = stretch @ self.whiten.cpu().numpy()
            s = 2 * clip * np.linalg.svd(stretch)[0][:, 0]
        half = s / 2 if self.project is None else s @ self.project / 2
        centre = torch.from_numpy(half).to(self.points)
        return centre, -centre
