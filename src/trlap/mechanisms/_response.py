"""Randomised response over words: what krr, srr and crr share. ε-DP on words, with δ = 0.

π is uniform over a public set of output words. Every word w has a neighbourhood f_w, a public set
of m of them, so that its mass π(f_w) = τ = m / |outputs| is the same for all words:

    Q(y|w) = π_y (1 + (e^ε − 1) 1[y ∈ f_w]) / (1 + (e^ε − 1) τ)

**Proof.** Q(·|w) sums to 1, because Σ_y π_y 1[y ∈ f_w] = τ. The denominator does not depend on w
and the numerator is π_y or e^ε π_y, so Q(y|w) ≤ e^ε Q(y|w') for all y, w, w'. That holds for every
ε > 0 and any neighbourhoods, as long as these do not come from the text to be protected (Warner
1965 for two answers). As soon as two neighbourhoods differ, the bound is reached.

For 0 ≤ ε' < ε only y ∈ f_w \\ f_w' have Q(y|w) > e^ε' Q(y|w'), so that exactly

    δ(ε') = max_{w,w'} π(f_w \\ f_w') (e^ε − e^ε') / (1 + (e^ε − 1) τ)

**Sampling.** Q is a mixture: a word of f_w with probability λ = (e^ε − 1)τ / (1 + (e^ε − 1)τ), else
any output. Probabilities are met to a relative 1e-10, for ε from 1e-4 to 1000.

**Usefulness** is the expected cosine between word and replacement,

    J = λ Σ_w q_w mean_{y ∈ f_w} cos(w, y) + (1 − λ) Σ_w q_w mean_y cos(w, y),   q ∝ √prior,

of vectors minus their mean under the prior. All word vectors share a direction; without centring, a
constant output would score high.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Generator, Tensor

from trlap.embeddings.space import Space, meaningful
from trlap.embeddings.space import centred as directions
from trlap.errors import TrlapError
from trlap.files import write_array
from trlap.mechanisms._decoding import Reading, Vectors, decode
from trlap.mechanisms._exponential import uniform53
from trlap.mechanisms.base import Claim, WordMechanism, composed
from trlap.privacy.composition import response_losses
from trlap.privacy.numerics import on_the_safe_side
from trlap.runs.cache import cached
from trlap.runs.result import Composed

# cosines at once, in float64: 16 MiB, whatever the vocabulary
SCORES = 2**21


@dataclass(kw_only=True)
class Response(WordMechanism):
    """Q, as a subclass's call of `set_up` tells. A draw is a look-up, so it is left to the CPU."""

    def set_up(self, outputs: Tensor, neighbours: Tensor, inside: float, outside: float) -> None:
        """`neighbours`: f_w, a row for each word. `inside`, `outside`: the two sums in J."""
        self.outputs = outputs
        self.neighbours = neighbours
        self.inside = inside
        self.outside = outside
        self.log_odds = float(log_odds(self.epsilon, neighbours.shape[1] / len(outputs)))
        # ln(1 + (e^ε − 1) τ)
        self.log_total = float(np.logaddexp(0, self.log_odds))

    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        count, m = len(words), self.neighbours.shape[1]
        anywhere = coin(-self.log_total, count, generator)
        place = (uniform53(count, generator) * torch.where(anywhere, len(self.outputs), m)).long()
        near = self.neighbours[words.cpu(), place.clamp(max=m - 1)]
        return torch.where(anywhere, self.outputs[place], near).long().to(words.device)

    def claimed(self) -> Claim:
        return Claim("ε-DP", self.epsilon)

    def log_delta(self, epsilon: float) -> float:
        if epsilon >= self.epsilon:
            return -math.inf
        return self._log_reach + math.log(-math.expm1(epsilon - self.epsilon))

    def epsilon_at(self, log_delta: float) -> float:
        gap = log_delta - self._log_reach if self._log_reach > -math.inf else math.inf
        if gap >= 0:
            return 0.0
        epsilon = max(0.0, self.epsilon + math.log1p(-math.exp(gap)))
        return on_the_safe_side(epsilon, self.log_delta, log_delta)

    def compose(self, log_delta: float, draws: int) -> Composed:
        """Exactly: n draws between the words that are furthest apart."""
        losses = response_losses(self.epsilon, self._log_reach).compose(draws)
        return composed(losses.epsilon_at(log_delta), log_delta)

    @cached_property
    def _log_reach(self) -> float:
        """ln of max π(f_w \\ f_w') e^ε / (1 + (e^ε − 1) τ)."""
        apart = most_apart(self.neighbours, len(self.space), len(self.outputs))
        if apart == 0:
            return -math.inf
        return math.log(apart / len(self.outputs)) + self.epsilon - self.log_total

    def log_probabilities(self, words: Tensor) -> Tensor:
        base = -math.log(len(self.outputs)) - self.log_total
        rows = torch.full((len(words), len(self.space)), -math.inf, dtype=torch.float64)
        rows[:, self.outputs] = base
        return rows.scatter_(1, self.neighbours[words.cpu()].long(), base + self.epsilon)

    def decode(self, vectors: Vectors, how: str) -> tuple[Reading, Reading]:
        return decode(self, vectors, how)

    def expected_cosine(self) -> float:
        """J. Compare it with `best_constant`: what printing always the same word scores."""
        return float(expit(self.log_odds) * self.inside + expit(-self.log_odds) * self.outside)


