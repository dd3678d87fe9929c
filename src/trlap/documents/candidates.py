"""Public sets of public documents: a private document answers with one of its set.

The public documents are cut into P sets of K by chance that is public too, so that a text tells which set it
is of; and which documents of a text choose from which set is drawn by the same chance, as often from each. So
a set depends on where a document stands, never on what stands in it. What it chooses is the nearest of the set.

Many small sets beat one clustering of the public documents: every document is asked another question, and no
unlucky cluster is asked about by all (docs/document.md has the comparison).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trlap.documents.encoder import Floats
from trlap.errors import TrlapError

if TYPE_CHECKING:
    from trlap.embeddings.space import Space

# sets: more do not teach more, and a reader has to go through all public documents for each
SETS = 500


@dataclass(frozen=True)
class Candidates:
    """`texts` and `vectors` of the public documents, all different; `sets` has the rows of each set.

    `seed` is of the chance, which everybody may know.
    """

    texts: Sequence[str]
    vectors: Floats
    sets: NDArray[np.int64]
    seed: int

    @classmethod
    def drawn(cls, texts: Sequence[str], vectors: Floats, size: int, seed: int) -> "Candidates":
        """Equal texts are one document: an answer has to say which of its set it is."""
        numbers = {text: number for number, text in reversed(list(enumerate(texts)))}
        rows = np.sort(np.fromiter(numbers.values(), np.int64))
        if len(rows) < size:
            lower = "lower K, " if size > 2 else ""
            raise TrlapError(
                f"mechanism.K={size}: there are {len(rows)} different public documents; {lower}raise "
                "public.share or name more by public.path"
            )
        return cls([texts[i] for i in rows], vectors[rows], cut(len(rows), size, seed), seed)

    @property
    def size(self) -> int:
        return self.sets.shape[1]

    def content(self) -> list[bytes]:
        """All that an answer depends on beside the document: no two versions share noise that differ in it."""
        texts = [text.encode() for text in self.texts]
        return [self.vectors.tobytes(), self.sets.tobytes(), str(self.seed).encode(), *texts]

    def space(self, device: str = "cpu") -> "Space":
        """The first set, in place of words: all sets have the same channel."""
        from trlap.embeddings.space import Space

        first = self.sets[0]
        prior = np.full(len(first), 1 / len(first))
        texts = [self.texts[i] for i in first]
        return Space(texts, self.vectors[first], prior, clip=None, device=device)

    def numbers(self, count: int, first: int = 0) -> NDArray[np.int64]:
        """The number of the set that each document of a text chooses from: every set once, in an order that
        is drawn, then every set again. Classes that stand in turn do not meet sets in turn.

        `first` is the place of the first of them, so that a long text can be gone through in parts.
        """
        turns = range(first // len(self.sets), -(-(first + count) // len(self.sets)))
        orders = [
            np.random.default_rng([self.seed, turn, *b"places"]).permutation(len(self.sets))
            for turn in turns
        ]
        start = first % len(self.sets)
        return np.concatenate([np.zeros(0, np.int64), *orders])[start : start + count]

    def choose(
        self,
        vectors: Floats,
        first: int = 0,
        labels: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> NDArray[np.int32]:
        """What each document of a text chooses: its place in the set. `labels` count among pairs alone.

        One by one, so that no rounding depends on another document.
        """
        chosen = np.zeros(len(vectors), np.int32)
        numbers = self.numbers(len(vectors), first)
        for place, vector in enumerate(vectors):
            label = None if labels is None else int(labels[place])
            chosen[place] = self.choice(int(numbers[place]), vector, label)
        return chosen

    def choice(self, number: int, vector: Floats, label: int | None = None) -> int:
        """What a document with that vector chooses of one set; of equally near ones the first."""
        points = self._points[self.sets[number]]
        return int(((points - vector.astype(np.float64)) ** 2).sum(axis=1).argmin())

    @cached_property
    def _points(self) -> NDArray[np.float64]:
        return self.vectors.astype(np.float64)

    def answered(self, answers: NDArray[np.int32], first: int = 0) -> list[str]:
        """The texts of a text's answers."""
        return [self.texts[i] for i in self.sets[self.numbers(len(answers), first), answers]]

    def classes_of(self, answers: NDArray[np.int32], first: int = 0) -> list[int] | None:
        """The classes of a text's answers, where these have classes."""
        return None

    def answers(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """And back: which of its set each text is."""
        rows = {text: row for row, text in enumerate(self.texts)}
        sets = self.sets[self.numbers(len(texts))]
        found = np.array([rows[text] for text in texts], np.int64)
        return (sets == found[:, None]).argmax(axis=1)

    def cells(self, number: int) -> NDArray[np.int64]:
        """What every public document would choose from that set."""
        points = self.vectors[self.sets[number]]
        scores = self.vectors @ points.T - (points**2).sum(axis=1) / 2
        chosen: NDArray[np.int64] = scores.argmax(axis=1)
        return chosen


def cut(documents: int, size: int, seed: int) -> NDArray[np.int64]:
    """Rows of each set, of so many public documents: at most `SETS` sets, by public chance."""
    order = np.random.default_rng([seed, *b"candidates"]).permutation(documents)
    count = min(SETS, documents // size)
    return order[: count * size].reshape(count, size)
