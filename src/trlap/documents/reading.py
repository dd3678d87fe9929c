"""What a classifier reads of documents where some are public: of private ones, of originals, of public ones.

**posterior.** Public documents stand for private ones: x is drawn from them, and answers as a private document
at the same place would. With A the public documents that would choose the answer y from the set,

    E[x | y] = (q̄ x̄ + (q − q̄) S(y)) / (q̄ + (q − q̄) s(y)),   S(y) = (1/n) Σ_{x ∈ A} x,   s(y) = |A|/n,

q = e^ε/(e^ε + K − 1), q̄ = 1/(e^ε + K − 1) and x̄ their mean. A function of public things and the answer.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from trlap.documents.candidates import SETS, Candidates
from trlap.documents.encoder import Floats
from trlap.documents.evidence import Evidence, evidence
from trlap.documents.pairs import Pairs


class Documents(ABC):
    """A side is private, original or public. Where nothing is said of one, its words are read."""

    # the public documents
    texts: Sequence[str]

    @abstractmethod
    def rows(self, split: str, side: str, texts: Sequence[str]) -> Floats | None:
        """A row for each text of a split."""

    @abstractmethod
    def public(self, side: str) -> Floats | None:
        """The public documents, without labels, read as texts of that side are."""

    def evidence(self, split: str, side: str, texts: Sequence[str]) -> Evidence | None:
        """What texts of a split say of the public documents' classes, where their labels are noisy too and
        this is undone.
        """
        return None


@dataclass(frozen=True, eq=False)
class OfWords(Documents):
    """Documents of which words are published. `encoded` has vectors of originals and, under `public`, of all
    public documents, where an encoder reads these; `labelled`: those whose labels are learned from.
    """

    texts: Sequence[str]
    encoded: dict[str, Floats] | None
    labelled: NDArray[np.int64]

    def rows(self, split: str, side: str, texts: Sequence[str]) -> Floats | None:
        if self.encoded is None or side == "private":
            return None
        return self.encoded["public"][self.labelled] if side == "public" else self.encoded[split]

    def public(self, side: str) -> Floats | None:
        return None if self.encoded is None or side == "private" else self.encoded["public"]


@dataclass(frozen=True, eq=False)
class OfAnswers(Documents):
    """Documents that answer as a whole. `how`: none | posterior, for private ones."""

    texts: Sequence[str]
    encoded: dict[str, Floats]
    labelled: NDArray[np.int64]
    candidates: Candidates
    epsilon: float
    how: str

    def rows(self, split: str, side: str, texts: Sequence[str]) -> Floats:
        if side == "public":
            return self.encoded["public"][self.labelled]
        if side == "original":
            return self.encoded[split]
        if self.how == "none":
            return self.as_they_stand(texts)
        answers = self.candidates.answers(texts)
        return self._posterior(answers, self.candidates.numbers(len(texts)))

    def as_they_stand(self, texts: Sequence[str]) -> Floats:
        """The vectors of the public texts that were answered."""
        answers = self.candidates.answers(texts)
        return self.candidates.vectors[
            self.candidates.sets[self.candidates.numbers(len(texts)), answers]
        ]

    def public(self, side: str) -> Floats:
        return self.candidates.vectors

    def _posterior(self, answers: NDArray[np.int64], sets: NDArray[np.int64]) -> Floats:
        rows = np.empty((len(answers), self.candidates.vectors.shape[1]), np.float32)
        order = np.argsort(sets, kind="stable")
        starts = np.flatnonzero(np.diff(sets[order], prepend=-1))
        for here in np.split(order, starts[1:]):
            rows[here] = self._means(int(sets[here[0]]))[answers[here]]
        return rows

    @lru_cache(maxsize=SETS)  # noqa: B019  as long as the reading itself
    def _means(self, number: int) -> NDArray[np.float64]:
        """E[x | y] for every answer y of that set."""
        vectors, size = self.candidates.vectors, self.candidates.size
        members = np.eye(size, dtype=np.float32)[self.candidates.cells(number)]
        sums = (members.T @ vectors / len(vectors)).astype(np.float64)
        shares = members.mean(axis=0, dtype=np.float64)
        # q / q̄ − 1 = e^ε − 1, and all is divided by q̄
        gain = math.expm1(min(self.epsilon, 600.0))
        means: NDArray[np.float64] = (self._mean + gain * sums) / (1 + gain * shares)[:, None]
        return means

    @cached_property
    def _mean(self) -> NDArray[np.float64]:
        return self.candidates.vectors.mean(axis=0, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class OfPairs(OfAnswers):
    """Documents that answer with their labels. A test document answers without, as in `OfAnswers`."""

    candidates: Pairs

    def rows(self, split: str, side: str, texts: Sequence[str]) -> Floats:
        """Answers as they stand: what is known of a private document from a pair, its class unknown, is
        next to nothing. `evidence` has what all tell together.
        """
        if side == "private" and split != "test":
            return self.as_they_stand(texts)
        return super().rows(split, side, texts)

    def evidence(self, split: str, side: str, texts: Sequence[str]) -> Evidence | None:
        if side != "private" or split == "test" or self.how == "none":
            return None
        return evidence(self.candidates, self.candidates.answers(texts), self.epsilon)
