"""Mechanisms: one file each, found by the file's name.

A mechanism takes words and gives words. A *vector* mechanism adds noise to the word's clipped vector and
projects to the nearest word (Algorithm 1); a *word* mechanism draws the word directly. Both state their
guarantee, so that the pipeline, the audit and the command line treat them alike.

To add one: a file here with a dataclass named `Mechanism`, a YAML in `conf/mechanism/` with its own keys,
a test in `tests/mechanism/`.
"""

import importlib
import math
import pkgutil
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from torch import Generator, Tensor

from trlap.config.schema import check_range
from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.privacy import noise as privacy

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Claim:
    """What a mechanism's authors say it guarantees for one word."""

    notion: str  # "none", "ε-DP", "(ε, δ)-DP", or "metric DP": ε times a distance
    epsilon: float
    log_delta: float = -math.inf  # natural logarithm
    distance: str | None = None  # metric DP: which one


@dataclass(kw_only=True)
class Base(ABC):
    """What every mechanism is told. Fields that a subclass adds are its own keys in `conf/mechanism/`."""

    space: Space
    epsilon: float
    delta: float | str = "paper"  # "paper": 4^-d
    clip: float = 1.0
    calibration: str = "published"

    @property
    def name(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    @property
    def dimension(self) -> int:
        return self.space.dimension

    @property
    def log_delta_target(self) -> float:
        """ln δ asked for; the paper's choice is δ = 4^-d."""
        if isinstance(self.delta, str):
            return -self.dimension * math.log(4)
        return math.log(self.delta)

    @abstractmethod
    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        """A private word for each word, by index."""

    @abstractmethod
    def claimed(self) -> Claim:
        """The guarantee as the mechanism's authors state it, true or not."""

    @abstractmethod
    def log_delta(self, epsilon: float) -> float:
        """ln δ(ε) under canonical word-level DP, in the worst case over what may be put in."""

    @abstractmethod
    def epsilon_at(self, log_delta: float) -> float:
        """The smallest ε at that δ, in the worst case; inf where there is none."""

    def composed_epsilon(self, log_delta: float, draws: int) -> float:
        """The ε at that δ of a text of `draws` words. Here: what any mechanism with this one's pure ε
        can lose at worst (Kairouz, Oh & Viswanath 2015); a mechanism that knows better overrides it.
        """
        pure = self.epsilon_at(-math.inf)
        return pure if math.isinf(pure) else privacy.composed_epsilon(log_delta, pure, draws)


class VectorMechanism(Base):
    """Clip, add noise, project. The guarantee is the noisy vector's; the word's follows from it.

    The worst case is over all pairs of clipped vectors, ‖s‖₂ ≤ 2C. `difference` asks for one pair: the
    difference s of its clipped vectors.
    """

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


class WordMechanism(Base):
    """Draws the word directly from Q(y|w). The worst case is over all pairs of vocabulary words."""

    @abstractmethod
    def log_probabilities(self, words: Tensor) -> Tensor:
        """ln Q(y|w), exactly, in float64: a row for each word, a column for each y."""


_OTHER = ("base", "registry")
NAMES = sorted(
    m.name
    for m in pkgutil.iter_modules([str(Path(__file__).parent)])
    if not m.name.startswith("_") and m.name not in _OTHER
)
COMMON = {item.name for item in fields(Base)}


def find(name: str) -> type[Base]:
    if name not in NAMES:
        raise TrlapError(f"mechanism={name}: there is none; choose from {', '.join(NAMES)}")
    module = importlib.import_module(f"{__package__}.{name}")
    return module.Mechanism


def parameters(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """A mechanism's own keys, typed and range-checked by the fields of its class."""
    own = [item for item in fields(find(name)) if item.name not in COMMON and item.init]
    schema = make_dataclass(name, [(item.name, item.type, item) for item in own])
    given = {key: value for key, value in given.items() if key != "name"}
    try:
        typed = OmegaConf.to_container(OmegaConf.merge(OmegaConf.structured(schema), given))
    except OmegaConfBaseException as error:
        reason = str(error).split("\n")[0]
        raise TrlapError(f"mechanism.{error.full_key}: {reason}") from error
    assert isinstance(typed, dict)
    for item in own:
        check_range(f"mechanism.{item.name}", typed[item.name], item.metadata)
    return {str(key): value for key, value in typed.items()}


def make(name: str, space: Space, epsilon: float, **keys: Any) -> Base:
    """A mechanism ready to draw. `keys`: delta, clip, calibration, and the mechanism's own."""
    common = {key: keys.pop(key) for key in list(keys) if key in COMMON}
    return find(name)(space=space, epsilon=epsilon, **common, **parameters(name, keys))
