"""No place of a machine is kept: of a file or folder the last name alone, in configs, commands and errors.

Which keys are places is said beside them in the schema (`place`, `model_place`). What a file holds counts in
a run's hash, never where it lies, so that nothing is lost but the place.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from trlap.errors import TrlapError

# Folders from the root or from a home, after a blank, a sign or a quote; the last part is not in it.
FOLDERS = re.compile(r"""(?<![^\s='"`(\[{,])(?:file:/*|~[\w.-]*|\.\.?)?/(?:[^\s'"`/:,]*/)*""")


def last_name(value: str, kind: str = "place") -> str:
    """The last name of a file or folder. A model's name on the hub is none: `owner/model` stays."""
    if kind == "model" and not is_place(value) and not Path(value).is_dir():
        return value
    name = Path(value).name
    # `.` and `..` stand for folders that have names
    return Path(value).resolve().name if name in ("", "..") else name


def is_place(model: str) -> bool:
    """Whether a model's name can only be that of a folder: the hub has `model` and `owner/model`."""
    return model.startswith(("/", ".", "~")) or model.count("/") > 1


def check_model(key: str, model: str | None) -> None:
    """One line for a folder that holds no model, before all that is in it is read for its checksum."""
    if model is None or not (is_place(model) or Path(model).is_dir()):
        return
    if not Path(model).expanduser().is_dir():
        raise TrlapError(f"{key}={model}: there is no such folder")
    if not (Path(model).expanduser() / "config.json").is_file():
        raise TrlapError(
            f"{key}={model}: there is no model in this folder, as it has no config.json"
        )


def without_places(composed: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """A part of a composed config, declared by `kind`, in which every place is its last name."""
    sorts = {item.name: item.metadata.get("path") for item in fields(kind)}
    hints = get_type_hints(kind)
    named: dict[str, Any] = {}
    for key, value in composed.items():
        if (sort := sorts.get(key)) and isinstance(value, str):
            named[key] = last_name(value, sort)
        elif is_dataclass(hints.get(key)) and isinstance(value, Mapping):
            named[key] = without_places(value, hints[key])
        else:
            named[key] = value
    return named


def places_in(record: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The keys of a typed config that name places, and these as they were given."""
    for item in fields(record):
        value = getattr(record, item.name)
        if item.metadata.get("path") and isinstance(value, str):
            yield prefix + item.name, value
        elif is_dataclass(value) and not isinstance(value, type):
            yield from places_in(value, f"{prefix}{item.name}.")


def hidden(text: str, places: Iterable[str] = ()) -> str:
    """A text without places: those that are known and all that look like one become their last names.

    Files of installed packages, which tracebacks name, are told from where Python finds them.
    """
    for place in sorted(set(places), key=len, reverse=True):
        if "/" in place:
            text = text.replace(place, last_name(place))
    for root in _roots():
        text = text.replace(root, "")
    return FOLDERS.sub("", text)


@cache
def _roots() -> list[str]:
    """Where Python finds modules, and the folder of the command; the longest first."""
    roots = {str(Path(entry).absolute()) for entry in [*sys.path, "."]}
    roots |= {str(Path(root).resolve()) for root in roots}
    return [f"{root}/" for root in sorted(roots, key=len, reverse=True) if len(root) > 1]
