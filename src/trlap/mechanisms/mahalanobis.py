"""CMP's noise, stretched along the directions in which the vocabulary varies.

    M(w) = nearest word to CLIPEmb(w) + R^{1/2} z,   density of z ∝ e^{−ε‖z‖₂},   R = λΣ + (1 − λ)I

Xu, Aggarwal, Feyisetan & Teissier, "A differentially private text perturbation method using a
regularized Mahalanobis metric", PrivateNLP 2020. Σ is the covariance of the vocabulary's clipped
vectors, every word counting once, scaled to a mean variance of 1 (trace d); it is public, because
the vocabulary is. λ = 0 is CMP.

λ is 0.2 unless `mechanism.lam` says otherwise. The authors of the truncated Laplace paper take 0.5 in
their released code, and so does `protocol=release`; `mechanism.lam=0.5` takes it here. The larger λ
is, the more the noise follows the words, and the dearer are the directions in which they vary least.

**Guarantee**: metric DP in the regularised Mahalanobis norm. The density of the noise is ∝
e^{−ε‖z‖_R} with ‖s‖_R = √(sᵀR⁻¹s), so the log-ratio is at most ε·‖x − x'‖_R, for every pair and
every ε > 0. Along the direction that varies least this is the dearest: the worst case over all
clipped vectors is 2C/√λ_min(R), and from there on everything is as for CMP, R^{-1/2} being a mere
change of coordinates.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Generator, Tensor

from trlap.config.ranges import within
from trlap.errors import TrlapError
from trlap.mechanisms._geometry import Floats, Geometry
from trlap.mechanisms._look import Look
from trlap.mechanisms.cmp import MultivariatePerturbation

# of R's eigenvalues, whose mean is 1; float32 noise has nothing to say below it
SMALLEST = 1e-9


@dataclass(kw_only=True)
class Mahalanobis(MultivariatePerturbation):
    """More noise where words differ much, less where they differ little."""

    name = "mahalanobis"
    look = Look("#56b4e9", "v", ":", 5)

    # λ
    lam: float = within("[0, 1]", 0.2)

    def __post_init__(self) -> None:
        vectors = self.space.vectors.cpu().double().numpy()
        centred = vectors - vectors.mean(0)
        covariance = centred.T @ centred
        variance = float(np.trace(covariance)) / self.dimension
        if variance == 0:
            raise TrlapError(
                "mechanism=mahalanobis: all word vectors are the same; use another embedding"
            )
        values, axes = np.linalg.eigh(covariance / variance)
        values = self.lam * values.clip(min=0) + (1 - self.lam)
        if values.min() < SMALLEST:
            raise TrlapError(
                f"mechanism.lam={self.lam:g}: these words vary in fewer than {self.dimension} "
                "dimensions, so the others would get no noise; choose a smaller lam"
            )
        root = (axes * np.sqrt(values)) @ axes.T
        # λ_min(R)
        self.least = float(values.min())
        self._whiten = axes / np.sqrt(values)
        self._root = torch.from_numpy(root).float().to(self.space.device)
        super().__post_init__()

    @property
    def norm(self) -> str:
        return "regularised Mahalanobis"

    @property
    def reach(self) -> float:
        return 2 * self.clip / self.least**0.5

    def in_own_coordinates(self, difference: Floats) -> Floats:
        """s R^{-1/2}, but for a rotation."""
        return difference @ self._whiten

    def noise(self, count: int, generator: Generator) -> Tensor:
        return super().noise(count, generator) @ self._root

    def geometry(self) -> Geometry:
        """ln f = const − ε‖(z − x) R^{-1/2}‖₂."""
        whiten = torch.from_numpy(self._whiten)
        return Geometry(self.space.vectors, "l2", self.epsilon, whiten=whiten)
