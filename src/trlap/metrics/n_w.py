"""N_w: the share of words that stayed as they were."""

from collections import Counter
from collections.abc import Sequence

from trlap.errors import TrlapError
from trlap.metrics.base import (
    NOT_WORD_BY_WORD,
    PRIVATE,
    Measure,
    Scene,
    TextMetric,
    Texts,
)


class UnchangedWords(TextMetric):
    """The share of the originals' positions that hold the same word in the candidate.

    A position that the candidate does not have counts as changed; those beyond the original do not count.
    """

    name = "n_w"
    label = "N_w"
    meaning = "N_w: share of words kept"
    order = 40
    released = "over the reconstruction's length, not the original's, on the first 100 lines"

    def measure(self, texts: Texts, scene: Scene) -> Measure:
        import numpy as np

        if texts.kind == PRIVATE and not scene.word_by_word:
            raise TrlapError(NOT_WORD_BY_WORD)
        if not any(texts.original_words):
            raise TrlapError("the originals have no words")
        rows = np.array(
            [
                (sum(a == b for a, b in zip(before, after, strict=False)), len(before))
                for before, after in zip(texts.original_words, texts.candidate_words, strict=True)
            ],
            dtype=float,
        )
        floor: dict[str, float | None] = {}
        if texts.kind == PRIVATE:
            floor["best_constant"] = best_constant(texts.originals)
        elif texts.train:
            floor["length_alone"] = length_alone(texts.train, texts.originals)
        return Measure(
            rows,
            # a resample may draw empty originals only
            lambda total: total[0] / max(total[1], 1.0),
            floor,
            {"definition": "unchanged positions / positions of the originals"},
        )

    def as_released(self, texts: Texts, scene: Scene) -> float | None:
        """Σ equal words at equal places / Σ words of the rewritten lines (the authors' `N_w.py`).

        Theirs are the words of nltk's `word_tokenize`, ours those of the corpus, which stand apart already.
        """
        first = texts.first(scene.first_lines)
        pairs = list(zip(first.original_words, first.candidate_words, strict=True))
        equal = sum(a == b for old, new in pairs for a, b in zip(old, new, strict=False))
        written = sum(len(new) for _, new in pairs)
        return equal / written if written else None


def best_constant(originals: Sequence[str]) -> float:
    """What one word, the commonest, would score at every position: the floor under N_w."""
    counts = Counter(word for text in originals for word in text.split())
    return max(counts.values()) / counts.total()


def length_alone(train: Sequence[str], originals: Sequence[str]) -> float | None:
    """N_w of whoever knows a sentence's length and nothing else of it, and knows the training split.

    The guess for each position is the commonest training word at that position in sentences of that
    length. Word by word mechanisms do not hide the length, so this much is free.
    """
    counts: dict[tuple[int, int], Counter[str]] = {}
    for words in map(str.split, train):
        for i, word in enumerate(words):
            counts.setdefault((len(words), i), Counter())[word] += 1
    guess = {place: count.most_common(1)[0][0] for place, count in counts.items()}
    texts = [text.split() for text in originals]
    total = sum(map(len, texts))
    right = sum(
        guess.get((len(words), i)) == word for words in texts for i, word in enumerate(words)
    )
    return right / total if total else None
