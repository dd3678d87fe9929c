"""The contract of a mechanism: it takes words, gives words, and says of itself all that others ask.

A *vector* mechanism adds noise to the word's clipped vector and projects to the nearest word (Algorithm 1);
a *word* mechanism draws the word directly. Audit, classifier, figures and command line ask the mechanism
and never which one it is: what it claims, what is exactly true of it, how an attacker looks at it, what a
classifier may read in place of its words, how it looks in a figure.

To add one: a file here with a dataclass whose `name` is the file's name, a YAML in `conf/mechanism/` with
its own keys, a test in `tests/mechanisms/`. Another package offers one by an entry point of the group
`trlap.mechanisms`. A vector mechanism has to say `noise`, `claimed`, `log_delta` and `epsilon_at`, a word
mechanism `draw` and `log_probabilities` in place of `noise`; all else has an answer here, which a mechanism
that knows better overrides.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Generator, Tensor

from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms._channel import Channel, Floats, row_epsilon, row_log_delta
from trlap.mechanisms._decoding import Reading, Vectors
from trlap.mechanisms._extremes import most_visible
from trlap.mechanisms._geometry import Geometry
from trlap.mechanisms._look import Look
from trlap.mechanisms._views import Pair, View, centres_view, vector_view, word_view
from trlap.privacy.composition import dominating_losses, log_to_log10
from trlap.runs.result import Composed

__all__ = ["Claim", "Look", "Mechanism", "VectorMechanism", "WordMechanism", "composed"]

# how a composed ε was found
LOSSES = "privacy-loss distribution"
PURE = "the most that any mechanism of this pure ε can lose"
INFINITE = "none is finite"


@dataclass(frozen=True)
class Claim:
    """What a mechanism's authors say it guarantees for one word."""

    # "none", "ε-DP", "(ε, δ)-DP", or "metric DP": ε times a distance
    notion: str
    epsilon: float
    # natural logarithm
    log_delta: float = -math.inf
    # metric DP: which one
    distance: str | None = None

    @property
    def nothing(self) -> bool:
        return self.notion == "none"

    @property
    def metric(self) -> bool:
        return self.notion == "metric DP"


