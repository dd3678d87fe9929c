"""Centre randomised response: every word answers with the nearest of K public centre words, c(w).

    Q(c(w)|w) = e^ε / (e^ε + K − 1),   Q(c|w) = 1 / (e^ε + K − 1) for the other centres

ε-DP with δ = 0 for every ε: c is public, and what follows is randomised response over K words;
proof and sampler: `_response.py`. Near means a high centred cosine; a centre's nearest is itself.
With K=V this is krr, with K=1 a constant.

The centres are chosen greedily for their coverage, Σ_w q_w max_c cos(w, c). It is submodular, so
greedy is near the best (Nemhauser, Wolsey & Fisher 1978), and one order of centres serves every K.
K=auto takes the K with the highest expected centred cosine,

    J(K) = λ_K coverage(K) + (1 − λ_K) mean_c Σ_w q_w cos(w, c),   λ_K = (e^ε − 1) / (e^ε − 1 + K),

following the order until a longer one cannot be better by more than 0.0001.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from trlap.embeddings.space import Space
from trlap.mechanisms._look import Look
from trlap.mechanisms._response import (
    SCORES,
    Arrays,
    Response,
    centred,
    check_size,
    constant_scores,
    derived,
    log_odds,
)

STEP = 256
TOLERANCE = 1e-4


@dataclass(kw_only=True)
class CentreRandomisedResponse(Response):
    """The nearest centre, or any."""

    name = "crr"
    look = Look("#332288", "*", "-", 12)
    undoes = ("unbiased", "posterior")

    K: int | str = "auto"

    @classmethod
    def check_keys(cls, keys: Mapping[str, Any], words: int, dimension: int) -> None:
        check_size("K", keys["K"], words)

    def __post_init__(self) -> None:
        size = len(self.space)
        check_size("K", self.K, size)
        unit, weights = centred(self.space)
        scores = constant_scores(unit, weights).numpy()
        K, order, coverage = size, np.arange(size), float(weights @ (unit**2).sum(1))
        if self.K == "auto":
            K, order, coverage = self._best(unit, weights, scores, coverage)
        elif size != self.K:
            K = int(self.K)
            greedy = next(
                longer for longer in orders(self.space, unit, weights) if len(longer["order"]) >= K
            )
            order, coverage = greedy["order"], float(greedy["coverage"][K - 1])
        centres = torch.from_numpy(order[:K])
        answers = nearest_centres(unit, centres)
        self.set_up(centres, answers[:, None], coverage, float(scores[order[:K]].mean()))

    def _best(
        self, unit: Tensor, weights: Tensor, scores: NDArray, everything: float
    ) -> tuple[int, NDArray, float]:
        """The K with the highest J(K), an order that begins with its centres, and coverage(K)."""
        chosen = len(unit), np.arange(len(unit)), everything
        best = self._score(len(unit), everything, scores.mean())
        for greedy in orders(self.space, unit, weights):
            order, coverage = greedy["order"], greedy["coverage"]
            K = np.arange(1, len(order) + 1)
            J = self._score(K, coverage, np.cumsum(scores[order]) / K)
            top = int(J.argmax())
            if J[top] >= best:
                best, chosen = J[top], (top + 1, order, float(coverage[top]))
            if self._limit(greedy, scores, weights.numpy()) <= best + TOLERANCE:
                break
        return chosen

    def _score(self, K: Any, coverage: Any, spread: Any) -> Any:
        """J(K), for one K or for many."""
        odds = log_odds(self.epsilon, 1 / K)
        return expit(odds) * coverage + expit(-odds) * spread

    def _limit(self, greedy: Arrays, scores: NDArray, weights: NDArray) -> float:
        """What J(K) cannot exceed for any longer part of the order, K=V apart.

        Coverage grows by no more than the largest gains, since gains only fall (submodularity). And
        only K words can be centres; for the others no centre is nearer than the nearest other word.
        """
        order, size = greedy["order"], len(scores)
        K = np.arange(len(order) + 1, size)
        if not len(K):
            return -np.inf
        rest = np.delete(np.arange(size), order)
        more = greedy["coverage"][-1] + np.cumsum(-np.sort(-greedy["gain"][rest]))[:-1]
        themselves = np.cumsum(-np.sort(-weights * (1 - greedy["other"])))[K - 1]
        coverage = np.minimum(more, weights @ greedy["other"] + themselves)
        spread = (scores[order].sum() + np.cumsum(-np.sort(-scores[rest]))[:-1]) / K
        return float(self._score(K, coverage, spread).max())


def orders(space: Space, unit: Tensor, weights: Tensor) -> Iterator[Arrays]:
    """The greedy order at growing lengths 1, 2, 4, …, 256, 512, 768, …, V, each made once."""
    greedy = derived(space, "centres", 1, lambda: first_centre(unit, weights))
    yield greedy
    while (length := len(greedy["order"])) < len(space):
        longer = min(len(space), length + min(length, STEP))
        build = partial(extended, greedy, longer, unit, weights)
        greedy = derived(space, "centres", longer, build)
        yield greedy


def first_centre(unit: Tensor, weights: Tensor) -> Arrays:
    """The best constant, and what the search goes on from.

    nearest   every word's cosine to its nearest centre
    gain      by how much each word would raise the coverage as the next centre
    other     every word's cosine to the nearest other word
    """
    scores = constant_scores(unit, weights)
    first = first_largest(scores)
    nearest = unit @ unit[first]
    gain, other = torch.empty_like(nearest), torch.empty_like(nearest)
    for rows in torch.arange(len(unit)).split(max(1, SCORES // len(unit))):
        cosine = unit[rows] @ unit.T
        gain[rows] = (cosine - nearest).clamp_(min=0) @ weights
        cosine[torch.arange(len(rows)), rows] = -1
        other[rows] = cosine.amax(1)
    gain[first] = -torch.inf
    arrays = {"nearest": nearest, "gain": gain, "other": other, "coverage": scores[[first]]}
    return {name: array.numpy() for name, array in arrays.items()} | {"order": np.array([first])}


def extended(greedy: Arrays, length: int, unit: Tensor, weights: Tensor) -> Arrays:
    """The same order, longer.

    A new centre changes the gains only through the words that it is nearer to than earlier ones, so
    cosines of these few are all that is computed, and every gain stays exact.
    """
    order, coverage = list(greedy["order"]), list(greedy["coverage"])
    nearest, gain = torch.tensor(greedy["nearest"]), torch.tensor(greedy["gain"])
    while len(order) < length:
        best = first_largest(gain)
        order.append(best)
        coverage.append(coverage[-1] + float(gain[best]))
        cosine = unit @ unit[best]
        moved = (cosine > nearest).nonzero().squeeze(1)
        for rows in moved.split(max(1, SCORES // len(unit))):
            # (x − old)₊ − (x − new)₊, what each candidate loses by a word
            loss = (unit[rows] @ unit.T).clamp_(max=cosine[rows, None]).sub_(nearest[rows, None])
            gain -= weights[rows] @ loss.clamp_(min=0)
        nearest[moved] = cosine[moved]
        gain[best] = -torch.inf
    changed = {"order": order, "coverage": coverage, "nearest": nearest, "gain": gain}
    return greedy | {name: np.asarray(value) for name, value in changed.items()}


def first_largest(values: Tensor) -> int:
    """The index of the largest value; of values equal but for rounding, the first."""
    return int((values * 1e12).round().argmax())


def nearest_centres(unit: Tensor, centres: Tensor) -> Tensor:
    """c(w) for every word: a centre's own is itself; of equally near ones, the one chosen first."""
    answers = torch.arange(len(unit))
    others = torch.ones(len(unit), dtype=torch.bool)
    others[centres] = False
    targets = unit[centres].T
    for rows in others.nonzero().squeeze(1).split(max(1, SCORES // len(centres))):
        answers[rows] = centres[(unit[rows] @ targets).mul_(2**30).round_().argmax(1)]
    return answers
