"""Documents that are set aside as public, so that what is derived from them owes nothing to the private ones.

A seeded share of the training split, row by row, whatever stands in the rows. Where texts are parts of one
another, as the phrases of a sentence (`overlapping`), it goes by source, since public phrases would tell what
stands in private ones; who is whose source is read off the texts of the whole split, so that this cut is no part
of any promise. Where the same words stand on both sides, these texts are counted and not removed: to remove them
would be to look.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def set_aside(
    texts: Sequence[str], share: float, rng: np.random.Generator, overlapping: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(public, private): the rows of both sides in their order. Whole sources are drawn until the share is
    reached; each side has one at least, where there are two.
    """
    source = sources(texts) if overlapping else np.arange(len(texts))
    names, sizes = np.unique(source, return_counts=True)
    order = rng.permutation(len(names))
    wanted = share * len(texts)
    taken = int(np.searchsorted(np.cumsum(sizes[order]), wanted)) + 1
    taken = min(max(taken, 1), max(len(names) - 1, 1))
    public = np.isin(source, names[order[:taken]])
    return np.flatnonzero(public), np.flatnonzero(~public)


def sources(texts: Sequence[str]) -> NDArray[np.int64]:
    """A text whose words stand in a row in a longer one has the source of that one: of several, of the
    longest, of equally long ones of the first. A word that stands in many has one source all the same.
    """
    known = dict.fromkeys(texts)
    longest_first = sorted(known, key=lambda text: -len(text.split()))
    source: dict[str, int] = {}
    for text in longest_first:
        if text in source:
            continue
        number = source[text] = len(source)
        words = text.split()
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                part = " ".join(words[start:end])
                if part in known:
                    source.setdefault(part, number)
    return np.array([source[text] for text in texts], np.int64)


def on_both_sides(public: Sequence[str], private: Sequence[str]) -> int:
    """How many private texts are public ones, word for word."""
    known = set(public)
    return sum(text in known for text in private)