@dataclass(kw_only=True)
class Mechanism(ABC):
    """What every mechanism is told. Fields that a subclass adds are its own keys in `conf/mechanism/`."""

    # the file's name, and what a user types
    name: ClassVar[str]
    # its name in the paper's tables, where it has one; else its name
    label: ClassVar[str]
    # in figures; a mechanism that states none gets one from its name
    look: ClassVar[Look]
    # whether `calibration` changes anything
    calibrated: ClassVar[bool] = False
    # whether there is noise at all
    private: ClassVar[bool] = True
    # what one draw answers for
    unit: ClassVar[str] = "word"
    # vector | word: where the claim is made and where exact values are exact
    point: ClassVar[str] = "word"
    # words drawn in one call share noise, so that only draws of different calls are independent
    shares_noise: ClassVar[bool] = False
    # the ways of `classify.debias` that it supports
    undoes: ClassVar[tuple[str, ...]] = ()
    # why no bound is known; None: one is
    unknown: ClassVar[str | None] = None
    # why no two words need a look of their own: the same is true of all pairs
    all_pairs: ClassVar[str | None] = None

    space: Space
    epsilon: float
    # "paper": 4^-d
    delta: float | str = "paper"
    clip: float = 1.0
    calibration: str = "published"

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" in vars(cls):
            cls.label = vars(cls).get("label", cls.name)
            cls.look = vars(cls).get("look", Look.of(cls.name))

    @property
    def dimension(self) -> int:
        return self.space.dimension

    @property
    def log_delta_target(self) -> float:
        """ln δ asked for; the paper's choice is δ = 4^-d."""
        if isinstance(self.delta, str):
            return -self.dimension * math.log(4)
        return math.log(self.delta)

    @classmethod  # noqa: B027  not every mechanism has such rules
    def check_keys(cls, keys: Mapping[str, Any], words: int, dimension: int) -> None:
        """Rules of its own keys beyond their ranges, before any work is done; raises TrlapError.

        The vocabulary has at most so many words; their vectors have that dimension.
        """

    # ------------------------------------------------------------------- what it does and claims

    @abstractmethod
    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        """A private word for each word, by index."""

    @abstractmethod
    def claimed(self) -> Claim:
        """The guarantee as the mechanism's authors state it, true or not."""

    def claimed_epsilon(self, first: int, second: int) -> float:
        """The ε that the authors claim for these two words: for metric DP it counts their distance."""
        claim = self.claimed()
        distance = self.distance_between(first, second) if claim.metric else 1.0
        return claim.epsilon * distance

    def largest_claimed_epsilon(self) -> float:
        """The claimed ε; for metric DP times the largest distance that there can be."""
        claim = self.claimed()
        return claim.epsilon * (self.largest_distance() if claim.metric else 1.0)

    def distance_between(self, first: int, second: int) -> float:
        """Of two words, in the metric that the claim counts in; here the Euclidean one."""
        return float(np.linalg.norm(self.difference(first, second)))

    def largest_distance(self) -> float:
        """The largest that there can be: of two clipped vectors it is 2C."""
        return 2 * self.clip

    def difference(self, first: int, second: int) -> Floats:
        """s, the difference of two words' clipped vectors."""
        vectors = self.space.vectors
        gap: Floats = (vectors[first].double() - vectors[second].double()).cpu().numpy()
        return gap

    # ------------------------------------------------------------------------ what is exactly true

    @abstractmethod
    def log_delta(self, epsilon: float) -> float:
        """ln δ(ε) under canonical word-level DP, in the worst case over what may be put in."""

    @abstractmethod
    def epsilon_at(self, log_delta: float) -> float:
        """The smallest ε at that δ, in the worst case; inf where there is none."""

    def pair_log_delta(self, epsilon: float, first: int, second: int) -> float:
        """ln δ(ε) of these two words, the dearer direction; here what is true of the worst."""
        return self.log_delta(epsilon)

    def pair_epsilon_at(self, log_delta: float, first: int, second: int) -> float:
        """The smallest ε at that δ of these two words; here what is true of the worst."""
        return self.epsilon_at(log_delta)

    def epsilon_at_distance(self, log_delta: float, distance: float) -> float:
        """The smallest ε at that δ of two centres so far apart in the norm of the noise's `geometry`.

        Asked where the noise has no preferred direction; here what is true of the worst.
        """
        return self.epsilon_at(log_delta)

    def compose(self, log_delta: float, draws: int) -> Composed:
        """The ε at that δ of a text of `draws` words, for the worst pair at every position.

        Here: what any mechanism with this one's pure ε can lose at worst (Kairouz, Oh & Viswanath 2015);
        a mechanism that knows better overrides it.
        """
        pure = self.epsilon_at(-math.inf)
        if math.isinf(pure):
            return composed(pure, log_delta)
        losses = dominating_losses(pure).compose(draws)
        return composed(losses.epsilon_at(log_delta), log_delta, PURE)

    def channel(self) -> Channel | None:
        """Who knows Q(y|w) exactly, where anybody does."""
        return None

    def geometry(self) -> Geometry | None:
        """What its noise looks like, where that is of the kind that `Geometry` describes."""
        return None

    def notes(self, epochs: int | None) -> list[str]:
        """What a reader of the audit must know. `epochs`: how often noise is drawn anew, else None."""
        return []

    # ----------------------------------------------------------------------- how it is attacked

    def views(self, seed: int) -> list[View]:
        """The points of release that an attacker looks at. `seed` is of what else it knows."""
        return [word_view(self.space, self.draw)]

    def worst_view(self) -> View | None:
        """The two inputs that are told apart best, 0 and 1, where these need not be words."""
        return None

    def telling_pairs(self) -> list[Pair]:
        """Words worth attacking besides the largest pair and random ones."""
        return []

    def guesses(self, words: Tensor, generator: Generator, prior: Floats) -> dict[str, Tensor]:
        """What attackers of different kinds take these words for, after one draw of all of them."""
        return {"nearest": self.draw(words, generator)}

    # ------------------------------------------------------------------- what a classifier may read

    @classmethod
    def check_undoing(cls, how: str) -> None:
        """One line where `classify.debias=how` cannot undo its noise, before any work is done."""
        if how not in cls.undoes:
            raise TrlapError(
                f"classify.debias={how}: the channel of mechanism={cls.name} is not known in closed "
                "form, only those of krr, srr, crr; set it to none"
            )

    def decode(self, vectors: Vectors, how: str) -> tuple[Reading, Reading]:
        """The readings of private and of original words, with the noise undone as `how` says."""
        if not self.private:
            plain = Reading.plain(vectors)
            return plain, plain
        raise TrlapError(
            f"classify.debias={how}: the channel of mechanism={self.name} is not known in closed "
            "form; use mechanism=krr, srr or crr, or classify.debias=none"
        )


