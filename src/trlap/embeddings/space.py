"""The public space of words: clipped vectors and the exact nearest word."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trlap.data.tokenizer import UNK
from trlap.errors import TrlapError

# at most so many scores at once: 256 MiB, whatever the vocabulary; less is slower
SCORES = 2**26
# words whose maximum is taken together
SEGMENT = 128
# coordinates: a multiple of what a vector register holds
ALIGNED = 16


def clipped(vectors: NDArray[np.float32], clip: float) -> NDArray[np.float32]:
    """CLIPEmb(w) = φ(w) · min(1, C / ‖φ(w)‖₂): Equation 1 of the paper, in float32.

    No vector is longer than C, not by rounding either: a mechanism that is pure for ‖s‖₂ ≤ 2C has a δ > 0
    for two that are a last digit further apart. So coordinates are rounded towards 0, which shortens every
    vector. Whose length is then so near to C that float64 cannot tell is measured in whole numbers, and
    where it is longer its coordinates are moved one more digit towards 0.
    """
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    exact = vectors * (clip / np.maximum(lengths, clip))
    rounded = exact.astype(np.float32)
    away = np.abs(rounded.astype(np.float64)) > np.abs(exact)
    rounded[away] = np.nextafter(rounded[away], np.float32(0))
    # of a sum of d squares and its root, relatively
    error = (rounded.shape[1] + 4) * 2.0**-53
    near = np.linalg.norm(rounded.astype(np.float64), axis=1) > clip * (1 - error)
    for i in np.flatnonzero(near):
        while _longer(rounded[i], clip):
            rounded[i] = np.nextafter(rounded[i], np.float32(0))
    return rounded


def _longer(vector: NDArray[np.float32], clip: float) -> bool:
    """Whether it is longer than C, or float64 takes it to be."""
    values = vector.astype(np.float64)
    if not np.isfinite(values).all():
        return False
    square = sum(Fraction(value) ** 2 for value in values.tolist())
    return square > Fraction(clip) ** 2 or float(np.linalg.norm(values)) > clip


class Space:
    """Words as points. All of it is public: it never depends on the text to be protected.

    words    the vocabulary, words[0] is <unk>
    vectors  what noise is added to: CLIPEmb(w), or φ(w) where `clip` is None
    targets  what a noisy vector is compared with: the clipped words, or the original ones (Equation 2)
    prior    unigram probabilities
    cache    a folder for what is derived from the space alone, such as neighbours
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
        self.cache = cache
        self.prior = prior
        self.device = torch.device(device)
        inputs = vectors if clip is None else clipped(vectors, clip)
        targets = vectors if projection == "original" else inputs
        self.vectors = torch.from_numpy(inputs).to(self.device)
        self.targets = torch.from_numpy(targets).to(self.device)
        # ‖x − t‖² = ‖x‖² − 2 (x·t − ‖t‖²/2): one product gives the order, the last column the offset.
        # Padding words score −inf.
        offset = -0.5 * (self.targets.double().cpu() ** 2).sum(1).float().to(self.device)
        # Full segments let the maximum run at memory speed, full vector registers the product.
        wide = self.dimension + 1
        self._wide = wide + -wide % ALIGNED
        padding = (0, self._wide - wide, 0, -len(words) % SEGMENT)
        self._matrix = torch.cat([self.targets, offset[:, None]], dim=1)
        self._matrix = torch.nn.functional.pad(self._matrix, padding)
        self._matrix[len(words) :, wide - 1] = -torch.inf
        self._longest = float(self.targets.norm(dim=1).max())
        if not math.isfinite(self._longest):
            raise TrlapError(
                "the embedding has vectors whose squares are no float32; divide all of them by a number"
            )
        self._scores = self._matrix.new_empty(0)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dimension(self) -> int:
        return self.vectors.shape[1]

    def nearest(self, points: Tensor) -> Tensor:
        """The index of the nearest target of each point, exactly; ties go to the smaller index.

        Scores are float32. Where the best two are closer than the rounding error of a product of
        this length can explain, that point's row is computed again in float64, so that the answer
        depends neither on the batch nor on the number of threads.
        """
        return self._nearest(points, 1)[:, 0]

    def nearest_two(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Indices of the nearest and the second nearest target, as exact as `nearest`; distances.

        Both have a row for each point and two columns. Distances are taken from the differences,
        where nothing cancels: their relative error is a few float32 units.
        """
        indices = self._nearest(points, 2)
        distances = [(points - self.targets[column]).norm(dim=1) for column in indices.T]
        return indices, torch.stack(distances, dim=1)

    def _nearest(self, points: Tensor, count: int) -> Tensor:
        rows = max(1, SCORES // self._matrix.shape[0])
        parts = [self._nearest_rows(part, count) for part in points.split(rows)]
        indices = torch.cat([part for part, _ in parts])
        unsure = torch.cat([part for _, part in parts])
        if unsure.any():
            indices[unsure] = self._nearest_float64(points[unsure], count).to(self.device)
        return indices

    def _nearest_rows(self, points: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Indices, and whether rounding leaves a doubt.

        The best `count` and the next one are in the segments with the highest peaks.
        """
        extended = points.new_zeros(len(points), self._wide)
        extended[:, : self.dimension] = points
        extended[:, self.dimension] = 1
        shape = len(points), len(self._matrix)
        if len(self._scores) < len(points):
            self._scores = self._matrix.new_empty(shape)
        # one buffer for all blocks: the system takes a third of the product's time to hand out a new one
        product = torch.mm(extended, self._matrix.T, out=self._scores[: len(points)])
        scores = product.view(len(points), -1, SEGMENT)
        segments = scores.amax(2).topk(min(count + 1, scores.shape[1]), dim=1).indices
        inside = scores.take_along_dim(segments[:, :, None], dim=1).flatten(1)
        top, place = inside.topk(count + 1, dim=1)
        place = place[:, :count]
        indices = segments.take_along_dim(place // SEGMENT, dim=1) * SEGMENT + place % SEGMENT
        lengths = points.norm(dim=1)
        # the nearest word of what is no vector would be any word, without a sign of it
        if not bool(lengths.isfinite().all()):
            raise TrlapError("a noisy vector is no vector of float32 numbers; raise epsilon")
        scale = lengths * self._longest + 0.5 * self._longest**2
        # |error of a float32 product of n terms| ≤ n u ‖x‖‖t‖ (Higham 2002, §3.1), twice for a gap
        gap = (top[:, :-1] - top[:, 1:]).amin(1)
        return indices, gap <= 2 * (self.dimension + 1) * 2**-24 * scale

    @cached_property
    def _float64(self) -> tuple[Tensor, Tensor]:
        targets = self.targets.cpu().double()
        return targets, 0.5 * (targets**2).sum(1)

    def _nearest_float64(self, points: Tensor, count: int) -> Tensor:
        targets, offset = self._float64
        rows = max(1, SCORES // 2 // len(targets))
        parts = []
        for part in points.cpu().double().split(rows):
            scores = part @ targets.T - offset
            columns = []
            # `argmax` takes the first of equals; `topk` promises nothing
            for _ in range(count):
                columns.append(scores.argmax(1, keepdim=True))
                scores.scatter_(1, columns[-1], -torch.inf)
            parts.append(torch.cat(columns, dim=1))
        return torch.cat(parts)


def centred(vectors: NDArray[np.float32], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Directions of the vectors after taking off their mean under the prior; 0 where nothing is left.

    All word vectors share a direction. Without centring, the cosine with a constant word is high.
    """
    moved = vectors.astype(np.float64)
    longest = np.linalg.norm(moved, axis=1).max()
    moved -= prior @ moved / prior.sum()
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    return np.where(lengths > 1e-6 * longest, moved / np.maximum(lengths, 1e-300), 0.0)


def meaningful(words: Sequence[str], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """The prior without <unk>: its vector is a random one, and cosines with it say nothing."""
    known = np.array([word != UNK for word in words[:1]] + [True] * (len(words) - 1))
    return prior * known / prior[known].sum()
