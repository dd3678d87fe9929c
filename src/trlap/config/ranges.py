"""Ranges beside the fields they belong to, and the one check that reads them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass
from typing import Any

from omegaconf import MISSING

from trlap.errors import TrlapError


def within(interval: str, default: Any = MISSING) -> Any:
    """A number in an interval written as in mathematics, e.g. `(0, inf]`; null passes if optional."""
    return field(default=default, metadata={"within": interval})


def one_of(*choices: str, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"choices": choices})


def word_or_number(word: str, meaning: str, interval: str) -> Any:
    """One word that stands for a number, or a number in an interval."""
    return field(default=MISSING, metadata={"word": word, "meaning": meaning, "number": interval})


def check_ranges(record: Any, prefix: str = "") -> None:
    """Test every field of a dataclass instance, nested ones too, against what was said of it."""
    for name, value, limits in _leaves(record, prefix):
        check_range(name, value, limits)


def check_range(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    """Test one value against what was said of its field."""
    if "within" in limits and value is not None and not _inside(value, limits["within"]):
        raise TrlapError(f"{name}={value}: must be in {limits['within']}")
    if "choices" in limits and value is not None and value not in limits["choices"]:
        raise TrlapError(f"{name}={value}: must be one of {', '.join(limits['choices'])}")
    if "word" in limits and value != limits["word"] and not _number_in(value, limits["number"]):
        word, meaning, interval = (limits[key] for key in ("word", "meaning", "number"))
        raise TrlapError(f"{name}={value}: must be `{word}` ({meaning}) or a number in {interval}")


def limits_of(schema: type, name: str) -> Mapping[str, Any]:
    """What was said of a field, for those who take the same value by another door."""
    return next(item.metadata for item in fields(schema) if item.name == name)


def _leaves(record: Any, prefix: str) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    for item in fields(record):
        value = getattr(record, item.name)
        if is_dataclass(value):
            yield from _leaves(value, f"{prefix}{item.name}.")
        else:
            yield prefix + item.name, value, item.metadata


def _number_in(value: Any, interval: str) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and _inside(value, interval)


def _inside(value: float, interval: str) -> bool:
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = value >= low if interval[0] == "[" else value > low
    below = value <= high if interval[-1] == "]" else value < high
    return not math.isnan(value) and above and below