def composed(epsilon: float, log_delta: float, method: str = LOSSES) -> Composed:
    """A composed ε, with how it was found."""
    # 10⁻⁶ is −6, not −5.999999999999999
    log10_delta = round(log_to_log10(log_delta), 12)
    return Composed(epsilon, log10_delta, INFINITE if math.isinf(epsilon) else method)


class VectorMechanism(Mechanism):
    """Clip, add noise, project. The guarantee is the noisy vector's; the word's follows from it.

    The worst case is over all pairs of clipped vectors, ‖s‖₂ ≤ 2C. `difference` asks for one pair: the
    difference s of its clipped vectors.
    """

    point = "vector"

    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        return self.space.nearest(self.perturb(words, generator))

    def perturb(self, words: Tensor, generator: Generator) -> Tensor:
        """The noisy vectors, before projection."""
        return self.space.vectors[words] + self.noise(len(words), generator)

    @abstractmethod
    def noise(self, count: int, generator: Generator) -> Tensor:
        """`count` draws of the noise, one a row."""

    @abstractmethod
    def log_delta(self, epsilon: float, difference: Floats | None = None) -> float: ...

    @abstractmethod
    def epsilon_at(self, log_delta: float, difference: Floats | None = None) -> float: ...

    def pair_log_delta(self, epsilon: float, first: int, second: int) -> float:
        return self.log_delta(epsilon, self.difference(first, second))

    def pair_epsilon_at(self, log_delta: float, first: int, second: int) -> float:
        return self.epsilon_at(log_delta, self.difference(first, second))

    def epsilon_at_distance(self, log_delta: float, distance: float) -> float:
        """Here the norm is that of the coordinates."""
        return self.epsilon_at(log_delta, np.eye(1, self.dimension)[0] * distance)

    def notes(self, epochs: int | None) -> list[str]:
        return ["exact values are the noisy vector's; for the projected word they are upper bounds"]

    def views(self, seed: int) -> list[View]:
        vector = vector_view(self.space, self.perturb, self.geometry())
        return [vector, word_view(self.space, self.draw)]

    def worst_view(self) -> View | None:
        """The worst two clipped vectors."""
        noise = self.geometry()
        if noise is None:
            return None
        return centres_view(noise, noise.worst_pair(self.clip, self.dimension), self.noise)

    def telling_pairs(self) -> list[Pair]:
        first, second = most_visible(self.space)
        return [Pair(first, second, "most visible in projected words")]

    def guesses(self, words: Tensor, generator: Generator, prior: Floats) -> dict[str, Tensor]:
        """The nearest centre, and the Bayes-optimal word, with and without the support test."""
        noise = self.geometry()
        if noise is None:
            return super().guesses(words, generator, prior)
        noisy = self.perturb(words, generator)
        log_prior = torch.from_numpy(np.log(np.maximum(prior, 1e-300)))
        attackers = {"nearest": noise.nearest(noisy)}
        likelihood = noise.log_likelihood(noisy, support=False).cpu()
        if noise.bounded:
            attackers["bayes_without_support"] = (likelihood + log_prior).argmax(1)
            likelihood[noise.outside(noisy).cpu()] = -torch.inf
        return attackers | {"bayes": (likelihood + log_prior).argmax(1)}


class WordMechanism(Mechanism):
    """Draws the word directly from Q(y|w). The worst case is over all pairs of vocabulary words."""

    @abstractmethod
    def log_probabilities(self, words: Tensor) -> Tensor:
        """ln Q(y|w), exactly, in float64: a row for each word, a column for each y."""

    def channel(self) -> Channel:
        return self

    def pair_log_delta(self, epsilon: float, first: int, second: int) -> float:
        """From the two rows of Q."""
        p, q = self._rows_of(first, second)
        return max(row_log_delta(p, q, epsilon), row_log_delta(q, p, epsilon))

    def pair_epsilon_at(self, log_delta: float, first: int, second: int) -> float:
        """From the two rows of Q."""
        p, q = self._rows_of(first, second)
        return max(row_epsilon(p, q, log_delta), row_epsilon(q, p, log_delta))

    def views(self, seed: int) -> list[View]:
        return [word_view(self.space, self.draw, self)]

    def _rows_of(self, first: int, second: int) -> tuple[Floats, Floats]:
        words = torch.tensor([first, second], device=self.space.device)
        p, q = self.log_probabilities(words).cpu().double().numpy()
        return p, q
