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
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Generator, Tensor

from trlap.audit.exact import claimed_epsilon, losses, worst_claimed_epsilon
from trlap.audit.geometry import Geometry
from trlap.mechanisms._released import SHARED, Released
from trlap.mechanisms.base import Base, VectorMechanism, WordMechanism
from trlap.privatize.blocks import block_generator

Floats = NDArray[np.float64]

BLOCK = 2048  # draws at once
THRESHOLDS = 400  # candidates for the threshold
# The authors' release: words known in a batch, and batches, each of which gives one draw. Where the noise is
# shared, one known word is enough; mahalanobis makes its noise from the whole batch.
SHARED_BATCHES = (1, 1000)
OWN_BATCHES = (31, 250)

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
    for_delta = _choose(train, share, lambda p, q: p - _times(epsilon, q), bounded)
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


def _choose(
    train: tuple[Floats, Floats],
    share: float,
    gain: Callable[[Any, Any], Any],
    bounded: bool = False,
) -> _Event:
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
        q_upper = clopper_pearson_upper(q_hits, n, share)
        if bounded:
            q_upper[(thresholds == math.inf) & (q_hits == 0)] = 0.0
        gains = gain(clopper_pearson_lower(p_hits, n, share), q_upper)
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


def likelihood_ratio(noise: Geometry, first: Tensor, second: Tensor) -> Score:
    """Of two centres, exactly: infinite outside the other's support."""
    points = torch.stack([first, second])
    pair = Geometry(points, noise.norm, noise.rate, noise.whiten, bound=noise.bound)

    def score(noisy: Tensor) -> Floats:
        both = pair.log_likelihood(noisy, support=False)
        ratio: Floats = (both[:, 0] - both[:, 1]).cpu().numpy()
        if math.isfinite(noise.bound):
            first_out, second_out = pair.outside(noisy).cpu().numpy().T
            ratio[second_out] = math.inf
            ratio[first_out] = -math.inf
        return ratio

    return score


def along(mechanism: Base, first: int, second: int) -> Score:
    """Noisy vectors by their inner product with x_w − x_w'."""
    vectors = mechanism.space.vectors.cpu().double()
    s = vectors[first] - vectors[second]
    return lambda noisy: (noisy.cpu().double() @ s).numpy()


def inner_product(mechanism: Base, first: int, second: int) -> Score:
    """Words by the inner product of their vectors with x_w − x_w'."""
    products = along(mechanism, first, second)(mechanism.space.vectors)
    return lambda words: products[words.cpu().numpy()]


def word_ratio(mechanism: WordMechanism, first: int, second: int) -> Score:
    """Words by ln Q(y|w)/Q(y|w')."""
    ends = torch.tensor([first, second], device=mechanism.space.device)
    ratio = losses(*mechanism.log_probabilities(ends).cpu().double().numpy())
    return lambda words: ratio[words.cpu().numpy()]


def of_word(draw: Callable[[Tensor, Generator], Tensor], word: int, device: torch.device) -> Draw:
    """Many draws of one word, each with noise of its own."""
    return lambda count, generator: draw(torch.full((count,), word, device=device), generator)


def of_centre(mechanism: VectorMechanism, centre: Tensor) -> Draw:
    return lambda count, generator: centre + mechanism.noise(count, generator)


def of_batches(mechanism: Released, word: int, context: Tensor, clear: bool) -> Draw:
    """The noisy vector of a word in batches whose other words are known: the release shares noise.

    `clear`: the noise is read off the first known word and taken away.
    """
    batch = torch.cat([torch.tensor([word], device=context.device), context])
    known = mechanism.space.vectors[context[0]]

    def draw(count: int, generator: Generator) -> Tensor:
        batches = (mechanism.perturb(batch, generator) for _ in range(count))
        return torch.stack(
            [noisy[0] - noisy[1] + known if clear else noisy[0] for noisy in batches]
        )

    return draw


# --------------------------------------------------------------------------------------------- the attack


@dataclass(frozen=True)
class Trial:
    """Two inputs to tell apart at one point of release, at the ε that was claimed for them."""

    point: str  # vector | word
    words: list[str] | None  # null: clipped vectors that are no words
    why: str
    epsilon: float
    score: Score
    draws: list[Draw]
    bounded: bool = False  # an infinite score is impossible under the other input


