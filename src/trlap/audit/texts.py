"""The documents of the test split, as the run's release is given them: who answers for which words.

Three ways of release. Every word is answered for (unit=word); so many picked words of every document are
(unit=document); or the document as a whole is, by what it chooses from a public set (mechanism=drr). In each
the law of one answer is a mixture of rows of the channel, over words that are all equally likely:

    words      the word at that place
    random     all words of the document
    rarest     at the j-th place of the order by frequency, the words that are as frequent as that one
    a choice   what the document chooses
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from trlap.privatize.picks import picks

Numbers = NDArray[np.int64]
# pairs to try for each that is wanted: documents that are equal are none
TRIES = 20


@dataclass(frozen=True)
class Laws:
    """Of answers in a row: the words of each, one after the other, and how many these are."""

    words: Numbers
    sizes: Numbers

    @classmethod
    def joined(cls, laws: Sequence[Numbers]) -> "Laws":
        empty = np.zeros(0, np.int64)
        return cls(np.concatenate([empty, *laws]), np.array([len(law) for law in laws], np.int64))


@dataclass(frozen=True)
class Texts:
    """`words` of all documents in a row, and where each begins and the last ends.

    Numbers beyond the vocabulary are words that are published as they are (oov=keep).

    answers, pick   of unit=document; null: every word is answered for
    choice          (place, document): what the document would choose if it stood at the place of another. A
                    place has its public set whoever stands there, so two documents are compared at one place
    """

    words: NDArray[np.int32]
    offsets: Numbers
    answers: int | None = None
    pick: str = "random"
    choice: Callable[[int, int], int] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Numbers:
        return np.diff(self.offsets)

    def text(self, number: int) -> Numbers:
        return self.words[self.offsets[number] : self.offsets[number + 1]].astype(np.int64)

    @property
    def shows_length(self) -> bool:
        return self.answers is None

    def pairs(self, count: int, rng: np.random.Generator, equal_length: bool) -> Numbers:
        """So many pairs of documents at random, a row each, or fewer: a document, and another one.

        `equal_length`: another of its length. Documents with the same words in the same order are no pair.
        """
        found: list[tuple[int, int]] = []
        order = np.argsort(self.lengths, kind="stable")
        ordered = self.lengths[order]
        low = np.searchsorted(ordered, self.lengths, "left")
        high = np.searchsorted(ordered, self.lengths, "right")
        for _ in range(TRIES * count if len(self) > 1 else 0):
            first = int(rng.integers(len(self)))
            group = (low[first], high[first]) if equal_length else (0, len(self))
            second = int(order[rng.integers(*group)])
            if not np.array_equal(self.text(first), self.text(second)):
                found.append((first, second))
            if len(found) == count:
                break
        return np.array(found, np.int64).reshape(-1, 2)

    def laws(self, pairs: Numbers, side: int, prior: NDArray[np.float64]) -> tuple[Laws, Numbers]:
        """Of the documents on one side of the pairs; and how many answers each gives."""
        each = [self._laws(int(pair[0]), int(pair[side]), prior) for pair in pairs]
        answers = np.array([len(laws) for laws in each], np.int64)
        return Laws.joined([law for laws in each for law in laws]), answers

    def _laws(self, place: int, number: int, prior: NDArray[np.float64]) -> list[Numbers]:
        if self.choice is not None:
            return [np.array([self.choice(place, number)], np.int64)]
        words = self.text(number)
        if self.answers is None:
            return list(words[:, None])
        # a document without a word answers for the unknown word
        words = words if len(words) else np.zeros(1, np.int64)
        if self.pick == "random":
            return [words] * self.answers
        order = words[np.argsort(prior[words], kind="stable")]
        places = np.arange(self.answers) % len(order)
        return [order[prior[order] == prior[order[place]]] for place in places]

    def given(
        self,
        pairs: Numbers,
        side: Numbers,
        prior: NDArray[np.float64],
        generator: Callable[[], torch.Generator],
    ) -> Numbers:
        """The words that are answered for, of the document that stands on `side` of each pair: the picks are
        drawn as the release draws them.
        """
        chosen = [(int(pair[0]), int(pair[which])) for pair, which in zip(pairs, side, strict=True)]
        if self.choice is not None:
            return np.array([self.choice(*pair) for pair in chosen], np.int64)
        texts = Laws.joined([self.text(number) for _, number in chosen])
        if self.answers is None:
            return texts.words
        offsets = np.concatenate([[0], np.cumsum(texts.sizes)])
        pick = picks(self.pick, self.answers, prior, generator)
        return pick((texts.words.astype(np.int32), offsets))[0].astype(np.int64)