def log_odds(epsilon: float, tau: Any) -> Any:
    """ln λ/(1 − λ) = ln((e^ε − 1) τ), without overflow for large ε or cancellation for small."""
    return epsilon + math.log(-math.expm1(-epsilon)) + np.log(tau)


def coin(log_p: float, count: int, generator: Generator) -> Tensor:
    """True with probability p, to a relative 2⁻³⁷ however small p is.

    53 bits cannot tell e^-40 from 0, so for each factor 2⁻¹⁶ in p, 16 more bits have to be zero.
    """
    happens = torch.ones(count, dtype=torch.bool)
    while log_p < -16 * math.log(2) and happens.any():
        bits = torch.randint(2**16, (count,), generator=generator, device=generator.device)
        happens &= bits.cpu() == 0
        log_p += 16 * math.log(2)
    return happens & (uniform53(count, generator) < math.exp(log_p))


def most_apart(neighbours: Tensor, words: int, outputs: int) -> int:
    """The largest |f_w \\ f_w'|. Usually the first pairs tried are as far apart as can be."""
    overlap = m = neighbours.shape[1]
    parts = neighbours.split(max(1, SCORES // words))
    for i, first in enumerate(parts):
        members = torch.zeros(len(first), words).scatter_(1, first.long(), 1)
        for second in parts[i:]:
            others = torch.zeros(len(second), words).scatter_(1, second.long(), 1)
            overlap = min(overlap, int((members @ others.T).min()))
            # it cannot be smaller
            if overlap == max(0, 2 * m - outputs):
                return m - overlap
    return m - overlap


def centred(space: Space) -> tuple[Tensor, Tensor]:
    """Centred directions of the words, and q ∝ √prior; <unk>, which means nothing, weighs nothing."""
    prior = meaningful(space.words, space.prior)
    weights = np.sqrt(prior) / np.sqrt(prior).sum()
    unit = directions(space.vectors.cpu().numpy(), prior)
    return torch.from_numpy(unit), torch.from_numpy(weights)


def constant_scores(unit: Tensor, weights: Tensor) -> Tensor:
    """Every word's expected cosine with a word drawn from q: its J as a constant output."""
    return unit @ (unit.T @ weights)


def best_constant(space: Space) -> float:
    """The highest J of a constant output, which tells nothing about the text."""
    return float(constant_scores(*centred(space)).max())


def check_size(name: str, value: int | str, words: int) -> None:
    if value != "auto" and (type(value) is not int or not 1 <= value <= words):
        raise TrlapError(
            f"mechanism.{name}={value}: must be auto or a whole number from 1 to {words}, "
            "the number of words in the vocabulary"
        )


Arrays = dict[str, NDArray[Any]]
_memory: WeakKeyDictionary[Space, dict[str, Arrays]] = WeakKeyDictionary()


def derived(space: Space, stage: str, size: int, build: Callable[[], Arrays]) -> Arrays:
    """What follows from vectors and prior alone: made once, then kept on disk or with the space."""
    if space.cache is None:
        known = _memory.setdefault(space, {})
        name = f"{stage}-{size}"
        if name not in known:
            known[name] = build()
        return known[name]
    content = hashlib.sha256(space.vectors.cpu().numpy().tobytes() + space.prior.tobytes())
    key = {"space": content.hexdigest(), "words": len(space), "size": size}
    folder = cached(space.cache, stage, key, lambda place: _save(place, build()))
    return {path.stem: np.load(path) for path in folder.glob("*.npy")}


def _save(folder: Path, arrays: Arrays) -> None:
    for name, array in arrays.items():
        write_array(folder / f"{name}.npy", array)
