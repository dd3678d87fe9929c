"""Which of two documents was it? The attacker knows both, and the mechanism; a fair coin says which of them is
privatised, all of it, as the run releases it; the attacker sees the private text and names one.

**What a promise allows.** Let p be the probability that M(D) makes the attacker say D, and q that M(D') makes
it say D'. If M is (ε, δ)-DP between D and D', both ways, then

    p ≤ e^ε (1 − q) + δ,   q ≤ e^ε (1 − p) + δ;   in sum (p + q)(1 + e^ε) ≤ 2 e^ε + 2δ,

so the success (p + q)/2 is at most (e^ε + δ)/(1 + e^ε), whatever the attacker does and knows: chance, 1/2, at
ε = 0, and at δ = 0 reached only where every answer has one of two odds. Turned round, a success of s shows
that ε ≥ ln((s − δ)/(1 − s)). The best attacker has ½ + ½·TV(M(D), M(D')), TV the total variation distance.

**Played with**

- two different documents of the test split at random. Under unit=word the number of words is published, so
  documents of different lengths are told apart by it, whatever the noise: these count as told apart;
- two different documents of one length: what the words alone give away (unit=word);
- the worst two: documents which have one word only, over and over, *w w w …* and *w' w' w' …*, with as many
  answers as the median document gives. They are made up, since a promise is about any two documents, real or
  not. One answer is a mixture of rows of the channel, and total variation is convex, so where a document
  gives one answer no two are further apart than two of these; with more answers it is a strong pair, not
  proven to be the worst. w and w' are the largest pair of the vocabulary, one of those that the mechanism
  names or one of a hundred at random, whichever has the largest total variation distance; where no channel is
  known, the first that the mechanism names. Of drr: documents that choose different answers, which all have
  the same distance.

How a private text is scored stands in `trlap.audit.attacks._telling`. A score of 0 says nothing, so the
attacker tosses a coin: it counts half. Where the score is no likelihood ratio, the threshold of the last game
is chosen on the first half of its draws; all its rates are counted on the second half.
"""

import math
from dataclasses import dataclass
from statistics import median_low

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from trlap.audit.attacks._statistics import clopper_pearson_lower, clopper_pearson_upper
from trlap.audit.attacks._telling import Teller, drawn, teller
from trlap.audit.attacks.base import BLOCK, Attack, Scene
from trlap.audit.attacks.distinguish import distinguish
from trlap.audit.texts import Laws, Numbers, Texts
from trlap.mechanisms._channel import row_log_delta
from trlap.mechanisms._extremes import random_pairs
from trlap.mechanisms.base import Mechanism
from trlap.randomness import block_generator
from trlap.runs.result import DocumentGuarantee, ToldApart, Which

Floats = NDArray[np.float64]

LOG_1E6 = math.log(1e-6)
# answers of either text of the last game, of all draws together
MOST = 2**18
# pairs at random among which the worst is looked for
LOOKED_AT = 100
KINDS = ("any", "equal")


class WhichDocument(Attack):
    """Pairs of the test split, `audit.tokens` of each kind, and `audit.samples` draws of the worst two."""

    name = "which"
    knows = "two documents of which one was privatised, the mechanism and its parameters"

    def reason(self, scene: Scene) -> str | None:
        if scene.texts is None or not len(scene.texts.words):
            return "the test split has no words"
        if len(scene.mechanism.space) < 2:
            return "one word: there is nothing to tell apart"
        return None

    def run(self, scene: Scene) -> Which:
        texts, mechanism = scene.texts, scene.mechanism
        assert texts is not None
        told = teller(mechanism, texts.words, scene.seed)
        games = {kind: _game(scene, texts, told, kind) for kind in KINDS}
        worst = _worst(scene, texts, told)
        found = {kind: game for kind, game in games.items() if isinstance(game, _Played)}
        return Which(
            unit="word" if texts.shows_length else "document",
            texts=len(texts),
            score=told.how,
            optimal=told.exact and (texts.answers or 1) == 1,
            any=found["any"].rate if "any" in found else None,
            by_length=found["any"].by_length if "any" in found else None,
            equal=found["equal"].rate if "equal" in found else None,
            worst=worst.rate,
            worst_pair=worst.pair,
            answers=worst.answers,
            vector=worst.vector,
            reasons={kind: game for kind, game in games.items() if isinstance(game, str)},
            notes=_notes(mechanism, texts),
        )


