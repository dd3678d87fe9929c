"""What the authors' classifier reads, slip by slip (`utility_test.py` of their repository).

    text      punctuation and single letters fall away, words are lemmatised
    list      the commonest words of all splits together, as many as `dataset.vocabulary_size`
    numbers   Keras counts words from 1, and 0 is the padding; a word outside the list is left out, and so is
              the last one of a full list (Keras keeps numbers *below* `num_words`)
    vectors   row i of the table is the auto-encoder's vector of word i of the list, counted from 0, and zero
              where the auto-encoder does not know it. So every word is looked up one row too far and gets
              the vector of the next word of the list; the last one gets a row of zeros; and the padding,
              number 0, gets the vector of the first, the commonest word of all
    pooling   texts are padded on the left to the longest one, and the average is taken over the padding too

All of that is a matter of texts, words and vectors, so it is put into these, and the classifier stays as it
is. What differs still: theirs drops entries of word vectors and not of their mean, and takes the last epoch
where ours takes the one that validation likes best.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlap.data.rows import Row, Rows
from trlap.data.vocabulary import Vocabulary

# no word can be this: words have no punctuation
PADDING = "<pad>"
# WordNet's rules for nouns ("Morphy"): an ending, and what is put for it
ENDINGS = (
    ("s", ""),
    ("ses", "s"),
    ("ves", "f"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
)


@dataclass(frozen=True)
class Read:
    """Padded texts, and the words and vectors that go with them."""

    rows: Rows
    vocabulary: Vocabulary
    vectors: NDArray[np.float32]


def as_released(
    rows: Rows,
    sides: Mapping[str, str],
    vocabulary: Vocabulary,
    vectors: NDArray[np.float32],
    size: int,
) -> Read:
    """`sides` says for each split which of its texts is read; `vectors` are the auto-encoder's."""
    known = dict(zip(vocabulary.words, vectors, strict=True))
    texts = {
        split: [standardised(row.text(sides[split]), known) for row in part]
        for split, part in rows.items()
    }
    counts = Counter(word for part in texts.values() for text in part for word in text)
    listed = [word for word, _ in counts.most_common(size)]
    kept = set(listed[: size - 1])
    table = np.zeros((len(listed) + 1, vectors.shape[1]), np.float32)
    for place, word in enumerate(listed):
        if word in known:
            table[place] = known[word]
    short = {
        split: [[w for w in text if w in kept] for text in part] for split, part in texts.items()
    }
    longest = max((len(text) for part in short.values() for text in part), default=0)

    def padded(row: Row, side: str, words: list[str]) -> Row:
        changed: dict[str, Any] = {side: " ".join([PADDING] * (longest - len(words)) + words)}
        return replace(row, **changed)

    padded_rows = {
        split: [
            padded(row, sides[split], text) for row, text in zip(rows[split], part, strict=True)
        ]
        for split, part in short.items()
    }
    words = [PADDING, *listed]
    return Read(
        padded_rows, Vocabulary(words, np.full(len(words), 1 / len(words)), public=False), table
    )


def standardised(text: str, dictionary: Collection[str]) -> list[str]:
    """The words of a text without punctuation and single letters, lower-case, lemmatised.

    A single letter goes where a space stands on both sides that no other took before, as in the authors'
    expression: of two in a row, the second stays.
    """
    text = re.sub(r"\W", " ", text)
    text = re.sub(r"\s+[a-zA-Z]\s+", " ", text)
    return [lemma(word, dictionary) for word in text.lower().split()]


def lemma(word: str, dictionary: Collection[str]) -> str:
    """The shortest noun that the word can be a form of, by WordNet's endings; itself where there is none.

    The authors take nltk's WordNetLemmatizer. WordNet itself comes with no small package, so the words of
    the vocabulary stand for its nouns, and its list of irregular ones (mice, feet) is missing: a form that
    is rarer than the vocabulary's words stays as it is, and one is cut where its stem is a word but no
    noun. The rules and the choice of the shortest are the same.
    """
    forms = [word]
    found = [word] if word in dictionary else []
    while forms:
        forms = [
            form.removesuffix(ending) + put
            for form in forms
            for ending, put in ENDINGS
            if form.endswith(ending)
        ]
        found += [form for form in forms if form in dictionary]
        if found:
            break
    return min(found, key=len, default=word)
