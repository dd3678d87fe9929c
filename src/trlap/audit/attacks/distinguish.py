"""A distinguishing attack: a statistical lower bound on what a mechanism leaks about two words.

If M is (ε, δ)-DP, then for every event S and all words w, w'

    Pr[M(w) ∈ S] ≤ e^ε Pr[M(w') ∈ S] + δ.

An attacker who finds an S with p = Pr[M(w) ∈ S] large and q = Pr[M(w') ∈ S] small has shown that δ is at
least p − e^ε q, and that ε is at least ln((p − δ)/q). The attack draws M(w) and M(w'), scores every draw by
how much it looks like w rather than w' (`trlap.mechanisms._views`), chooses a threshold on the first half of
the draws and counts on the second half, which had no part in the choice. Clopper & Pearson (1934) bound p
from below and q from above, exactly for every sample size. All bounds of a run share its error rate
(Bonferroni), so that with the stated confidence *all* of them hold at once.

Where an infinite score is impossible under w', not merely rare, q = 0 is known, and the draws only confirm it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trlap.audit.attacks._statistics import clopper_pearson_lower, clopper_pearson_upper
from trlap.audit.attacks.base import BLOCK, Attack, Scene
from trlap.audit.records import Bound, Distinguished
from trlap.mechanisms._extremes import random_pairs
from trlap.mechanisms._views import Pair, View
from trlap.mechanisms.base import Mechanism
from trlap.randomness import block_generator

Floats = NDArray[np.float64]

# candidates for the threshold
THRESHOLDS = 400


class Distinguish(Attack):
    """The largest pair of the vocabulary, the pairs that the mechanism names, some at random."""

    name = "distinguish"
    knows = "the two words in question, the mechanism and its parameters"
    section = "empirical"

    def reason(self, scene: Scene) -> str | None:
        if scene.mechanism.claimed().nothing:
            return "nothing was claimed that could be refuted"
        if len(scene.mechanism.space) < 2:
            return "one word: there is nothing to tell apart"
        return None

    def run(self, scene: Scene) -> Distinguished:
        mechanism, config = scene.mechanism, scene.config
        pairs = mechanism.telling_pairs()
        if scene.vocabulary.largest is not None:
            first, second = scene.vocabulary.largest.indices
            pairs = [Pair(first, second, "the largest pair"), *pairs]
        chosen = random_pairs(len(mechanism.space), config.pairs, scene.seed + 1)
        for first, second in zip(*(part.tolist() for part in chosen), strict=True):
            pairs.append(Pair(first, second, "random"))
        return tell_apart(mechanism, pairs, config.samples, config.confidence, scene.seed)


@dataclass(frozen=True)
class Trial:
    """Two inputs to tell apart at one point of release, at the ε that was claimed for them."""

    view: View
    inputs: tuple[int, int]
    # null: clipped vectors that are no words
    words: list[str] | None
    why: str
    epsilon: float


def trials_of(mechanism: Mechanism, pairs: Sequence[Pair], seed: int) -> list[Trial]:
    """First the worst two inputs, which need not be words, then every pair at every point of release."""
    trials = []
    worst = mechanism.worst_view()
    if worst is not None:
        epsilon = mechanism.largest_claimed_epsilon()
        trials.append(Trial(worst, (0, 1), None, "the worst two clipped vectors", epsilon))
    views = mechanism.views(seed)
    for pair in pairs:
        words = [mechanism.space.words[pair.first], mechanism.space.words[pair.second]]
        epsilon = mechanism.claimed_epsilon(pair.first, pair.second)
        inputs = (pair.first, pair.second)
        trials += [Trial(view, inputs, words, pair.why, epsilon) for view in views]
    return trials


def tell_apart(
    mechanism: Mechanism, pairs: Sequence[Pair], samples: int, confidence: float, seed: int
) -> Distinguished:
    """Bounds from so many draws of each input; the error rate is shared by all trials."""
    log_delta = mechanism.claimed().log_delta
    trials = trials_of(mechanism, pairs, seed)
    error = (1 - confidence) / len(trials)
    bounds: dict[str, list[Bound]] = {"vector": [], "word": []}
    for number, trial in enumerate(trials):
        purpose = f"audit/trial/{number}"
        first, second = _scores(trial, samples, seed, purpose, mechanism.space.device)
        shown = distinguish(first, second, trial.epsilon, log_delta, error, trial.view.bounded)
        bounds[trial.view.point].append(_bound(trial, shown))
    return Distinguished(confidence, len(trials), bounds["vector"], bounds["word"])


def _scores(
    trial: Trial, samples: int, seed: int, purpose: str, device: torch.device
) -> tuple[Floats, Floats]:
    """Of draws of either input, in blocks with generators of their own, as everywhere."""
    view = trial.view
    score = view.score(trial.inputs[0], trial.inputs[1])
    draws = min(samples, view.most or samples)

    def scores(side: int) -> Floats:
        parts = []
        for block, start in enumerate(range(0, draws, BLOCK)):
            generator = block_generator(seed, f"{purpose}/{side}", block, device)
            parts.append(score(view.draw(trial.inputs[side], min(BLOCK, draws - start), generator)))
        return np.concatenate(parts)

    return scores(0), scores(1)


# ------------------------------------------------------------------------------------- the statistics


@dataclass(frozen=True)
class Shown:
    """What the second half of the draws showed. The names are those of `records.Bound`."""

    delta_lower: float
    epsilon_lower: float
    epsilon_lower_at_delta_1e6: float
    event: str
    hits: tuple[int, int]
    draws: int
    impossible: bool


def _bound(trial: Trial, shown: Shown) -> Bound:
    return Bound(
        words=trial.words,
        why=trial.why,
        claimed_epsilon=trial.epsilon,
        delta_lower=shown.delta_lower,
        epsilon_lower=shown.epsilon_lower,
        epsilon_lower_at_delta_1e6=shown.epsilon_lower_at_delta_1e6,
        event=shown.event,
        hits=shown.hits,
        draws=shown.draws,
        impossible=shown.impossible,
    )


def distinguish(
    first: Floats,
    second: Floats,
    epsilon: float,
    log_delta: float,
    error: float,
    bounded: bool = False,
) -> Shown:
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
    return Shown(
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


def _epsilon(counted: _Counted, delta: float) -> float:
    """ln((p − δ)/q), by counting alone: what is known of the support is not used here."""
    return max(0.0, float(_log_ratio(counted.p_lower - delta, counted.q_upper)))


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
