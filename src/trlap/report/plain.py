"""Plain JSON made fit to be committed and compared: without nulls, without a place of its machine."""

import re

from trlap.runs.records import Json

# of a checksum: enough to recognise a file
DIGITS = 12


def without_nulls(value: Json) -> Json:
    """The same objects without the keys that are null."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


def with_equal_numbers(value: Json) -> Json:
    """5 for 5.0: YAML tells them apart, and a key that is typed on one day may not be on another."""
    if isinstance(value, dict):
        return {key: with_equal_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_equal_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def without_paths(value: Json) -> Json:
    """Files and folders by their last name, in a command too; checksums cut."""
    if isinstance(value, dict):
        return {key: without_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_paths(item) for item in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"""(?<![^\s='"])(?:file:|~|\.\.)?/(?:[^\s'"/]*/)*""", "", value)
    return re.sub(rf"\b([0-9a-f]{{{DIGITS}}})[0-9a-f]{{28,}}\b", r"\1", value)