def allowed(document: DocumentGuarantee | None) -> float | None:
    """The level of what is added up or of composed losses, the less; null where nothing is known."""
    if document is None or document.basic is None:
        return None
    known = [document.basic, document.loss_distribution]
    return min(level(one.epsilon, 10**one.log10_delta) for one in known if one is not None)


def level(epsilon: float, delta: float) -> float:
    """(e^ε + δ)/(1 + e^ε), without an overflow."""
    return min(1.0, float(expit(epsilon) + delta * expit(-epsilon)))


def shown(success: float) -> float:
    """ln((s − δ)/(1 − s)) at δ = 10⁻⁶, for a success that is this at least."""
    if success >= 1:
        return math.inf
    return max(0.0, math.log(max(success - 1e-6, 1e-300) / (1 - success)))


def rate(
    scores: Floats, first: NDArray[np.bool_], confidence: float, most: float | None
) -> ToldApart:
    """Of as many trials as there are scores, in which it was the first text or the second one.

    A tie counts half; the interval is that of one hit less or more, so it is on the safe side. Where the two
    texts are drawn equally often, hits are a sum of two binomials, for which the interval holds as well:
    tails of such a sum are lighter (Hoeffding 1956).
    """
    trials = len(scores)
    hits = int(np.where(first, scores > 0, scores < 0).sum())
    half = int((scores == 0).sum()) / 2
    error = (1 - confidence) / 2
    low = float(clopper_pearson_lower(math.floor(hits + half), trials, error))
    high = float(clopper_pearson_upper(math.ceil(hits + half), trials, error))
    return ToldApart((hits + half) / trials, (low, high), trials, most, shown(low))


# -------------------------------------------------------------------------------- pairs of the test split


@dataclass(frozen=True)
class _Played:
    rate: ToldApart
    by_length: float


def _game(scene: Scene, texts: Texts, told: Teller, kind: str) -> "_Played | str":
    """One coin and one private text for every pair; or why there is none."""
    if kind == "equal" and not texts.shows_length:
        return "the number of words is not published"
    rng = np.random.default_rng([scene.seed, 9, KINDS.index(kind)])
    pairs = texts.pairs(scene.config.tokens, rng, equal_length=kind == "equal")
    if not len(pairs):
        what = "different documents" + (" of one length" if kind == "equal" else "")
        return f"there are no two {what} in the test split"
    side = rng.integers(2, size=len(pairs))
    lengths = texts.lengths[pairs]
    apart = (lengths[:, 0] != lengths[:, 1]) & texts.shows_length
    scores = np.where(side == 0, math.inf, -math.inf)
    purpose = f"audit/which/{kind}"
    scores[~apart] = scores_of(scene, texts, told, pairs[~apart], side[~apart], purpose)
    if scene.composition is None:
        most = None
    elif kind == "any" and texts.shows_length:
        most = 1.0  # lengths are not protected
    else:
        most = allowed(scene.composition.longest)
    played = rate(scores, side == 0, scene.config.confidence, most)
    return _Played(played, float(apart.mean()))


def scores_of(
    scene: Scene, texts: Texts, told: Teller, pairs: Numbers, side: Numbers, purpose: str
) -> Floats:
    """Of a private text of each pair, made of the document on that side."""
    if not len(pairs):
        return np.zeros(0)
    mechanism, prior = scene.mechanism, scene.mechanism.space.prior
    cpu = torch.device("cpu")
    first, answers = texts.laws(pairs, 0, prior)
    second, _ = texts.laws(pairs, 1, prior)
    words = texts.given(
        pairs, side, prior, lambda: block_generator(scene.seed, f"{purpose}/picks", 0, cpu)
    )
    seen = drawn(mechanism, words, answers, scene.seed, purpose)
    return _summed(told.score(first, second, seen), answers)


def _summed(scores: Floats, answers: Numbers) -> Floats:
    return np.add.reduceat(scores, np.cumsum(answers) - answers)


# -------------------------------------------------------------------------------------- the worst two


@dataclass(frozen=True)
class _Worst:
    rate: ToldApart
    pair: str
    answers: int
    vector: ToldApart | None


