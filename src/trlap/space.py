"""The public space of words: clipped vectors and the exact nearest word."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

SCORES = 2**25  # at most so many scores at once: 128 MiB, whatever the vocabulary
SEGMENT = 128


def clipped(vectors: NDArray[np.float32], clip: float) -> NDArray[np.float32]:
    """CLIPEmb(w) = φ(w) · min(1, C / ‖φ(w)‖₂): Equation 1 of the paper."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors * np.minimum(1, clip / np.maximum(lengths, 1e-300))).astype(np.float32)


class Space:
    """Words as points. All of it is public: it never depends on the text to be protected.

    words    the vocabulary, words[0] is <unk>
    vectors  what noise is added to: CLIPEmb(w), or φ(w) where `clip` is None
    targets  what a noisy vector is compared with: the clipped words, or the original ones (Equation 2)
    prior    unigram probabilities
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: NDArray[np.float32],
        prior: NDArray[np.float64],
        clip: float | None = 1.0,
        projection: str = "clipped",
        device: str = "cpu",
        cache: Path | None = None,
    ) -> None:
        self.words = words
        self.cache = cache  # a folder for what is derived from the space alone, such as neighbours
        self.prior = prior
        self.device = torch.device(device)
        inner = vectors if clip is None else clipped(vectors, clip)
        outer = vectors if projection == "original" else inner
        self.vectors = torch.from_numpy(inner).to(self.device)
        self.targets = torch.from_numpy(outer).to(self.device)
        # ‖x − t‖² = ‖x‖² − 2 (x·t − ‖t‖²/2): one product gives the order, the last column the offset.
        # Padding words score −inf; full segments let the maximum run at memory speed.
        offset = -0.5 * (self.targets.double().cpu() ** 2).sum(1).float().to(self.device)
        padding = -len(words) % SEGMENT
        self._matrix = torch.cat([self.targets, offset[:, None]], dim=1)
        self._matrix = torch.nn.functional.pad(self._matrix, (0, 0, 0, padding))
        self._matrix[len(words) :, -1] = -torch.inf
        self._longest = float(self.targets.norm(dim=1).max())

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dimension(self) -> int:
        return self.vectors.shape[1]

    def nearest(self, points: Tensor) -> Tensor:
        """The index of the nearest target of each point, exactly; ties go to the smaller index.

        Scores are float32. Where the best two are closer than the rounding error of a product of this
        length can explain, that point's row is computed again in float64, so that the answer depends
        neither on the batch nor on the number of threads.
        """
        rows = max(1, SCORES // self._matrix.shape[0])
        return torch.cat([self._nearest(part) for part in points.split(rows)])

    def _nearest(self, points: Tensor) -> Tensor:
        extended = torch.nn.functional.pad(points, (0, 1), value=1.0)
        scores = (extended @ self._matrix.T).view(len(points), -1, SEGMENT)
        peaks = scores.amax(2)
        best, segment = peaks.topk(min(2, peaks.shape[1]), dim=1)
        inside = scores[torch.arange(len(points), device=self.device), segment[:, 0]]
        top, place = inside.topk(2, dim=1)
        found = segment[:, 0] * SEGMENT + place[:, 0]
        second = torch.maximum(top[:, 1], best[:, 1]) if best.shape[1] > 1 else top[:, 1]
        lengths = points.norm(dim=1)
        scale = lengths * self._longest + 0.5 * self._longest**2
        # |error of a float32 dot product of n terms| ≤ n u ‖x‖‖t‖ (Higham 2002, §3.1), twice for a gap
        unsure = top[:, 0] - second <= 2 * (self.dimension + 1) * 2**-24 * scale
        if unsure.any():
            found[unsure] = self._nearest_float64(points[unsure]).to(self.device)
        return found

    def _nearest_float64(self, points: Tensor) -> Tensor:
        targets = self.targets.cpu().double()
        offset = 0.5 * (targets**2).sum(1)
        rows = max(1, SCORES // 2 // len(targets))
        parts = [(p @ targets.T - offset).argmax(1) for p in points.cpu().double().split(rows)]
        return torch.cat(parts)


def centred_cosine(
    words: NDArray[np.int32],
    replaced: NDArray[np.int32],
    vectors: NDArray[np.float32],
    prior: NDArray[np.float64],
) -> tuple[float | None, float | None]:
    """Mean cosine between a word and its replacement, and the best that one constant word reaches.

    Vectors are centred by the mean under the prior. Without that a constant output scores high: all
    word vectors share a direction.
    """
    if not len(words):
        return None, None
    centred = vectors.astype(np.float64) - prior @ vectors.astype(np.float64)
    centred /= np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)
    mean = float(np.einsum("ij,ij->i", centred[words], centred[replaced]).mean())
    return mean, float((centred @ centred[words].mean(0)).max())
