"""What a classifier reads of a document: its vector, or what is known of it from its answer.

**posterior.** Public documents stand for private ones: x is drawn from them, and answers as a private document
at the same place would. With A the public documents that would choose the answer y from the set,

    E[x | y] = (q̄ x̄ + (q − q̄) S(y)) / (q̄ + (q − q̄) s(y)),   S(y) = (1/n) Σ_{x ∈ A} x,   s(y) = |A|/n,

q = e^ε/(e^ε + K − 1), q̄ = 1/(e^ε + K − 1) and x̄ their mean. A function of public things and the answer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trlap.documents.candidates import Candidates
from trlap.documents.encoder import Floats


@dataclass(frozen=True)
class DocumentReading:
    """`originals` has the vectors of every split; `how`: none | posterior, for private texts."""

    originals: dict[str, Floats]
    candidates: Candidates
    epsilon: float
    how: str

    @property
    def public(self) -> Floats:
        """Public documents, without labels."""
        return self.candidates.vectors

    def vectors(self, split: str, side: str, texts: Sequence[str]) -> Floats:
        """A row for each text of a split."""
        if side == "original":
            return self.originals[split]
        answers = self.candidates.answers(texts)
        places = np.arange(len(texts))
        if self.how == "none":
            return self.candidates.vectors[
                self.candidates.sets[self.candidates.set_of(places), answers]
            ]
        return self._posterior(answers, self.candidates.set_of(places))

    def _posterior(self, answers: NDArray[np.int64], sets: NDArray[np.int64]) -> Floats:
        vectors, size = self.candidates.vectors, self.candidates.size
        mean = vectors.mean(axis=0)
        # q / q̄ − 1 = e^ε − 1, and all is divided by q̄
        gain = math.expm1(min(self.epsilon, 600.0))
        rows = np.empty((len(answers), vectors.shape[1]), np.float32)
        for number in np.unique(sets):
            cells = self.candidates.cells(number)
            counts = np.bincount(cells, minlength=size)
            sums = np.zeros((size, vectors.shape[1]))
            np.add.at(sums, cells, vectors)
            shares, sums = counts / len(vectors), sums / len(vectors)
            means = (mean + gain * sums) / (1 + gain * shares)[:, None]
            here = sets == number
            rows[here] = means[answers[here]]
        return rows