def _worst(scene: Scene, texts: Texts, told: Teller) -> _Worst:
    mechanism, samples = scene.mechanism, scene.config.samples
    counted = texts.lengths[texts.lengths > 0].tolist()
    answers = 1 if texts.choice else texts.answers or median_low(counted)
    pair = _furthest(scene)
    # a projection is dear, a look-up is not
    draws = max(100, min(samples, (MOST if told.exact else samples) // answers))
    sides = []
    for side in (0, 1):
        words = np.full(draws * answers, pair[side], np.int64)
        each = np.full(draws, answers, np.int64)
        seen = drawn(mechanism, words, each, scene.seed, f"audit/which/worst/{side}")
        one, other = (Laws(np.full_like(words, word), np.ones_like(words)) for word in pair)
        sides.append(_summed(told.score(one, other, seen), each))
    most = allowed(scene.composition.median if scene.composition else None)
    name = " and ".join(f"{mechanism.space.words[word]} …" for word in pair)
    if texts.choice:
        name = "two documents that choose different answers"
    return _Worst(
        _best(sides[0], sides[1], told.exact, scene.config.confidence, most),
        name,
        answers,
        _by_vectors(scene, answers, draws, most),
    )


def _best(
    first: Floats, second: Floats, exact: bool, confidence: float, most: float | None
) -> ToldApart:
    """On the second half of the draws, at the threshold that is best on the first half, or that is known."""
    half = len(first) // 2
    threshold = 0.0 if exact else _threshold(first[:half], second[:half])
    one, other = first[half:], second[half:]
    with np.errstate(invalid="ignore"):
        scores = np.concatenate([one - threshold, other - threshold])
    told = rate(scores, np.repeat([True, False], [len(one), len(other)]), confidence, most)
    lower = distinguish(first, second, 0.0, LOG_1E6, 1 - confidence).epsilon_lower
    return ToldApart(told.success, told.interval, told.trials, most, lower)


def _threshold(first: Floats, second: Floats) -> float:
    """Between two scores, where most of these draws are told apart."""
    scores = np.unique(np.concatenate([first, second]))
    scores = scores[np.isfinite(scores)]
    if not len(scores):
        return 0.0
    cuts = np.concatenate([[scores[0] - 1], (scores[:-1] + scores[1:]) / 2, [scores[-1] + 1]])
    right = np.searchsorted(np.sort(second), cuts) - np.searchsorted(np.sort(first), cuts)
    return float(cuts[right.argmax()])


def _furthest(scene: Scene) -> tuple[int, int]:
    """Two words whose answers are furthest apart, among some."""
    mechanism, pairs = scene.mechanism, []
    for named in mechanism.telling_pairs():
        pairs.append((named.first, named.second))
    if scene.vocabulary.largest is not None:
        pairs.append(scene.vocabulary.largest.indices)
    chosen = random_pairs(len(mechanism.space), LOOKED_AT, scene.seed + 2)
    pairs += list(zip(*(part.tolist() for part in chosen), strict=True))
    channel = mechanism.channel()
    if channel is None:
        return pairs[0]
    device = mechanism.space.device

    def variation(pair: tuple[int, int]) -> float:
        p, q = channel.log_probabilities(torch.tensor(pair, device=device)).cpu().double().numpy()
        return row_log_delta(p, q, 0.0)

    return max(pairs, key=variation)


def _by_vectors(scene: Scene, answers: int, draws: int, most: float | None) -> ToldApart | None:
    """The same game with the noisy vectors of the largest pair, by their exact likelihoods."""
    mechanism, largest = scene.mechanism, scene.vocabulary.largest
    views = [view for view in mechanism.views(scene.seed) if view.point == "vector"]
    if not views or mechanism.geometry() is None or mechanism.shares_noise or largest is None:
        return None
    view, pair = views[0], largest.indices
    score = view.score(*pair)
    sides = []
    for side in (0, 1):
        parts = []
        for block, start in enumerate(range(0, draws * answers, BLOCK)):
            purpose = f"audit/which/vector/{side}"
            generator = block_generator(scene.seed, purpose, block, mechanism.space.device)
            count = min(BLOCK, draws * answers - start)
            parts.append(score(view.draw(pair[side], count, generator)))
        sides.append(np.concatenate(parts).reshape(draws, answers).sum(axis=1))
    return _best(sides[0], sides[1], True, scene.config.confidence, most)


# ------------------------------------------------------------------------------------------- in words


def _notes(mechanism: Mechanism, texts: Texts) -> list[str]:
    notes = []
    if mechanism.shares_noise:
        notes.append("a document is taken to be a batch of its own, with noise of its own")
    if (texts.answers or 1) > 1:
        notes.append(
            "the words of a document are not picked independently: the product over answers is an attack, "
            "and maybe not the best"
        )
    return notes