def attack(
    mechanism: Base,
    noise: Geometry | None,
    pairs: list[tuple[int, int, str]],
    samples: int,
    confidence: float,
    seed: int,
) -> dict[str, Any]:
    """Tell pairs of words (w, w', why chosen) apart; the error rate is shared by all trials.

    `vector` (vector mechanisms): the noisy vector, first of the worst two clipped vectors, which need not
    be words, then of the pairs. `word`: what Algorithm 1 returns.
    """
    log_delta = mechanism.claimed().log_delta
    device = mechanism.space.device
    if isinstance(mechanism, Released):
        known, batches = SHARED_BATCHES if mechanism.released in SHARED else OWN_BATCHES
        samples = min(samples, batches)
        trials = list(_released_trials(mechanism, pairs, known, seed))
    else:
        trials = list(_trials(mechanism, noise, pairs))
    error = (1 - confidence) / len(trials)
    found: dict[str, Any] = {"vector": [], "word": []}
    for number, trial in enumerate(trials):
        first, second = (
            _scores(trial, side, samples, seed, f"audit/trial/{number}/{side}", device)
            for side in (0, 1)
        )
        bound = distinguish(first, second, trial.epsilon, log_delta, error, trial.bounded)
        about = {"words": trial.words, "why": trial.why, "claimed_epsilon": trial.epsilon}
        found[trial.point].append(about | asdict(bound))
    return {"confidence": confidence, "trials": len(trials)} | found


def _scores(
    trial: Trial, side: int, samples: int, seed: int, purpose: str, device: torch.device
) -> Floats:
    """In blocks with generators of their own, as everywhere."""
    parts = []
    for block, start in enumerate(range(0, samples, BLOCK)):
        generator = block_generator(seed, purpose, block, device)
        parts.append(trial.score(trial.draws[side](min(BLOCK, samples - start), generator)))
    return np.concatenate(parts)


def _trials(
    mechanism: Base, noise: Geometry | None, pairs: list[tuple[int, int, str]]
) -> Iterator[Trial]:
    device = mechanism.space.device
    if isinstance(mechanism, VectorMechanism) and noise is not None:
        centres = noise.worst_pair(mechanism.clip, mechanism.dimension)
        yield Trial(
            "vector",
            None,
            "the worst two clipped vectors",
            worst_claimed_epsilon(mechanism),
            likelihood_ratio(noise, *centres),
            [of_centre(mechanism, centre) for centre in centres],
            math.isfinite(noise.bound),
        )
    for first, second, why in pairs:
        words = [mechanism.space.words[i] for i in (first, second)]
        epsilon = claimed_epsilon(mechanism, first, second)
        if isinstance(mechanism, VectorMechanism):
            draws = [of_word(mechanism.perturb, i, device) for i in (first, second)]
            if noise is None:
                score = along(mechanism, first, second)
                yield Trial("vector", words, why, epsilon, score, draws)
            else:
                score = likelihood_ratio(noise, noise.points[first], noise.points[second])
                bounded = math.isfinite(noise.bound)
                yield Trial("vector", words, why, epsilon, score, draws, bounded)
        known = isinstance(mechanism, WordMechanism)
        score = (word_ratio if known else inner_product)(mechanism, first, second)  # type: ignore[arg-type]
        draws = [of_word(mechanism.draw, i, device) for i in (first, second)]
        yield Trial("word", words, why, epsilon, score, draws)


def _released_trials(
    mechanism: Released, pairs: list[tuple[int, int, str]], known: int, seed: int
) -> Iterator[Trial]:
    rng = np.random.default_rng([seed, 5])
    prior = mechanism.space.prior / mechanism.space.prior.sum()
    context = torch.from_numpy(rng.choice(len(prior), size=known, p=prior))
    context = context.to(mechanism.space.device)
    clear = mechanism.released in SHARED
    for first, second, why in pairs:
        words = [mechanism.space.words[i] for i in (first, second)]
        epsilon = claimed_epsilon(mechanism, first, second)
        draws = [of_batches(mechanism, i, context, clear) for i in (first, second)]
        yield Trial("vector", words, why, epsilon, along(mechanism, first, second), draws)
        vectors = [of_batches(mechanism, i, context, False) for i in (first, second)]
        draws = [partial(_projected, mechanism, draw) for draw in vectors]
        yield Trial("word", words, why, epsilon, inner_product(mechanism, first, second), draws)


def _projected(mechanism: Base, draw: Draw, count: int, generator: Generator) -> Tensor:
    return mechanism.space.nearest(draw(count, generator))
