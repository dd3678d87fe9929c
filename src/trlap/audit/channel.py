"""One pass over the word-to-word matrix Q(y|w) of a mechanism whose channel is known, row by row."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trlap.mechanisms.base import Mechanism

Floats = NDArray[np.float64]

# float64 probabilities at once: 16 MiB, whatever the vocabulary
CELLS = 2**21


@dataclass(frozen=True)
class Matrix:
    """What one pass over the rows tells.

    epsilon   sup_{w,w',y} ln Q(y|w)/Q(y|w') = max_y (max_w ln Q(y|w) − min_w ln Q(y|w)): exact
    pair      the w and w' that reach it, and the output y
    guesses   for every y the word with the largest prior_w Q(y|w), the Bayes-optimal guess
    likelihoods   Q(y|guess)
    stays     Q(w|w)
    error     the largest |Σ_y Q(y|w) − 1|
    """

    epsilon: float
    pair: tuple[int, int, int]
    guesses: NDArray[np.int64]
    likelihoods: Floats
    stays: Floats
    error: float


def matrix(mechanism: Mechanism) -> Matrix | None:
    """None where the channel is not known."""
    channel = mechanism.channel()
    if channel is None:
        return None
    size = len(mechanism.space)
    prior = torch.from_numpy(np.log(np.maximum(mechanism.space.prior, 1e-300)))
    none = torch.full((size,), -math.inf, dtype=torch.float64)
    high, low, posterior = none.clone(), -none, none.clone()
    highest, lowest, guesses = (torch.zeros(size, dtype=torch.long) for _ in range(3))
    likelihoods, stays = torch.zeros(size).double(), torch.zeros(size).double()
    error = 0.0
    for words in torch.arange(size).split(max(1, CELLS // size)):
        rows = channel.log_probabilities(words.to(mechanism.space.device)).cpu()
        error = max(error, float((rows.exp().sum(1) - 1).abs().max()))
        stays[words] = rows[torch.arange(len(words)), words].exp()
        _update(rows.max(0), high, highest, words, 1)
        _update(rows.min(0), low, lowest, words, -1)
        best = (rows + prior[words, None]).max(0)
        better = best.values > posterior
        posterior[better] = best.values[better]
        guesses[better] = words[best.indices[better]]
        likelihoods[better] = rows[best.indices[better], better.nonzero().squeeze(1)].exp()
    # a y that no word has says nothing
    spread = torch.where(high > -math.inf, high - low, -math.inf)
    y = int(spread.argmax())
    return Matrix(
        epsilon=float(spread[y]),
        pair=(int(highest[y]), int(lowest[y]), y),
        guesses=guesses.numpy(),
        likelihoods=likelihoods.numpy(),
        stays=stays.numpy(),
        error=error,
    )


def _update(extreme: Any, best: Tensor, where: Tensor, words: Tensor, sign: int) -> None:
    """Keep what is more extreme than before, and the word that reached it."""
    better = sign * extreme.values > sign * best
    best[better] = extreme.values[better]
    where[better] = words[extreme.indices[better]]
