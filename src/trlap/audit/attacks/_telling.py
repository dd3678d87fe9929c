"""How much what is published looks like the one of two texts: a score for every answer, summed over a text.

- a known channel Q: ln P(y|D) − ln P(y|D'), where P(y|D) is the mean of Q(y|w) over the words w that the
  answer may be for (`trlap.audit.texts`). For independent answers the sum is the exact log-likelihood ratio,
  which no attacker beats. k > 1 words that are picked without repetition are not independent: their sum is
  that of the single answers, which is an attack all the same, and need not be the best;
- no noise: the same, as a word is published as it is;
- the projected word of a vector mechanism: the inner product of the word's vector with μ − μ', the mean
  vectors of what the answer may be for, counted from the middle between the two. The middle is where the
  answers of both would be on average; noise and projection shrink and shift it, which the attacker learns
  from words of its own: x_y is about m + β (x_w − x̄), with β by least squares.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from trlap.audit.attacks.base import BLOCK
from trlap.audit.channel import CELLS
from trlap.audit.texts import Laws, Numbers
from trlap.mechanisms.base import Mechanism
from trlap.randomness import block_generator

Floats = NDArray[np.float64]
# (law of the one text, law of the other, what is seen): a score for every answer
Score = Callable[[Laws, Laws, Numbers], Floats]

# words that the attacker privatises itself, to learn what noise and projection do
LEARNED, LEARNED_APART = 2048, 256


@dataclass(frozen=True)
class Teller:
    """`exact`: the score is a log-likelihood ratio, and the optimal threshold is 0."""

    score: Score
    exact: bool
    how: str


def teller(mechanism: Mechanism, words: NDArray[np.int32], seed: int) -> Teller:
    """The best score that is known. `words`: what the attacker tries the mechanism on."""
    if mechanism.channel() is not None or not mechanism.private:

        def ratio(first: Laws, second: Laws, seen: Numbers) -> Floats:
            both = log_mixture(mechanism, first, seen), log_mixture(mechanism, second, seen)
            return both[0] - both[1]

        return Teller(ratio, True, "exact log-likelihood ratio")
    return Teller(_by_vectors(mechanism, words, seed), False, "inner product of vectors")


def drawn(mechanism: Mechanism, words: Numbers, texts: Numbers, seed: int, purpose: str) -> Numbers:
    """What is published for these words, of texts of so many. Where the words of one call share noise, a
    text is a call of its own. Words beyond the vocabulary pass.
    """
    device, seen = mechanism.space.device, words.copy()
    private = np.flatnonzero(words < len(mechanism.space))
    cuts = np.arange(0, len(private) + BLOCK, BLOCK)
    if mechanism.shares_noise:
        cuts = np.searchsorted(private, np.concatenate([[0], np.cumsum(texts)]))
    for block, (start, end) in enumerate(pairwise(cuts.tolist())):
        part = private[start:end]
        if len(part):
            generator = block_generator(seed, purpose, block, device)
            answers = mechanism.draw(torch.from_numpy(words[part]).to(device), generator)
            seen[part] = answers.cpu().numpy()
    return seen


def log_mixture(mechanism: Mechanism, laws: Laws, seen: Numbers) -> Floats:
    """ln of the mean of Q(y|w) over the words of every answer's law."""
    each = _log_channel(mechanism, laws.words, np.repeat(seen, laws.sizes))
    if (laws.sizes == 1).all():
        return each
    starts = np.cumsum(laws.sizes) - laws.sizes
    most = np.maximum.reduceat(each, starts)
    # what no word of the law leads to stays impossible
    shift = np.where(np.isfinite(most), most, 0.0)
    sums = np.add.reduceat(np.exp(each - np.repeat(shift, laws.sizes)), starts)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(sums) + shift - np.log(laws.sizes))


def _log_channel(mechanism: Mechanism, words: Numbers, seen: Numbers) -> Floats:
    """ln Q(y|w) of pairs of words, from one row of Q for every different w. Without noise, and beyond the
    vocabulary, a word is published as it is.
    """
    found: Floats = np.where(words == seen, 0.0, -np.inf)
    channel, size = mechanism.channel(), len(mechanism.space)
    if channel is None:
        return found
    known = np.flatnonzero((words < size) & (seen < size))
    names, row = np.unique(words[known], return_inverse=True)
    order = np.argsort(row, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(names)))])
    step = max(1, CELLS // size)
    for start in range(0, len(names), step):
        part = names[start : start + step]
        rows = channel.log_probabilities(torch.from_numpy(part).to(mechanism.space.device))
        here = order[ends[start] : ends[start + len(part)]]
        found[known[here]] = rows.cpu().double().numpy()[row[here] - start, seen[known[here]]]
    return found


def _by_vectors(mechanism: Mechanism, words: NDArray[np.int32], seed: int) -> Score:
    vectors = mechanism.space.vectors.cpu().double().numpy()
    size = len(vectors)
    rng = np.random.default_rng([seed, 10])
    count = LEARNED_APART if mechanism.shares_noise else LEARNED
    tried = rng.choice(words[words < size], size=count).astype(np.int64)
    answers = drawn(mechanism, tried, np.ones(count, np.int64), seed, "audit/which/learn")
    middle, mean = vectors[tried].mean(axis=0), vectors[answers].mean(axis=0)
    apart = vectors[tried] - middle
    total = float((apart**2).sum())
    slope = float((apart * (vectors[answers] - mean)).sum()) / total if total > 0 else 0.0

    def means(laws: Laws) -> Floats:
        starts = np.cumsum(laws.sizes) - laws.sizes
        rows = vectors[np.minimum(laws.words, size - 1)]
        return np.asarray(np.add.reduceat(rows, starts, axis=0) / laws.sizes[:, None])

    def score(first: Laws, second: Laws, seen: Numbers) -> Floats:
        one, other = means(first), means(second)
        centre = mean + slope * ((one + other) / 2 - middle)
        answers = vectors[np.minimum(seen, size - 1)]
        scores: Floats = ((answers - centre) * (one - other)).sum(axis=1)
        return _let_through(scores, first, second, seen, size)

    return score


def _let_through(scores: Floats, first: Laws, second: Laws, seen: Numbers, size: int) -> Floats:
    """Of oov=keep, which there is for single words alone: a word that passes tells outright, and so does
    that it did not come.
    """
    if max(first.words.max(initial=0), second.words.max(initial=0)) < size:
        return scores
    one, other = first.words, second.words
    scores[one >= size] = np.where(seen == one, np.inf, -np.inf)[one >= size]
    scores[other >= size] = np.where(seen == other, -np.inf, np.inf)[other >= size]
    scores[(one >= size) & (one == other)] = 0.0
    return scores
