"""How mechanisms are shown: each says so itself, and one that is not installed here gets a look of its own."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from trlap.errors import TrlapError
from trlap.mechanisms.registry import find, look


@dataclass(frozen=True)
class Appearance:
    """One colour, marker and dash throughout, so that figures also read in grey.

    `label` is the mechanism's name in the paper's tables. `calibrated`: `calibration` says anything of it.
    """

    colour: str
    marker: str
    dash: str
    label: str
    calibrated: bool


@cache
def appearance(name: str) -> Appearance:
    """Results of a mechanism may be read where its package is not installed."""
    try:
        label, calibrated = find(name).label, find(name).calibrated
    except TrlapError:
        label, calibrated = name, False
    drawn = look(name)
    return Appearance(drawn.colour, drawn.marker, drawn.dash, label, calibrated)


def in_order(names: Iterable[str]) -> list[str]:
    """As legends have them: each says its place, and all others follow by name."""
    return sorted(set(names), key=lambda name: (look(name).order, name))
