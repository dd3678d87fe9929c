"""Mechanisms by name: ours, those of other packages, and those that the authors released.

Nothing heavy is imported before a mechanism is asked for: `--help` and the repeat of a finished run ask for
names alone.
"""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from trlap.errors import TrlapError
from trlap.mechanisms._look import Look
from trlap.registry import Registry

if TYPE_CHECKING:
    from trlap.embeddings.space import Space
    from trlap.mechanisms.base import Mechanism
    from trlap.mechanisms.released.base import ReleasedMechanism

MECHANISMS: "Registry[Mechanism]" = Registry("mechanism", "trlap.mechanisms", "trlap.mechanisms")
RELEASED: "Registry[ReleasedMechanism]" = Registry("mechanism", "trlap.mechanisms.released")

# a mechanism's own, with their values
Keys = dict[str, Any]

# sums over the words of a text stay floats
LARGEST_EPSILON = 1e100
# what every mechanism is without noise
NO_NOISE = "none"


def find(name: str) -> "type[Mechanism]":
    """The class of that name; an unknown one is one line with what there is."""
    return MECHANISMS.find(name)


def look(name: str) -> Look:
    """How it looks in figures. Results may be of a mechanism that is not installed here."""
    try:
        return find(name).look
    except TrlapError:
        return Look.of(name)


def check_undoing(name: str, how: str) -> None:
    """One line where `classify.debias=how` cannot undo that mechanism's noise."""
    find(name).check_undoing(how)


def canonical(name: str, keys: Mapping[str, Any], epsilon: float) -> tuple[str, Keys, float]:
    """One name for one thing: mechanism=none, and any mechanism at ε = ∞, is no noise."""
    if name == NO_NOISE or epsilon == math.inf:
        return NO_NOISE, {}, math.inf
    return name, dict(keys), epsilon


def parameters(name: str, given: Mapping[str, Any]) -> Keys:
    """A mechanism's own keys, typed and range-checked by the fields of its class."""
    from trlap.config.keys import schema_of, typed

    names = own_keys(name)
    schema = schema_of(name, [item for item in fields(find(name)) if item.name in names])
    keys = typed("mechanism", schema, {key: given[key] for key in given if key != "name"})
    return {key: getattr(keys, key) for key in names}


def check_keys(name: str, given: Mapping[str, Any], words: int, dimension: int) -> None:
    """All that can be known of a mechanism's own keys before there is a vocabulary, of at most `words`."""
    find(name).check_keys(parameters(name, given), words, dimension)


def own_keys(name: str) -> tuple[str, ...]:
    """What a mechanism is told beyond what every one is."""
    common = _common_keys()
    return tuple(item.name for item in fields(find(name)) if item.init and item.name not in common)


def make(name: str, space: "Space", epsilon: float, **keys: Any) -> "Mechanism":
    """A mechanism ready to draw. `keys`: delta, clip, calibration, and the mechanism's own."""
    common = {key: keys.pop(key) for key in _common_keys() if key in keys}
    _check(epsilon=epsilon, **common)
    return find(name)(space=space, epsilon=epsilon, **common, **parameters(name, keys))


def make_released(name: str, space: "Space", epsilon: float, clip: float) -> "ReleasedMechanism":
    """What the authors' code does under that name, on the unclipped vectors of `space`."""
    _check(epsilon=epsilon, clip=clip)
    return RELEASED.find(name)(space=space, epsilon=epsilon, clip=clip)


def check_epsilon(epsilon: float) -> None:
    """One line for a finite ε beyond what can be computed with."""
    if LARGEST_EPSILON < epsilon < math.inf:
        raise TrlapError(f"epsilon={epsilon:g}: too large to compute with; inf is no noise")


def _check(**keys: Any) -> None:
    """The ranges of the keys that every mechanism is told, for those who come by Python."""
    from trlap.config import schema
    from trlap.config.ranges import check_range, limits_of

    for key, value in keys.items():
        check_range(key, value, limits_of(schema.Noise, key))
    check_epsilon(keys["epsilon"])


def _common_keys() -> tuple[str, ...]:
    from trlap.mechanisms.base import Mechanism

    return tuple(item.name for item in fields(Mechanism))
