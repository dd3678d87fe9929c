"""The door: what Hydra composed becomes a typed `Config`, once. Behind it nobody sees a DictConfig."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, get_type_hints

from omegaconf import DictConfig, OmegaConf

from trlap.config import keys, schema
from trlap.config.protocols import PROTOCOLS, Protocol
from trlap.config.ranges import check_range, check_ranges
from trlap.errors import TrlapError
from trlap.mechanisms.registry import canonical
from trlap.models.registry import CLASSIFIERS, REWRITERS

Keys = TypeVar("Keys")
Plain = dict[str, Any]


@dataclass(frozen=True)
class Choice(Generic[Keys]):
    """An option of a group whose class declares the keys: a preset's `name`, the class's `kind`."""

    name: str
    kind: str
    keys: Keys

    def plain(self) -> Plain:
        own: Any = asdict(self.keys) if is_dataclass(self.keys) else self.keys  # type: ignore[arg-type]
        kind = {} if self.kind == self.name else {"kind": self.kind}
        return {"name": self.name, **kind, **own}


@dataclass
class Config(schema.Run):
    """What a run is told. `composed` is the same as Hydra composed it, for config.yaml and W&B.

    mechanism=none and epsilon=inf are one thing, so that `mechanism` and `epsilon` here are those of it.
    """

    mechanism: Choice[Mapping[str, Any]] = field(kw_only=True)
    model: Choice[Any] = field(kw_only=True)
    classifier: Choice[Any] = field(kw_only=True)
    protocol: Protocol = field(kw_only=True)
    composed: Plain = field(kw_only=True, repr=False)

    @cached_property
    def plain(self) -> Plain:
        """All keys as they count: typed, and without what cannot matter where there is no noise."""
        chosen = ("mechanism", "model", "classifier")
        known = {item.name: getattr(self, item.name) for item in fields(schema.Run)}
        known |= {name: getattr(self, name).plain() for name in chosen}
        known["protocol"] = {"name": self.protocol.name}
        return {
            name: asdict(value) if is_dataclass(value) else value  # type: ignore[arg-type]
            for name, value in known.items()
        }

    def pick(self, *paths: str) -> Plain:
        """The values of some keys, by their dotted names."""
        picked = {}
        for path in paths:
            value: Any = self.plain
            for part in path.split("."):
                value = value[part]
            picked[path] = value
        return picked


def config_from(composed: DictConfig) -> Config:
    """A run's config, checked. Raises TrlapError with one line for what a user can mend."""
    plain = _plain(composed)
    _check_values(composed, schema.Run)
    name = plain["protocol"]["name"]
    check_range("protocol.name", name, {"choices": tuple(PROTOCOLS)})
    protocol = PROTOCOLS[name]
    typed = _typed(composed, schema.Run)
    asked = plain["mechanism"]
    mechanism, own, epsilon = canonical(
        asked["name"], {key: value for key, value in asked.items() if key != "name"}, typed.epsilon
    )
    values = {item.name: getattr(typed, item.name) for item in fields(typed)}
    values |= {
        "mechanism": Choice(mechanism, mechanism, own),
        "epsilon": epsilon,
        "model": _choice("model", REWRITERS, plain["model"], protocol),
        "classifier": _choice("classifier", CLASSIFIERS, plain["classifier"], protocol),
        "protocol": protocol,
    }
    return Config(**values, composed=plain)


def privatize_from(composed: DictConfig) -> schema.Privatize:
    """What scripts/privatize.py is told, checked. `mechanism` is a mapping with its name and own keys."""
    _check_values(composed, schema.Privatize)
    return _typed(composed, schema.Privatize)


def _plain(composed: DictConfig) -> Plain:
    plain = OmegaConf.to_container(composed, resolve=True)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


Typed = TypeVar("Typed", bound=schema.Noise)


def _typed(composed: DictConfig, kind: type[Typed]) -> Typed:
    typed = OmegaConf.to_object(composed)
    assert isinstance(typed, kind)
    check_ranges(typed)
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", typed.device):
        raise TrlapError(f"device={typed.device}: must be auto, cpu, mps, cuda or cuda:N")
    return typed


def _choice(group: str, registry: Any, given: Plain, protocol: Protocol) -> Choice[Any]:
    """A protocol sets keys of the paper's model; one that does not have them is left alone."""
    name: str = given["name"]
    kind: str = given.get("kind") or name
    schema_of_kind = registry.find(kind).Keys
    known = [item.name for item in fields(schema_of_kind)]
    foreign = [key for key in protocol.sets.get(group, ()) if key not in known]
    own = {key: value for key, value in given.items() if key not in ("name", "kind", *foreign)}
    return Choice(name, kind, keys.typed(group, schema_of_kind, own))


def _check_values(composed: DictConfig, kind: type) -> None:
    for name in _missing(composed, kind):
        raise TrlapError(f"{name}: no value given")
    for group in ("mechanism", "model", "classifier", "protocol"):
        if group in composed and "name" not in composed[group]:
            raise TrlapError(f"{group}.name: no value given")


def _missing(composed: DictConfig, kind: type, prefix: str = "") -> Iterator[str]:
    for name, hint in get_type_hints(kind).items():
        if name not in composed or OmegaConf.is_missing(composed, name):
            yield prefix + name
        elif is_dataclass(hint):
            yield from _missing(composed[name], hint, f"{prefix}{name}.")  # type: ignore[arg-type]
