"""Public sets of public documents: a private document answers with one of its set.

Set number p has K different public documents, drawn by chance that is public too; the document at place i
of a text chooses from set i mod P. So a set depends on where a document stands, never on what stands in it.
What it chooses is the document of the set that is nearest to it.

Many small sets beat one clustering of the public documents: an answer asks another question of every
document, and no unlucky cluster is asked about by all (docs/document.md has the comparison).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trlap.documents.encoder import Floats
from trlap.errors import TrlapError

# sets: more do not teach more, and a reader has to go through all public documents for each
SETS = 1000


@dataclass(frozen=True)
class Candidates:
    """`texts` and `vectors` of the public documents, all different; `sets` has the rows of each set."""

    texts: Sequence[str]
    vectors: Floats
    sets: NDArray[np.int64]

    @classmethod
    def drawn(cls, texts: Sequence[str], vectors: Floats, size: int, seed: int) -> "Candidates":
        """Equal texts are one document: an answer has to say which of its set it is."""
        numbers = {text: number for number, text in reversed(list(enumerate(texts)))}
        rows = np.sort(np.fromiter(numbers.values(), np.int64))
        if len(rows) < size:
            raise TrlapError(
                f"mechanism.K={size}: there are {len(rows)} different public documents; lower K, raise "
                "public.share or name more by public.path"
            )
        rng = np.random.default_rng([seed, *b"candidates"])
        sets = np.stack([rng.choice(len(rows), size, replace=False) for _ in range(SETS)])
        return cls([texts[i] for i in rows], vectors[rows], sets)

    @property
    def size(self) -> int:
        return self.sets.shape[1]

    def set_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        return places % len(self.sets)

    def choose(self, vectors: Floats) -> NDArray[np.int32]:
        """What each document of a text chooses: its place in the set.

        One by one, so that no rounding depends on another document; of equally near ones the first.
        """
        chosen = np.zeros(len(vectors), np.int32)
        for place, vector in enumerate(vectors.astype(np.float64)):
            points = self._points[self.sets[place % len(self.sets)]]
            chosen[place] = ((points - vector) ** 2).sum(axis=1).argmin()
        return chosen

    @cached_property
    def _points(self) -> NDArray[np.float64]:
        return self.vectors.astype(np.float64)

    def answered(self, answers: NDArray[np.int32]) -> list[str]:
        """The texts of a text's answers."""
        sets = self.set_of(np.arange(len(answers)))
        return [self.texts[i] for i in self.sets[sets, answers]]

    def answers(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """And back: which of its set each text is."""
        rows = {text: row for row, text in enumerate(self.texts)}
        sets = self.sets[self.set_of(np.arange(len(texts)))]
        found = np.array([rows[text] for text in texts], np.int64)
        return (sets == found[:, None]).argmax(axis=1)

    def cells(self, number: int) -> NDArray[np.int64]:
        """What every public document would choose from that set."""
        points = self.vectors[self.sets[number]]
        scores = self.vectors @ points.T - (points**2).sum(axis=1) / 2
        chosen: NDArray[np.int64] = scores.argmax(axis=1)
        return chosen
