"""JSON Lines: an object a line, of which only the strings in the text columns change.

Everything else in a line is written back as it stands: numbers, the order of keys, spaces, escapes. A null
stays a null.
"""

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from trlap.privatize.columns import Columns, missing
from trlap.privatize.lines import Lines, Row, has_surrogate

_SPACE = re.compile(r"[ \t\n\r]*")


class Member(NamedTuple):
    """A key of an object, and its value: from where to where it stands in the line."""

    key: str
    value: Any
    start: int
    end: int


class NotJson(Exception):
    """Without a message, which would hold the line."""


def _digits(number: str) -> int:
    """What a number is does not matter, and Python refuses to read long ones."""
    return 0


_decoder = json.JSONDecoder(parse_int=_digits, parse_float=_digits, parse_constant=_digits)
_scan = _decoder.scan_once  # type: ignore[attr-defined]


class JsonLines:
    """The columns are keys of the outermost object."""

    def __init__(self, columns: Columns) -> None:
        self.names = columns.names

    def rows(self, lines: Lines) -> Iterator[Row]:
        for line in lines:
            yield self._row(line, lines) if line.strip(" \t\r\n") else Row((line,), (), ())

    def _row(self, line: str, lines: Lines) -> Row:
        members = _members(line)
        if members is None:
            raise lines.error("not a JSON object")
        chosen = [member for member in members if member.key in self.names]
        keys = [member.key for member in chosen]
        for name in self.names:
            if name not in keys:
                raise lines.error(missing(name, [member.key for member in members]))
        if len(keys) > len(self.names):
            raise lines.error("a text column stands there twice")
        gaps, texts, raw, last = [], [], [], 0
        for _, value, start, end in chosen:
            if value is None:
                continue
            if not isinstance(value, str):
                raise lines.error("a text column holds something that is not text")
            if has_surrogate(value):
                raise lines.error("the text holds half a character (a lone surrogate)")
            gaps.append(line[last:start])
            texts.append(value)
            raw.append(line[start:end])
            last = end
        return Row([*gaps, line[last:]], texts, raw)

    def encode(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=False)


def _members(line: str) -> list[Member] | None:
    """The keys and values of the object that a line is, in their order; None where it is no object."""
    try:
        return list(_walk(line))
    except (NotJson, ValueError, RecursionError, IndexError):
        return None


def _walk(line: str) -> Iterator[Member]:
    place = _after(line, _blank(line, 0), "{")
    if line.startswith("}", place):
        _finish(line, place)
        return
    while True:
        place = _after(line, place, '"', spaces=False)
        key, place = scanstring(line, place, True)
        start = _after(line, _blank(line, place), ":")
        value, end = _value(line, start)
        yield Member(key, value, start, end)
        place = _blank(line, end)
        if line.startswith("}", place):
            _finish(line, place)
            return
        place = _after(line, place, ",")


def _value(line: str, start: int) -> tuple[Any, int]:
    # a StopIteration would end the generator without a word
    try:
        return _scan(line, start)
    except StopIteration:
        raise NotJson from None


def _blank(line: str, place: int) -> int:
    """The first place that is no space."""
    space = _SPACE.match(line, place)
    assert space is not None
    return space.end()


def _after(line: str, place: int, sign: str, spaces: bool = True) -> int:
    """Where to go on after a sign that has to stand at a place."""
    if not line.startswith(sign, place):
        raise NotJson
    return _blank(line, place + 1) if spaces else place + 1


def _finish(line: str, place: int) -> None:
    """Nothing follows the brace at a place."""
    if _blank(line, place + 1) != len(line):
        raise NotJson
