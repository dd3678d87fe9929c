"""A distinguishing attack: a statistical lower bound on what a mechanism leaks about two words.

If M is (ε, δ)-DP, then for every event S and all words w, w'

    Pr[M(w) ∈ S] ≤ e^ε Pr[M(w') ∈ S] + δ.

An attacker who finds an S with p = Pr[M(w) ∈ S] large and q = Pr[M(w') ∈ S] small has shown that δ is at
least p − e^ε q, and that ε is at least ln((p − δ)/q). The attack draws M(w) and M(w'), scores every draw by
how much it looks like w rather than w', chooses a threshold on the first half of the draws and counts on
the second half, which had no part in the choice. Clopper & Pearson (1934) bound p from below and q from
above, exactly for every sample size. All bounds of a run share its error rate (Bonferroni), so that with
the stated confidence *all* of them hold at once.

Scores
- noisy vector: the exact log-likelihood ratio of the two words. For truncated noise it is infinite where a
  coordinate lies outside the other word's support: the event "infinite" is the support test. Under w' that
  event is impossible, not merely rare, so there q = 0 is known, and the draws only confirm it;
- projected word of a vector mechanism: the inner product of the word's vector with x_w − x_w';
- word mechanism: the exact log-likelihood ratio ln Q(y|w)/Q(y|w');
- the authors' release: batches of words of which the attacker knows all but one; the inner product of the
  noisy vector, cleared of the noise where the batch shares it, with x_w − x_w'.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Generator, Tensor

from trlap.audit.exact import claimed_epsilon, losses
from trlap.audit.geometry import Geometry
from trlap.mechanism import Base, VectorMechanism, WordMechanism
from trlap.privatize import block_generator
from trlap.release import SHARED, Released

Floats = NDArray[np.float64]

BLOCK = 2048  # draws at once
THRESHOLDS = 400  # candidates for the threshold
CONTEXT = 32  # words of a batch in an attack on the authors' release
RELEASE_DRAWS = 1000  # batches: each gives one draw
LOG_1E6 = math.log(1e-6)

Draw = Callable[[int, Generator], Tensor]  # so many draws
Score = Callable[[Tensor], Floats]


def clopper_pearson_lower(hits: Any, trials: int, error: float) -> Any:
    """The p below which so many hits or more have probability `error` at most."""
    return np.where(hits > 0, stats.beta.ppf(error, np.maximum(hits, 1), trials - hits + 1), 0.0)


def clopper_pearson_upper(hits: Any, trials: int, error: float) -> Any:
    return 1.0 - clopper_pearson_lower(trials - np.asarray(hits), trials, error)


def interval(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """The two-sided Clopper–Pearson interval of a success rate."""
    error = (1 - confidence) / 2
    low, high = (
        clopper_pearson_lower(hits, trials, error),
        clopper_pearson_upper(hits, trials, error),
    )
    return float(low), float(high)


@dataclass(frozen=True)
class Bound:
    """What one event showed. Probabilities are those of the second half of the draws."""

    delta_lower: float  # at the claimed ε
    epsilon_lower: float  # at the claimed δ
    epsilon_lower_at_delta_1e6: float
    event: str
    hits: tuple[int, int]  # under w, under w'
    draws: int  # of each
    impossible: bool  # under w', by the support of the noise


def distinguish(
    first: Floats,
    second: Floats,
    epsilon: float,
    log_delta: float,
    error: float,
    bounded: bool = False,
) -> Bound:
    """Bounds from the scores of draws of M(w) and of M(w'), all of which hold but for `error`.

    Two events are tried, one chosen for δ at the claimed ε, one for ε; each has two probabilities to
    bound, so every bound gets a quarter of the error. Either word may take the part of w. `bounded`: an
    infinite score is impossible under the other word.
    """
    half = len(first) // 2
    share = error / 4
    delta = math.exp(log_delta)
    train, test = (first[:half], second[:half]), (first[half:], second[half:])
    for_delta = _choose(train, share, lambda p, q: p - _times(epsilon, q))
    for_epsilon = _choose(train, share, lambda p, q: _log_ratio(p - delta, q))
    by_delta = _count(test, for_delta, share, bounded)
    by_epsilon = _count(test, for_epsilon, share, bounded)
    p, q = by_delta.p_lower, 0.0 if by_delta.impossible else by_delta.q_upper
    return Bound(
        delta_lower=max(0.0, float(p - _times(epsilon, q))),
        epsilon_lower=_epsilon(by_epsilon, delta),
        epsilon_lower_at_delta_1e6=_epsilon(by_epsilon, 1e-6),
        event=by_delta.text,
        hits=by_delta.hits,
        draws=by_delta.draws,
        impossible=by_delta.impossible,
    )


def _times(epsilon: float, q: Any) -> Any:
    """e^ε q for q ≥ 0, without an overflow: beyond 1 it does not matter by how much."""
    with np.errstate(divide="ignore"):
        return np.exp(np.minimum(epsilon + np.log(q), 700.0))


def _log_ratio(p: Any, q: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(p, 0.0)) - np.log(q)


def _epsilon(counted: "_Counted", delta: float) -> float:
    """ln((p − δ)/q), by counting alone: what is known of the support is not used here."""
    return max(0.0, float(_log_ratio(counted.p_lower - delta, counted.q_upper)))


@dataclass(frozen=True)
class _Event:
    """score ≥ threshold, or its mirror image where the words change parts."""

    threshold: float
    swapped: bool


@dataclass(frozen=True)
class _Counted:
    p_lower: float
    q_upper: float
    hits: tuple[int, int]
    draws: int
    impossible: bool
    text: str


def _choose(train: tuple[Floats, Floats], share: float, gain: Callable[[Any, Any], Any]) -> _Event:
    """The threshold whose own Clopper–Pearson bounds, on this half, promise most."""
    best, event = -math.inf, _Event(math.inf, False)
    for swapped in (False, True):
        p, q = (-train[1], -train[0]) if swapped else train
        n = len(p)
        pooled = np.unique(np.concatenate([p, q]))
        places = np.unique(np.linspace(0, len(pooled) - 1, THRESHOLDS).astype(int))
        thresholds = pooled[places]
        p_hits = n - np.searchsorted(np.sort(p), thresholds)
        q_hits = n - np.searchsorted(np.sort(q), thresholds)
        gains = gain(
            clopper_pearson_lower(p_hits, n, share), clopper_pearson_upper(q_hits, n, share)
        )
        top = int(np.argmax(gains))
        if gains[top] > best:
            best, event = float(gains[top]), _Event(float(thresholds[top]), swapped)
    return event


def _count(test: tuple[Floats, Floats], event: _Event, share: float, bounded: bool) -> _Counted:
    p, q = (-test[1], -test[0]) if event.swapped else test
    hits = int((p >= event.threshold).sum()), int((q >= event.threshold).sum())
    support = bounded and event.threshold == math.inf
    return _Counted(
        p_lower=float(clopper_pearson_lower(hits[0], len(p), share)),
        q_upper=float(clopper_pearson_upper(hits[1], len(q), share)),
        hits=hits,
        draws=len(p),
        impossible=support and hits[1] == 0,
        text="a coordinate outside the other's support" if support else "score at a threshold",
    )


# ------------------------------------------------------------------------------- draws and their scores


def vector_scores(noise: Geometry, first: Tensor, second: Tensor) -> Score:
    """The log-likelihood ratio of two centres, exactly: infinite outside the other's support."""
    pair = Geometry(
        torch.stack([first, second]), noise.norm, noise.rate, noise.whiten, bound=noise.bound
    )

    def score(noisy: Tensor) -> Floats:
        both = pair.log_likelihood(noisy, support=False)
        ratio: Floats = (both[:, 0] - both[:, 1]).cpu().numpy()
        if math.isfinite(noise.bound):
            limit = noise.bound * SUPPORT
            outside = [
                ((noisy - centre).abs() > limit).any(1).cpu().numpy() for centre in pair.points
            ]
            ratio[outside[1]] = math.inf
            ratio[outside[0]] = -math.inf
        return ratio

    return score


def inner_product(mechanism: Base, first: int, second: int) -> Score:
    """Words by the inner product of their vectors with x_w − x_w'."""
    vectors = mechanism.space.vectors
    products = (vectors.double().cpu() @ (vectors[first] - vectors[second]).double().cpu()).numpy()
    return lambda words: products[words.cpu().numpy()]


def word_losses(mechanism: WordMechanism, first: int, second: int) -> Score:
    ends = torch.tensor([first, second], device=mechanism.space.device)
    p, q = mechanism.log_probabilities(ends).cpu().double().numpy()
    ratio = losses(p, q)
    return lambda words: ratio[words.cpu().numpy()]


def draw_scores(
    draw: Draw, score: Score, samples: int, seed: int, purpose: str, device: torch.device
) -> Floats:
    """Scores of so many draws, in blocks with generators of their own."""
    parts = []
    for block, start in enumerate(range(0, samples, BLOCK)):
        generator = block_generator(seed, f"audit/{purpose}", block, device)
        parts.append(score(draw(min(BLOCK, samples - start), generator)))
    return np.concatenate(parts)


def _many(word: int, count: int, device: torch.device) -> Tensor:
    return torch.full((count,), word, device=device)


def noisy_vectors(mechanism: VectorMechanism, word: int) -> Draw:
    device = mechanism.space.device
    return lambda count, generator: mechanism.perturb(_many(word, count, device), generator)


def private_words(mechanism: Base, word: int) -> Draw:
    device = mechanism.space.device
    return lambda count, generator: mechanism.draw(_many(word, count, device), generator)


def released_vectors(mechanism: Released, word: int, context: Tensor, clear: bool) -> Draw:
    """The noisy vector of a word in a batch whose other words are known.

    `clear`: where the noise is shared, it is read off the first known word and taken away.
    """
    vectors = mechanism.space.vectors
    batch = torch.cat([torch.tensor([word], device=context.device), context])

    def draw(count: int, generator: Generator) -> Tensor:
        rows = []
        for _ in range(count):
            noisy = mechanism.perturb(batch, generator)
            rows.append(noisy[0] - noisy[1] + vectors[context[0]] if clear else noisy[0])
        return torch.stack(rows)

    return draw


# --------------------------------------------------------------------------------------------- the attack


@dataclass(frozen=True)
class Pair:
    """Two words to tell apart; `why` they were chosen."""

    first: int
    second: int
    why: str


def attack(
    mechanism: Base,
    noise: Geometry | None,
    pairs: list[Pair],
    samples: int,
    confidence: float,
    seed: int,
) -> dict[str, Any]:
    """All pairs, at both points of release; the error rate is shared by all.

    `vector` (vector mechanisms): the noisy vector, first of the worst two clipped vectors, which need not
    be words, then of the pairs. `word`: what Algorithm 1 returns.
    """
    jobs: list[tuple[str, dict[str, Any], float, Callable[[], tuple[Floats, Floats]]]] = []
    claim = mechanism.claimed()
    released = isinstance(mechanism, Released)
    if isinstance(mechanism, VectorMechanism) and noise is not None:
        centres = noise.worst_pair(mechanism.clip, mechanism.dimension)
        epsilon = claim.epsilon
        if claim.notion == "metric DP":
            epsilon *= getattr(mechanism, "distance", lambda: 2 * mechanism.clip)()
        about = {"words": None, "why": "the worst two clipped vectors"}
        scores = partial(_worst_scores, mechanism, noise, centres, samples, seed)
        jobs.append(("vector", about, epsilon, scores))
    for number, pair in enumerate(pairs):
        about = {
            "words": [mechanism.space.words[i] for i in (pair.first, pair.second)],
            "why": pair.why,
        }
        epsilon = claimed_epsilon(mechanism, pair.first, pair.second)
        if isinstance(mechanism, VectorMechanism):
            scores = partial(_vector_scores, mechanism, noise, pair, samples, seed, number)
            jobs.append(("vector", about, epsilon, scores))
        scores = partial(_word_scores, mechanism, pair, samples, seed, number)
        jobs.append(("word", about, epsilon, scores))
    error = (1 - confidence) / len(jobs)
    bounded = noise is not None and math.isfinite(noise.bound) and not released
    found: dict[str, list[dict[str, Any]]] = {"vector": [], "word": []}
    for point, about, epsilon, scores in jobs:
        bound = distinguish(
            *scores(), epsilon, claim.log_delta, error, bounded and point == "vector"
        )
        found[point].append(about | {"claimed_epsilon": epsilon} | asdict(bound))
    return {"confidence": confidence, "bounds": len(jobs)} | found


def _worst_scores(
    mechanism: VectorMechanism,
    noise: Geometry,
    centres: tuple[Tensor, Tensor],
    samples: int,
    seed: int,
) -> tuple[Floats, Floats]:
    score = vector_scores(noise, *centres)
    first, second = (
        draw_scores(
            lambda count, generator, centre=centre: centre + mechanism.noise(count, generator),
            score,
            samples,
            seed,
            f"worst/{side}",
            mechanism.space.device,
        )
        for side, centre in enumerate(centres)
    )
    return first, second


def _vector_scores(
    mechanism: VectorMechanism,
    noise: Geometry | None,
    pair: Pair,
    samples: int,
    seed: int,
    number: int,
) -> tuple[Floats, Floats]:
    words, device = (pair.first, pair.second), mechanism.space.device
    if noise is not None:
        score = vector_scores(noise, *noise.points[list(words)])
    else:
        score = _along(mechanism, pair)
    draws: list[Draw] = [noisy_vectors(mechanism, word) for word in words]
    if isinstance(mechanism, Released):
        samples = min(samples, RELEASE_DRAWS)
        clear = mechanism.released in SHARED
        draws = [released_vectors(mechanism, w, _context(mechanism, seed), clear) for w in words]
    first, second = (
        draw_scores(draw, score, samples, seed, f"vector/{number}/{side}", device)
        for side, draw in enumerate(draws)
    )
    return first, second


def _word_scores(
    mechanism: Base, pair: Pair, samples: int, seed: int, number: int
) -> tuple[Floats, Floats]:
    words, device = (pair.first, pair.second), mechanism.space.device
    if isinstance(mechanism, WordMechanism):
        score = word_losses(mechanism, *words)
    else:
        score = inner_product(mechanism, *words)
    draws: list[Draw] = [private_words(mechanism, word) for word in words]
    if isinstance(mechanism, Released):
        samples = min(samples, RELEASE_DRAWS)
        context, nearest = _context(mechanism, seed), mechanism.space.nearest
        draws = [
            lambda n, g, draw=released_vectors(mechanism, word, context, False): nearest(draw(n, g))
            for word in words
        ]
    first, second = (
        draw_scores(draw, score, samples, seed, f"word/{number}/{side}", device)
        for side, draw in enumerate(draws)
    )
    return first, second


def _along(mechanism: Base, pair: Pair) -> Score:
    """Without a likelihood: the inner product of the noisy vector with x_w − x_w'."""
    vectors = mechanism.space.vectors
    s = (vectors[pair.first] - vectors[pair.second]).double()
    return lambda noisy: (noisy.double() @ s).cpu().numpy()


def _context(mechanism: Released, seed: int) -> Tensor:
    """The known words of a batch, by their frequency."""
    rng = np.random.default_rng([seed, 5])
    prior = mechanism.space.prior / mechanism.space.prior.sum()
    words = rng.choice(len(prior), size=CONTEXT - 1, p=prior)
    return torch.from_numpy(words).to(mechanism.space.device)
