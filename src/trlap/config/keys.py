"""Keys that a thing declares for itself: types and ranges stand in its dataclass, values in its YAML.

A mechanism, a model and a classifier each have keys of their own. `typed` turns what Hydra composed into
an instance, so that adding such a thing needs no change of the schema.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import Field, fields, make_dataclass
from typing import Any, TypeVar

from omegaconf import MISSING, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from trlap.config.ranges import check_ranges
from trlap.errors import TrlapError

Keys = TypeVar("Keys")


def typed(group: str, schema: type[Keys], given: Mapping[str, Any]) -> Keys:
    """An instance of `schema`, a dataclass, from the keys of a config group."""
    known = [item.name for item in fields(schema)]  # type: ignore[arg-type]
    if unknown := [key for key in given if key not in known]:
        near = difflib.get_close_matches(unknown[0], known, n=1)
        hint = (
            f"did you mean {group}.{near[0]}?" if near else f"it has {', '.join(known) or 'none'}"
        )
        raise TrlapError(f"no such key: {group}.{unknown[0]}; {hint}")
    try:
        instance = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(schema), dict(given)))
    except OmegaConfBaseException as error:
        reason = str(error).split("\n")[0]
        raise TrlapError(f"{group}.{error.full_key}: {reason}") from error
    assert isinstance(instance, schema)
    check_ranges(instance, f"{group}.")
    return instance


def schema_of(name: str, items: Iterable[Field[Any]]) -> type[Any]:
    """A dataclass of some fields of another: a mechanism's own keys, without what every one is told."""
    return make_dataclass(name, [(item.name, item.type, _copy(item)) for item in items])


def _copy(item: Field[Any]) -> Any:
    from dataclasses import field

    if item.default_factory is not NO_DEFAULT:
        return field(default_factory=item.default_factory, metadata=item.metadata)
    default = MISSING if item.default is NO_DEFAULT else item.default
    return field(default=default, metadata=item.metadata)
