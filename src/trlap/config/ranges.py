"""Ranges beside the fields they belong to, and the one check that reads them."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from omegaconf import MISSING

from trlap.errors import TrlapError

# seeds, and counts of things that no machine has more of
SEED = "[0, 1e18]"
MOST = 1e12
# names become parts of file names, of which no file system takes more than 255 bytes
LONGEST_NAME = 100
LONGEST_PATH = 4096


def within(interval: str, default: Any = MISSING) -> Any:
    """A number in an interval written as in mathematics, e.g. `(0, inf]`; null passes if optional."""
    return field(default=default, metadata={"within": interval})


def one_of(*choices: str, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"choices": choices})


def word_or_number(word: str, meaning: str, interval: str) -> Any:
    """One word that stands for a number, or a number in an interval."""
    return field(default=MISSING, metadata={"word": word, "meaning": meaning, "number": interval})


def named(default: Any = MISSING) -> Any:
    """A word that becomes part of a path: it cannot lead out of the folder that it is written into."""
    return field(default=default, metadata={"name": True})


def place(default: Any = MISSING) -> Any:
    """A file or folder of this machine. What is kept of it is its last name."""
    return field(default=default, metadata={"path": "place"})


def model_place(default: Any = MISSING) -> Any:
    """A folder with a model, kept by its last name, or a name of the hub, which has no place."""
    return field(default=default, metadata={"path": "model"})


def filled(default: Any = MISSING) -> Any:
    """A text that is not empty; null passes if optional."""
    return field(default=default, metadata={"filled": True})


def distinct(default: Any = MISSING) -> Any:
    """A list in which nothing stands twice."""
    return field(default=default, metadata={"distinct": True})


def check_ranges(record: Any, prefix: str = "") -> None:
    """Test every field of a dataclass instance, nested ones too, against what was said of it."""
    for key, value, limits, hint in _leaves(record, prefix):
        _check_container(key, value, hint)
        check_range(key, value, limits)


def check_range(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    """Test one value against what was said of its field."""
    if value is not None:
        _check_text(name, value, limits)
    if "within" in limits and value is not None and not _inside(value, limits["within"]):
        raise TrlapError(f"{name}={value}: must be in {limits['within']}")
    if "choices" in limits and value is not None and value not in limits["choices"]:
        raise TrlapError(f"{name}={value}: must be one of {', '.join(limits['choices'])}")
    if "word" in limits and value != limits["word"] and not _number_in(value, limits["number"]):
        word, meaning, interval = (limits[key] for key in ("word", "meaning", "number"))
        raise TrlapError(f"{name}={value}: must be `{word}` ({meaning}) or a number in {interval}")
    if "distinct" in limits and value is not None:
        for item in value:
            if value.count(item) > 1:
                raise TrlapError(f"{name}: {item} stands there twice; once is enough")


def check_name(name: str, value: Any) -> None:
    """One line for what cannot be part of a path: separators, `..`, an empty text, a hidden file."""
    if not is_name(value) or len(value) > LONGEST_NAME or "+" in value:
        raise TrlapError(
            f"{name}={value}: must be a name of at most {LONGEST_NAME} letters, digits, - _ and ., "
            "and begin with a letter, a digit or _"
        )


def is_name(value: Any) -> bool:
    """Whether it names something in a folder, and nothing outside of it. ε = 10⁶ is eps1e+06 in a run's name."""
    return (
        isinstance(value, str)
        and re.fullmatch(r"\w[\w.+-]*", value, re.ASCII) is not None
        and ".." not in value
    )


def limits_of(schema: type, name: str) -> Mapping[str, Any]:
    """What was said of a field, for those who take the same value by another door."""
    return next(item.metadata for item in fields(schema) if item.name == name)


def _check_text(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    if "name" in limits:
        check_name(name, value)
    if ("filled" in limits or "path" in limits) and value == "":
        raise TrlapError(f"{name}: it is empty; leave it out, or give it a value")
    if "path" in limits:
        _check_path(name, value)


def _check_path(name: str, value: str) -> None:
    """What no file system takes; whether it is there is asked by whoever reads it."""
    parts = value.encode(errors="surrogateescape").split(b"/")
    if len(value) > LONGEST_PATH or max(map(len, parts)) > 255 or "\0" in value:
        raise TrlapError(f"{name}={value}: no file can have such a name")
    try:
        Path(value).expanduser()
    except RuntimeError:
        raise TrlapError(f"{name}={value}: there is no such user; write the path out") from None


def _leaves(record: Any, prefix: str) -> Iterator[tuple[str, Any, Mapping[str, Any], Any]]:
    hints = get_type_hints(type(record))
    for item in fields(record):
        value, hint = getattr(record, item.name), hints[item.name]
        if not is_dataclass(hint):
            yield prefix + item.name, value, item.metadata, hint
        elif type(value) is hint:
            yield from _leaves(value, f"{prefix}{item.name}.")
        else:
            raise TrlapError(f"{prefix}{item.name}: must be a group of keys")


def _check_container(name: str, value: Any, hint: Any) -> None:
    """Lists and mappings that came by an interpolation, or hold others, are not checked by OmegaConf."""
    hints = {get_origin(part): get_args(part) for part in (hint, *get_args(hint))}
    for kind, word in ((list, "list"), (dict, "mapping")):
        if kind not in hints or value is None:
            continue
        if not isinstance(value, kind):
            raise TrlapError(f"{name}={value}: must be a {word}")
        wanted = hints[kind][-1]
        for item in value.values() if isinstance(value, dict) else value:
            if type(item) is not wanted:
                raise TrlapError(f"{name}={value}: must be a {word} of {wanted.__name__}")
        if isinstance(value, dict) and "" in value:
            raise TrlapError(f"{name}: one of its keys is empty")


def _number_in(value: Any, interval: str) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and _inside(value, interval)


def _inside(value: float, interval: str) -> bool:
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = value >= low if interval[0] == "[" else value > low
    below = value <= high if interval[-1] == "]" else value < high
    return not math.isnan(value) and above and below
