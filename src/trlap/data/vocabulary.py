"""The public vocabulary that tokens are looked up in."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trlap.data.given import given_file
from trlap.data.tokenizer import UNK, utf8_lines
from trlap.errors import TrlapError
from trlap.files import read_json, write_array, write_json


class _Ids(dict[str, int]):
    """The number of a word; 0, that of UNK, for every other token."""

    def __missing__(self, word: str) -> int:
        return 0


@dataclass(frozen=True)
class Vocabulary:
    """The words that a text can hold.

    words   the first is UNK
    prior   unigram distribution over the words: positive, sums to 1
    public  whether it was made without the text to be protected
    """

    words: list[str]
    prior: NDArray[np.float64]
    public: bool

    def encode(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Ids of all tokens in a row (int32), and where each text begins and the last ends (int64).

        By a plain dictionary, as `tokenizers` builds an object for every text and takes longer.
        """
        ids = _Ids(zip(self.words, range(len(self.words)), strict=True))
        tokens = chain.from_iterable(map(str.split, texts))
        flat = np.fromiter(map(ids.__getitem__, tokens), np.int32)
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text.split()) for text in texts], out=offsets[1:])
        return flat, offsets

    def save(self, folder: Path) -> None:
        write_json(folder / "vocabulary.json", {"public": self.public, "words": self.words})
        write_array(folder / "prior.npy", self.prior)

    @staticmethod
    def read(folder: Path) -> "Vocabulary":
        about = read_json(folder / "vocabulary.json")
        return Vocabulary(about["words"], np.load(folder / "prior.npy"), about["public"])


def build_vocabulary(texts: Sequence[str], size: int) -> Vocabulary:
    """UNK and the `size` - 1 most frequent tokens, equally frequent ones in alphabetical order.

    The prior is (count + 1) / (tokens + words), with all other tokens counted as UNK. Not public by
    itself: the caller decides whether the texts are.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordLevel(unk_token=UNK))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    # UNK is no special token here: where the text has it too, the trainer would number it twice
    trainer = trainers.WordLevelTrainer(vocab_size=size, special_tokens=[], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    ranks = tokenizer.get_vocab()
    words = [UNK, *sorted(ranks.keys() - {UNK}, key=ranks.__getitem__)][:size]
    flat, _ = Vocabulary(words, np.empty(0), public=False).encode(texts)
    counts = np.bincount(flat, minlength=len(words)) + 1
    return Vocabulary(words, counts / counts.sum(), public=False)


def public_vocabulary(glove_words: Sequence[str], size: int) -> Vocabulary:
    """The `size` likeliest entries of a list that owes nothing to the text at hand.

    GloVe's words stand in order of frequency. What GloVe leaves out is ranked by hand, near where
    English corpora have it: the full stop and the comma beside "the", other marks, clitics, days
    and months among the first hundreds, numerals at 5,000 unless GloVe has them earlier. The prior
    follows the Zipf-Mandelbrot law, weight 1 / (rank + 2.7). UNK weighs as much as "the" and all
    that did not get in: 14 % at 10,000 words (measured: 5 % of Yelp to 15 % of SST-2).
    """
    rank = dict.fromkeys(_numerals(), 5000)
    for place, words in _RANKED_BY_HAND.items():
        rank |= dict.fromkeys(words, place)
    for place, word in enumerate(glove_words, start=1):
        rank[word] = min(place, rank.get(word, place))
    rank.pop(UNK, None)
    return _zipf(sorted(rank.items(), key=lambda item: item[1]), size)


_RANKED_BY_HAND = {
    1: (".", ","),
    10: ("!", "'s", "n't"),
    30: ("?", "'", '"', "-", "(", ")"),
    60: ("...", ":", "'ve", "'re", "'m", "'ll", "'d"),
    150: (";", "--", "/", "&", "``", "''", "$", "%"),
    300: (
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
        *("january", "february", "march", "april", "may", "june"),
        *("july", "august", "september", "october", "november", "december"),
    ),
    1000: (
        *("#", "*", "+", "=", "@", "[", "]", "`", "~", "_", "<", ">", "£", "€"),
        *("u.s.", "a.m.", "p.m."),
    ),
}


def _numerals() -> list[str]:
    """Small and round numbers, years, ordinals, times, prices and percentages."""
    suffix = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
    return [
        *map(str, range(101)),
        *map(str, chain(range(200, 1000, 100), range(1000, 10_001, 1000))),
        *(f"{n},000" for n in (*range(1, 11), *range(20, 101, 10))),
        *map(str, range(1900, 2031)),
        *(f"{n}s" for n in (*range(20, 91, 10), *range(1900, 2021, 10))),
        *(f"{n}{suffix.get(n, 'th')}" for n in range(1, 32)),
        *(f"{hour}:{minute:02}" for hour in range(1, 13) for minute in (0, 15, 30, 45)),
        *(f"${n}" for n in range(1, 101)),
        *(f"${n}.{cents}" for n in range(1, 21) for cents in (50, 99)),
        *(f"{n}%" for n in range(1, 101)),
    ]


def vocabulary_from_file(path: Path | str, size: int | None = None) -> Vocabulary:
    """One word a line, commonest first, or a word, a tab and its count; at most `size` with UNK.

    With counts the prior is that of `build_vocabulary`, without them that of `public_vocabulary`.
    The file is taken to be public.
    """
    counts: Counter[str] = Counter()
    counted = False
    file = given_file(path, f"vocabulary={path}")
    for number, line in enumerate(utf8_lines(file), start=1):
        word, tab, count = line.partition("\t")
        word = word.strip().lower()
        if not word:
            continue
        if len(word.split()) > 1 or (tab and not count.strip().isdecimal()):
            raise TrlapError(
                f"{path}: line {number} is not one word, or one word, a tab and a count"
            )
        counted |= bool(tab)
        counts[word] += int(count) if tab else 0
    if not counts:
        raise TrlapError(f"{path}: there is no word in it; write one word a line")
    unknown = counts.pop(UNK, 0)
    if not counted:
        return _zipf([(word, place) for place, word in enumerate(counts, start=1)], size)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    commonest = words if size is None else words[: size - 1]
    unknown += sum(counts[word] for word in words[len(commonest) :])
    weights = np.array([unknown, *(counts[word] for word in commonest)]) + 1
    return Vocabulary([UNK, *commonest], weights / weights.sum(), public=True)


def _zipf(ranked: Sequence[tuple[str, int]], size: int | None) -> Vocabulary:
    """Words in order of their ranks; UNK weighs as much as rank 1 and the words beyond `size`."""
    weights = 1 / (np.array([1] + [rank for _, rank in ranked]) + 2.7)
    words = [UNK, *(word for word, _ in ranked)][:size]
    weights[0] += weights[len(words) :].sum()
    weights = weights[: len(words)]
    return Vocabulary(words, weights / weights.sum(), public=True)
