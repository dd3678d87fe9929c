"""Algorithm 1 over whole corpora, in fixed blocks of tokens.

Each block draws from a generator of its own, keyed by (seed, what the noise is for, block), so that a result
does not depend on the batch size, the number of workers or what else was privatised before. What it is for
are the noise's settings, the words and the text: no two private versions of a text share their noise, and no
two texts do.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from trlap.data.vocabulary import Vocabulary
from trlap.embeddings.space import Space
from trlap.files import digest
from trlap.mechanisms.base import Mechanism
from trlap.privatize.picks import Picks
from trlap.runs import signals

if TYPE_CHECKING:
    from trlap.documents.candidates import Candidates

# tokens; part of what a seed means, so never change it
BLOCK = 1024


class NoiseIdentity:
    """Stands for the noise's settings and the public words, and together with a text for one use of noise.

    By content, so that the same settings on the same text have the same noise whatever else is new.
    """

    def __init__(self, settings: object, space: Space) -> None:
        self._hash = hashlib.sha256()
        self._add(self._hash, digest(settings, 64).encode())
        for values in (space.vectors, space.targets):
            self._add(self._hash, values.cpu().numpy().tobytes())
        self._add(self._hash, space.prior.tobytes())
        self._add(self._hash, *(word.encode() for word in space.words))

    def of(self, texts: Iterable[str]) -> str:
        content = self._hash.copy()
        self._add(content, *(text.encode() for text in texts))
        return content.hexdigest()

    def add(self, *parts: bytes) -> None:
        """What else two uses of noise may differ in."""
        self._add(self._hash, *parts)

    @staticmethod
    def _add(content: "hashlib._Hash", *parts: bytes) -> None:
        """With their number and their lengths, so that no other parts give the same bytes."""
        content.update(f"{len(parts)} {' '.join(str(len(part)) for part in parts)}\n".encode())
        for part in parts:
            content.update(part)


def privatize(
    mechanism: Mechanism,
    words: NDArray[np.int32],
    generator: Callable[[int], torch.Generator],
    progress: Callable[[int], None] = lambda tokens: None,
) -> NDArray[np.int32]:
    """A private word for every word. `generator(block)` gives the randomness of each block."""
    private = np.empty_like(words)
    device = mechanism.space.device
    for block, start in enumerate(range(0, len(words), BLOCK)):
        signals.check()
        part = torch.from_numpy(words[start : start + BLOCK].astype(np.int64)).to(device)
        private[start : start + BLOCK] = mechanism.draw(part, generator(block)).cpu().numpy()
        progress(len(part))
    return private


def answer_documents(
    mechanism: Mechanism,
    candidates: "Candidates",
    vectors: NDArray[np.float32],
    generator: Callable[[int], torch.Generator],
    progress: Callable[[int], None] = lambda documents: None,
    first: int = 0,
    labels: Sequence[int] | None = None,
) -> "Private":
    """A public text for every document, of which these are the vectors; `first` is the place of the first.
    And a class, where there are labels to be covered too.
    """
    chosen = candidates.choose(vectors, first, labels)
    answers = privatize(mechanism, chosen, generator, progress)
    classes = None if labels is None else candidates.classes_of(answers, first)
    return Private(candidates.answered(answers, first), len(chosen), 0, 0, classes)


@dataclass(frozen=True)
class Private:
    """Private texts, and how many tokens were unknown words and how many of those were let through."""

    texts: list[str]
    tokens: int
    unknown: int
    leaked: int
    # the answers' classes, where labels are covered too
    labels: list[int] | None = None


def privatize_texts(
    mechanism: Mechanism,
    vocabulary: Vocabulary,
    texts: Sequence[str],
    generator: Callable[[int], torch.Generator],
    oov: str = "unk",
    progress: Callable[[int], None] = lambda tokens: None,
    picks: Picks | None = None,
) -> Private:
    """Privatise every position of tokenised texts, or the words that `picks` chooses of each.

    A token outside the vocabulary is `<unk>`, a word like any other, and is privatised too, or its
    positions would leak. `oov=keep` passes it through instead: those tokens are counted as leaked.
    """
    words, offsets = vocabulary.encode(texts)
    if picks is not None:
        words, offsets = picks((words, offsets))
    private = np.array(vocabulary.words, dtype=object)[
        privatize(mechanism, words, generator, progress)
    ]
    unknown = np.flatnonzero(words == 0)
    if oov == "keep":
        original = [token for text in texts for token in text.split()]
        for i in unknown:
            private[i] = original[i]
    lines = [" ".join(private[start:end]) for start, end in pairwise(offsets)]
    return Private(lines, len(words), len(unknown), len(unknown) if oov == "keep" else 0)
