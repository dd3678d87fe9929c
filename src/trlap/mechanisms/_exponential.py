"""What tem and santext share: words with probability falling exponentially with distance.

    Q(y|w) = e^{−ε d'(w,y)/2} / Z_w,   Z_w = Σ_y e^{−ε d'(w,y)/2},   d' = min(d, γ)

d is the Euclidean distance between clipped vectors; γ = ∞ for santext. d' is a metric too.

**Exact ε.** For two words,

    max_y ln Q(y|w)/Q(y|w') = ln Z_w' − ln Z_w + (ε/2) max_y (d'(w',y) − d'(w,y)),

and by the triangle inequality the last maximum is d'(w,w'), reached at y = w. So the canonical ε of
the whole mechanism is

    ε_exact = max over w, w' of  (ε/2) d'(w,w') + ln Z_w' − ln Z_w  ≤  ε·max d',

which takes the matrix of distances twice, in rows, and no third loop over outputs. δ > 0 would
need that loop (V³ for the worst pair); instead δ(ε') is bounded from above by what any ε_exact-DP
mechanism keeps, (e^{ε_exact} − e^{ε'})/(e^{ε_exact} + 1), that of randomised response with two
answers (Kairouz et al. 2015).

**Accuracy.** Distances are float64, from one product; those below 1/1000 of the longest possible,
where the product cancels, are taken from the difference. Their relative error is below
(d + 2)·6e-11. Z ≥ 1, because the word itself has distance 0, so nothing overflows and what
underflows is not missed. Draws invert the cumulative sum with 53-bit uniforms, which moves a
probability by V·2⁻⁵² at most.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Generator, Tensor

from trlap.mechanisms.base import WordMechanism
from trlap.privacy.numerics import on_the_safe_side

# twice what rounding was found to take off a log-ratio, relatively
ROUNDING = 2e-10
# float64 numbers at once, and as many kept of frequent words: 128 MiB each, whatever the vocabulary
CELLS = 2**24
# of the largest possible d²
NEAR = 1e-6


@dataclass(kw_only=True)
class ExponentialMechanism(WordMechanism):
    def __post_init__(self) -> None:
        # γ
        self.threshold = math.inf
        device = self.space.device
        # MPS has no float64
        self._points = self.space.vectors.to("cpu" if device.type == "mps" else device).double()
        self._squares = (self._points**2).sum(1)
        self._known: dict[int, Tensor] = {}

    def distances(self, words: Tensor) -> Tensor:
        """d'(w, y) in float64: a row for each word, a column for each y."""
        words = words.to(self._points.device)
        squares = torch.addmm(self._squares, self._points[words], self._points.T, alpha=-2)
        squares += self._squares[words, None]
        near = (squares <= NEAR * 4 * self._squares.max()).nonzero()
        for part in near.split(max(1, CELLS // self.dimension)):
            row, column = part.T
            apart = self._points[words[row]] - self._points[column]
            squares[row, column] = (apart**2).sum(1)
        return squares.sqrt_().clamp_(max=self.threshold)

    def log_probabilities(self, words: Tensor) -> Tensor:
        scores = self._scores(words)
        return scores - scores.logsumexp(1, keepdim=True)

    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        device = self._points.device
        order = words.argsort().to(device)
        uniform = uniform53(len(words), generator).to(device)[order]
        unique, counts = words.to(device)[order].unique_consecutive(return_counts=True)
        sizes = counts.tolist()
        tokens = zip(unique.tolist(), order.split(sizes), uniform.split(sizes), strict=True)
        asked = {word: (places, draws) for word, places, draws in tokens}
        private = torch.empty_like(order)
        for word, sums in self._cumulative(list(asked)):
            places, draws = asked[word]
            private[places] = torch.searchsorted(sums, draws * sums[-1], right=True)
        return private.clamp_(max=len(self.space) - 1).to(words.device)

    def _cumulative(self, words: list[int]) -> Iterator[tuple[int, Tensor]]:
        """Each word with the cumulative sums of its probabilities, up to a factor.

        Those of the words that are frequent under the public prior are kept: most tokens are theirs.
        """
        rare = []
        for word in words:
            if word in self._known:
                yield word, self._known[word]
            else:
                rare.append(word)
        for part in torch.tensor(rare, dtype=torch.int64).split(self._rows):
            for word, sums in zip(part.tolist(), self._scores(part).exp_().cumsum_(1), strict=True):
                if word in self._frequent:
                    self._known[word] = sums.clone()
                yield word, sums

    @cached_property
    def _frequent(self) -> set[int]:
        return set((-self.space.prior).argsort(kind="stable")[: self._rows].tolist())

    @property
    def epsilon_exact(self) -> float:
        """The smallest canonical ε with δ = 0 over all pairs of vocabulary words, rounded upwards."""
        return self._worst[0] * (1 + ROUNDING)

    def distance(self) -> float:
        """The largest d' between two words, min(γ, D); ε times this bounds `epsilon_exact`."""
        return self._worst[1]

    def distance_between(self, first: int, second: int) -> float:
        return min(super().distance_between(first, second), self.threshold)

    def largest_distance(self) -> float:
        """min(γ, 2C): what the authors state, for any vocabulary."""
        return min(super().largest_distance(), self.threshold)

    @cached_property
    def _worst(self) -> tuple[float, float]:
        parts = torch.arange(len(self.space), device=self._points.device).split(self._rows)
        log_z = torch.cat([self._scores(part).logsumexp(1) for part in parts])
        worst = largest = 0.0
        for part in parts:
            distances = self.distances(part)
            largest = max(largest, float(distances.max()))
            ratios = distances.mul_(self.epsilon / 2).add_(log_z).sub_(log_z[part, None])
            worst = max(worst, float(ratios.max()))
        return worst, largest

    def log_delta(self, epsilon: float) -> float:
        """An upper bound on ln δ(ε): −inf from `epsilon_exact` on, randomised response's below."""
        pure = self.epsilon_exact
        if epsilon >= pure:
            return -math.inf
        return math.log(-math.expm1(epsilon - pure)) - math.log1p(math.exp(-pure))

    def epsilon_at(self, log_delta: float) -> float:
        """An upper bound on the smallest ε: `epsilon_exact` at δ = 0, hardly less at small δ."""
        pure = self.epsilon_exact
        share = math.exp(log_delta) * (1 + math.exp(-pure))
        if share >= 1:
            return 0.0
        epsilon = max(0.0, pure + math.log1p(-share))
        return on_the_safe_side(epsilon, self.log_delta, log_delta)

    @property
    def _rows(self) -> int:
        return max(1, CELLS // len(self.space))

    def _scores(self, words: Tensor) -> Tensor:
        return self.distances(words).mul_(-self.epsilon / 2)


def uniform53(count: int, generator: Generator) -> Tensor:
    """Uniform multiples of 2⁻⁵³ in [0, 1), on the CPU: of integers, which every device draws."""
    high, low = (
        torch.randint(2**bits, (count,), generator=generator, device=generator.device).cpu()
        for bits in (26, 27)
    )
    return (high * 2**27 + low).double() * 2**-53
