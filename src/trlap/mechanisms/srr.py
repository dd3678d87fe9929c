"""Semantic randomised response: a word's neighbourhood S_w is the m words nearest to it.

    Q(y|w) = e^ε / (m e^ε + V − m) for y ∈ S_w,   1 / (m e^ε + V − m) for other y

ε-DP with δ = 0 for every ε, since m is the same for all words; proof and sampler: `_response.py`.
Near means a high centred cosine; w itself comes first, and of equally near words the one with the
smaller index. With m=1 this is krr.

m=auto takes the m with the highest expected centred cosine J(m), of those up to 1,024 (fewer beyond
65,536 words, so that the lists fit in memory).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from trlap.errors import TrlapError
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

SEARCHED = 1024
# of all neighbour lists together: 256 MiB
ENTRIES = 2**26


@dataclass(kw_only=True)
class SemanticRandomisedResponse(Response):
    """A near word, or any. Neighbourhoods overlap, so that no `unbiased` reading is stable."""

    name = "srr"
    look = Look("#882255", "h", "-", 11)
    undoes = ("posterior",)

    m: int | str = "auto"

    @classmethod
    def check_keys(cls, keys: Mapping[str, Any], words: int, dimension: int) -> None:
        check_size("m", keys["m"], words)

    @classmethod
    def check_undoing(cls, how: str) -> None:
        if how not in cls.undoes:
            raise TrlapError(
                f"classify.debias={how}: neighbourhoods of srr overlap, and their matrix is singular "
                "for most m, so nothing undoes it; use classify.debias=posterior, or mechanism=krr or crr"
            )

    def __post_init__(self) -> None:
        size = len(self.space)
        check_size("m", self.m, size)
        most = ENTRIES // size
        if self.m != "auto" and int(self.m) > most:
            raise TrlapError(
                f"mechanism.m={self.m}: lists of so many neighbours would not fit in memory; "
                f"choose at most {most}"
            )
        unit, weights = centred(self.space)
        width = max(min(size, SEARCHED, most), 0 if self.m == "auto" else int(self.m))
        lists = derived(
            self.space, "neighbours", width, lambda: nearest_words(unit, weights, width)
        )
        sizes = np.arange(1, width + 1)
        inside = np.cumsum(lists["cosine"]) / sizes
        outside = float(constant_scores(unit, weights).mean())
        odds = log_odds(self.epsilon, sizes / size)
        expected = expit(odds) * inside + expit(-odds) * outside
        m = int(expected.argmax()) + 1 if self.m == "auto" else int(self.m)
        neighbours = torch.from_numpy(lists["neighbours"][:, :m].copy())
        self.set_up(torch.arange(size), neighbours, float(inside[m - 1]), outside)


def nearest_words(unit: Tensor, weights: Tensor, width: int) -> Arrays:
    """The `width` nearest words of every word, and the mean cosine under q at each rank."""
    size = len(unit)
    neighbours = np.empty((size, width), np.int32)
    profile = torch.zeros(width, dtype=torch.float64)
    for rows in torch.arange(size).split(max(1, SCORES // size)):
        cosine = unit[rows] @ unit.T
        # Whole numbers, exact in float64, that order by cosine, then by index: no ties are left, so
        # neither rounding nor the number of threads decides.
        rank = (cosine * 2**30).round_().mul_(size).sub_(torch.arange(size))
        rank[torch.arange(len(rows)), rows] = torch.inf
        top = rank.topk(width, dim=1).indices
        neighbours[rows] = top.numpy()
        profile += weights[rows] @ cosine.gather(1, top)
    return {"neighbours": neighbours, "cosine": profile.numpy()}
