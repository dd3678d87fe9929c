"""The door: what Hydra composed becomes a typed `Config`, once. Behind it nobody sees a DictConfig."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, get_type_hints

from omegaconf import DictConfig, OmegaConf

from trlap.config import keys, schema
from trlap.config.code import refuse_code, refuse_environment
from trlap.config.messages import no_such_key
from trlap.config.places import places_in, without_places
from trlap.config.protocols import PROTOCOLS, Protocol
from trlap.config.ranges import check_name, check_range, check_ranges
from trlap.errors import TrlapError
from trlap.mechanisms.registry import MECHANISMS, canonical, check_epsilon, check_keys
from trlap.models.registry import CLASSIFIERS, REWRITERS

Keys = TypeVar("Keys")
Plain = dict[str, Any]
# whose options declare keys of their own
GROUPS = ("mechanism", "model", "classifier", "protocol")


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
    """What a run is told. `composed` is the same as Hydra composed it, for config.yaml and W&B, but for the
    places of files and folders, of which it has the last names.

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

    @property
    def places(self) -> dict[str, str]:
        """The keys that name files and folders of this machine, and these as they were given."""
        places = dict(places_in(self))
        for group in ("model", "classifier"):
            places |= dict(places_in(getattr(self, group).keys, f"{group}."))
        return places

    def values(self, *paths: str) -> Plain:
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
    _check_values(composed, schema.Run)
    plain = _plain(composed)
    for group in GROUPS:
        check_name(f"{group}.name", plain[group].get("name"))
    name = plain["protocol"]["name"]
    check_range("protocol.name", name, {"choices": tuple(PROTOCOLS)})
    protocol = PROTOCOLS[name]
    typed = _typed(composed, schema.Run)
    values = {item.name: getattr(typed, item.name) for item in fields(typed)}
    mechanism, epsilon = _mechanism(plain["mechanism"], typed)
    chosen = {
        "model": _choice("model", REWRITERS, plain["model"], protocol),
        "classifier": _choice("classifier", CLASSIFIERS, plain["classifier"], protocol),
    }
    values |= {"mechanism": mechanism, "epsilon": epsilon, "protocol": protocol, **chosen}
    named = without_places(plain, schema.Run)
    named |= {
        group: without_places(plain[group], type(choice.keys)) for group, choice in chosen.items()
    }
    _refuse_nan(named)
    return Config(**values, composed=named)


def _refuse_nan(plain: Plain, prefix: str = "") -> None:
    """No result can hold it; ranges of a mechanism's keys are asked for only when there is work."""
    for key, value in plain.items():
        if isinstance(value, dict):
            _refuse_nan(value, f"{prefix}{key}.")
        elif any(item != item for item in (value if isinstance(value, list) else [value])):
            raise TrlapError(f"{prefix}{key}=nan: must be a number")


def _mechanism(asked: Plain, run: schema.Run) -> tuple[Choice[Mapping[str, Any]], float]:
    own = {key: value for key, value in asked.items() if key != "name"}
    MECHANISMS.require(asked["name"])
    check_epsilon(run.epsilon)
    name, counted, budget = canonical(asked["name"], own, run.epsilon)
    if own and not counted:
        # what does not count is checked all the same, and by nobody else
        check_keys(asked["name"], own, run.dataset.vocabulary_size, run.embedding.dimension)
    return Choice(name, name, counted), budget


def privatize_from(composed: DictConfig) -> schema.Privatize:
    """What scripts/privatize.py is told, checked. `mechanism` is a mapping with its name and own keys."""
    _check_values(composed, schema.Privatize)
    check_name("mechanism.name", composed.mechanism.name)
    typed = _typed(composed, schema.Privatize)
    # public=FILE is short for public.path=FILE
    given = {"path": typed.public} if isinstance(typed.public, str) else typed.public or {}
    if not isinstance(given, dict):
        raise TrlapError("public: give a file of public texts, as in public=public.txt")
    typed.public = keys.typed("public", schema.OwnPublic, given)
    return typed


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
    kind: str = name if given.get("kind") is None else given["kind"]
    check_name(f"{group}.kind", kind)
    schema_of_kind = registry.find(kind).Keys
    known = [item.name for item in fields(schema_of_kind)]
    foreign = [key for key in protocol.sets.get(group, ()) if key not in known]
    own = {key: value for key, value in given.items() if key not in ("name", "kind", *foreign)}
    return Choice(name, kind, keys.typed(group, schema_of_kind, own))


def _check_values(composed: DictConfig, kind: type) -> None:
    refuse_code(composed)
    refuse_environment(composed, kind=kind)
    for name in _missing(composed, kind):
        raise TrlapError(f"{name}: no value given")
    for name in _unknown(composed, kind):
        raise TrlapError(no_such_key(name))
    for group in GROUPS:
        # a command that has no use for it
        if group in composed and composed[group] is None and getattr(kind, group) is None:
            continue
        if group in composed and not OmegaConf.is_dict(composed[group]):
            raise TrlapError(f"{group}={composed[group]}: choose an option, as --help lists them")
        if group in composed and "name" not in composed[group]:
            raise TrlapError(f"{group}.name: no value given")


def _missing(composed: DictConfig, kind: type, prefix: str = "") -> Iterator[str]:
    for name, hint in get_type_hints(kind).items():
        if name not in composed or OmegaConf.is_missing(composed, name):
            yield prefix + name
        elif is_dataclass(hint) and composed[name] is not None:
            yield from _missing(composed[name], hint, f"{prefix}{name}.")  # type: ignore[arg-type]


def _unknown(composed: DictConfig, kind: type, prefix: str = "") -> Iterator[str]:
    """Keys that `+key=` has added to what is declared."""
    hints = get_type_hints(kind)
    for name in map(str, composed):
        hint = hints.get(name)
        if hint is None:
            yield prefix + name
        elif is_dataclass(hint) and OmegaConf.is_dict(composed._get_node(name)):
            yield from _unknown(composed[name], hint, f"{prefix}{name}.")  # type: ignore[arg-type]
