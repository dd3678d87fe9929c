"""How texts are answered: word by word, by some words of each, or by public texts.

`Privatizer` has one of the two kinds here and asks it for private texts; what it counts, seeds and checks is
the same for both.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from trlap.audit.guarantee import guarantee, of_document
from trlap.data.vocabulary import Vocabulary
from trlap.documents.candidates import Candidates, cut
from trlap.documents.encoder import Encoder, Floats
from trlap.documents.store import Store
from trlap.embeddings import assets
from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.files import digest
from trlap.mechanisms.base import Mechanism
from trlap.privatize.blocks import Private, answer_documents, privatize_texts
from trlap.privatize.picks import Picks
from trlap.privatize.public_texts import PublicTexts
from trlap.privatize.summary import Labelled, about_texts, about_words
from trlap.runs.result import Guarantee

if TYPE_CHECKING:
    from trlap.embeddings.vectors import Embedding

Chance = Callable[[int], torch.Generator]
Make = Callable[[Space], Mechanism]

# of the public chance that cuts public texts into sets and says which set a place gets
PUBLIC_SEED = 0


@dataclass
class Tally:
    """What was done so far: how many texts had so many answers; words outside the vocabulary, and those of
    them that passed through; texts that are public ones word for word.
    """

    lengths: Counter[int] = field(default_factory=Counter)
    unknown: int = 0
    leaked: int = 0
    known: int = 0

    def add(self, other: "Tally") -> None:
        self.lengths.update(other.lengths)
        self.unknown += other.unknown
        self.leaked += other.leaked
        self.known += other.known


class Answers(ABC):
    """`mechanism` draws one answer; `document` says whether the promise is for a text as a whole."""

    mechanism: Mechanism
    document: bool
    vocabulary: Vocabulary | None = None
    # what answers are, in the plural
    counted = "tokens"
    # texts that are answered at once
    at_once = 2048
    # what a seed depends on beside the mechanism's settings and its space
    identity = ""

    @abstractmethod
    def private(self, texts: list[str], first: int, chance: Chance, picks: Chance) -> Private:
        """For tokenised texts, of which the first stands at place `first`. `chance(block)` is of the noise,
        `picks(0)` of which words are picked.
        """

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Of a word, or of a document."""

    @abstractmethod
    def about(self, tally: Tally) -> Labelled:
        """What the closing summary says of the answers, after what is guaranteed."""

    def lengths(self, texts: list[str]) -> Counter[int]:
        """How many of these tokenised texts give so many answers."""
        return Counter({1: len(texts)})

    def known(self, texts: list[str]) -> int:
        """How many of these tokenised texts stand word for word among the public ones."""
        return 0


class WordAnswers(Answers):
    """A private word for every word of a public vocabulary; or `words` of each text, picked by `pick`."""

    def __init__(
        self,
        make: Make,
        space: Callable[..., Space],
        vocabulary: Vocabulary,
        embedding: "Embedding",
        oov: str,
        picked: tuple[int, str] | None,
    ) -> None:
        """`picked`: how many words of a text, and which; None: every word is answered for."""
        self.vocabulary = self.words = vocabulary
        cache = assets.cache_root()
        self.mechanism = make(
            space(vocabulary.words, embedding.vectors, vocabulary.prior, cache=cache)
        )
        self.oov = oov
        # without noise nothing is picked: all is published
        self.picked = picked if self.mechanism.private else None
        self.document = self.picked is not None
        self.identity = "" if self.picked is None else f"{self.picked}"

    def private(self, texts: list[str], first: int, chance: Chance, picks: Chance) -> Private:
        return privatize_texts(
            self.mechanism, self.words, texts, chance, self.oov, picks=self._picks(picks)
        )

    def lengths(self, texts: list[str]) -> Counter[int]:
        if self.picked is not None:
            return Counter({self.picked[0]: len(texts)})
        return Counter(text.count(" ") + 1 if text else 0 for text in texts)

    def about(self, tally: Tally) -> Labelled:
        picked = None if self.picked is None else self.picked[0]
        return about_words(self.mechanism, tally, self.oov, picked)

    def _picks(self, chance: Chance) -> Picks | None:
        if self.picked is None:
            return None
        from trlap.privatize.picks import picks

        count, how = self.picked
        return picks(how, count, self.words.prior, lambda: chance(0))

    @property
    def guarantee(self) -> Guarantee:
        one = guarantee(self.mechanism)
        return one if self.picked is None else of_document(one, self.mechanism, self.picked[0])


class TextAnswers(Answers):
    """A public text for every text, an empty one too. Which set it is from, its place alone decides."""

    document = True
    counted = "texts"
    # each takes milliseconds, and whoever waits wants to see it move
    at_once = 64

    def __init__(
        self, make: Make, public: PublicTexts, size: int, encoder: Encoder, encoded_by: str
    ) -> None:
        """`size`: how many public texts a set has; `encoded_by`: the name of the encoder."""
        check_enough(public, size)
        self.encoder = encoder
        sets = cut(len(public.texts), size, PUBLIC_SEED)
        drawn = sets.ravel()
        vectors = _encoded([public.tokens[i] for i in drawn], encoder)
        self.candidates = Candidates(
            [public.texts[i] for i in drawn],
            vectors,
            np.arange(len(drawn)).reshape(sets.shape),
            PUBLIC_SEED,
        )
        self.mechanism = make(self.candidates.space())
        self.public = frozenset(public.tokens)
        self.identity = digest([encoded_by, *(public.tokens[i] for i in drawn)], 64)

    def private(self, texts: list[str], first: int, chance: Chance, picks: Chance) -> Private:
        vectors = self.encoder.rows(texts)
        return answer_documents(self.mechanism, self.candidates, vectors, chance, first=first)

    @property
    def guarantee(self) -> Guarantee:
        return guarantee(self.mechanism)

    def about(self, tally: Tally) -> Labelled:
        return about_texts(self.mechanism, tally, self.candidates)

    def known(self, texts: list[str]) -> int:
        return sum(text in self.public for text in texts)


def check_enough(public: PublicTexts, size: int) -> None:
    if len(public.texts) < size:
        raise TrlapError(
            f"mechanism.K={size}: a set has so many public texts, and {len(public.texts):,} different ones "
            f"are given; give more by public={', or lower mechanism.K' if size > 2 else ''}"
        )


def _encoded(texts: list[str], encoder: Encoder) -> Floats:
    """Vectors of public texts; those that take long are kept in the cache, so that each is made once."""
    if encoder.fingerprint is None:
        return encoder.rows(texts)
    return Store(assets.cache_root(), encoder.fingerprint).encode(texts, encoder)
