"""Frozen dataclasses to strict JSON and back, by their type hints: one way for every record on disk.

Infinities are the strings "inf" and "-inf". A field made by `absent()` is left out where it is null; all
others are written, so that null stands where nothing is known. Whoever wants short rows may leave nulls
out: they are read as null. A key that the record does not have is an error of whoever wrote the file, and is
said.
"""

import dataclasses
import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from trlap.errors import TrlapError

Json = Any  # what JSON can hold: null, truths, numbers, strings, lists and objects of these
Record = TypeVar("Record")


def absent(default: Any = None) -> Any:
    """A field that is not written where it has its default."""
    return dataclasses.field(default=default, metadata={"absent": True})


def to_json(record: Any) -> Json:
    """A record as plain lists and dictionaries. Infinities are turned to text when it is written."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {
            item.name: to_json(value)
            for item in dataclasses.fields(record)
            if not ((value := getattr(record, item.name)) is None and item.metadata.get("absent"))
        }
    if isinstance(record, Mapping):
        return {str(key): to_json(value) for key, value in record.items()}
    if isinstance(record, Sequence) and not isinstance(record, str):
        return [to_json(value) for value in record]
    return record


def from_json(kind: type[Record], value: Json) -> Record:
    """The record of that kind. `value` is what `json.loads` gave."""
    record: Record = _read(kind, value, kind.__name__)
    return record


def _read(kind: Any, value: Json, where: str) -> Any:
    origin = get_origin(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        options = [option for option in get_args(kind) if option is not type(None)]
        if value is None and len(options) < len(get_args(kind)):
            return None
        return _read(options[0], value, where) if len(options) == 1 else value
    if dataclasses.is_dataclass(kind):
        return _read_record(kind, value, where)
    if origin is dict:
        of = get_args(kind)[1]
        _require(isinstance(value, Mapping), where, "an object")
        return {key: _read(of, item, f"{where}.{key}") for key, item in value.items()}
    if origin in (list, tuple):
        of = get_args(kind)[0]
        _require(isinstance(value, list), where, "a list")
        return origin(_read(of, item, where) for item in value)
    return _read_plain(kind, value, where)


def _read_plain(kind: Any, value: Json, where: str) -> Any:
    if kind is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        _require(number or value in ("inf", "-inf"), where, "a number")
        return float(value)
    if kind is int:
        _require(isinstance(value, int) and not isinstance(value, bool), where, "a whole number")
    elif isinstance(kind, type):
        _require(isinstance(value, kind), where, {str: "text", bool: "true or false"}.get(kind, ""))
    return value


def _require(right: bool, where: str, what: str) -> None:
    if not right:
        raise TrlapError(f"{where}: not {what}")


def _read_record(kind: Any, value: Json, where: str) -> Any:
    hints = _hints(kind)
    if not isinstance(value, Mapping):
        raise TrlapError(f"{where}: not an object")
    if unknown := [key for key in value if key not in hints]:
        raise TrlapError(f"{where}: unknown key {unknown[0]!r}")
    known = {key: _read(hints[key], item, f"{where}.{key}") for key, item in value.items()}
    nulls = {name: None for name in _nullable(kind) if name not in known}
    try:
        return kind(**known, **nulls)
    except TypeError as error:
        raise TrlapError(f"{where}: {error}") from error


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _nullable(kind: Any) -> list[str]:
    """Fields that may be null and have no default."""
    return [
        item.name
        for item in dataclasses.fields(kind)
        if item.default is dataclasses.MISSING
        and item.default_factory is dataclasses.MISSING
        and type(None) in get_args(_hints(kind)[item.name])
    ]
