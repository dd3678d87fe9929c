"""No code from a config: what a command line or a YAML file can make Python call is a short list.

Hydra calls whatever `_target_` names, when it starts and before any code of ours; Python's logging calls what
its config names, and writes files wherever it says; a search path `pkg://` imports a package. Every config is
looked at as soon as it is composed, from wherever its parts came, and names that are not on the list below are
refused. Names are compared as a whole: `hydra.core.utils.os.system` begins like one of Hydra's own and is
none. Logging of Hydra's is not to be set at all, since every run has a log of its own. Packages are searched
for configs only if they are Hydra's.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra.core.config_search_path import ConfigSearchPath
from omegaconf import BooleanNode, Container, DictConfig, FloatNode, IntegerNode, OmegaConf

from trlap.config.epsilon import check_body
from trlap.errors import TrlapError

# launchers, sweepers and callbacks of Hydra and of its plugins
TARGET = re.compile(
    r"(hydra|hydra_plugins)(\.[a-z_][a-z0-9_]*)+\.[A-Z]\w*(Launcher|Sweeper|Callback)"
)
CALLS = ("_target_", "_args_", "_partial_", "_recursive_", "_convert_")
# of these Hydra itself makes use, and they name nothing
SETTINGS = ("_recursive_", "_convert_")
LOGGING = ("job_logging", "hydra_logging")
# what `none` of these groups composes to: nothing is logged
NO_LOGGING = {"version": 1, "root": None, "disable_existing_loggers": False}
# `${name:…}`: others, as `oc.decode`, can make a `_target_` out of text
RESOLVERS = ("hydra", "now", "oc.env", "python_version")
INTERPOLATION = re.compile(r"(?=\$\{([^:}]*)([:}]))")
OF_THIS_MACHINE = re.compile(r"\$\{\s*(oc\.env|hydra)\s*:")
RERUN = "--experimental-rerun"

Path = tuple[str, ...]


def guard() -> None:
    """From now on Hydra composes nothing that names code, whatever it is asked for."""
    compose = ConfigLoaderImpl.load_configuration
    if hasattr(compose, "__wrapped__"):
        return

    @functools.wraps(compose)
    def guarded(self: ConfigLoaderImpl, *arguments: Any, **keywords: Any) -> DictConfig:
        composed = compose(self, *arguments, **keywords)
        refuse_code(composed)
        _refuse_several(self, composed)
        check_body(composed)
        return composed

    ConfigLoaderImpl.load_configuration = guarded  # type: ignore[method-assign]
    _guard_packages()


def _guard_packages() -> None:
    """A package that is searched for configs is imported: only Hydra's own and its plugins' are."""
    search = ConfigRepository.initialize_sources

    @functools.wraps(search)
    def guarded(self: ConfigRepository, config_search_path: ConfigSearchPath) -> None:
        for item in config_search_path.get_path():
            scheme, _, package = (item.path or "").partition("://")
            first = package.replace("/", ".").partition(".")[0]
            if scheme == "pkg" and first not in ("hydra", "hydra_plugins"):
                raise TrlapError(
                    f"{item.path}: it would import a package; give a folder, as file://…"
                )
        search(self, config_search_path)

    ConfigRepository.initialize_sources = guarded  # type: ignore[method-assign]


def check_command(words: Sequence[str]) -> None:
    """Of a command line: what acts before a config is composed."""
    for word in words:
        # argparse takes any beginning of it, too
        option = word.partition("=")[0]
        if len(option) > 2 and RERUN.startswith(option):
            raise TrlapError(f"{RERUN}: it would run what a pickle says; give the keys instead")
        if "pkg:" in word.replace("\\", ""):
            raise TrlapError(f"{word}: it would import a package; give a folder, as file://…")


def refuse_code(composed: Container) -> None:
    """One line for whatever names code that is not on the lists, Hydra's own part included."""
    plain: Any = OmegaConf.to_container(composed, resolve=False)
    for group in LOGGING:
        if plain.get("hydra", {}).get(group, NO_LOGGING) != NO_LOGGING:
            raise TrlapError(
                f"hydra.{group}: it is not to be set; every run has a log, and -v shows it"
            )
    for path, value in _leaves(plain):
        if path[0] == "hydra":
            _check_hydra(path, value)
        elif called := [key for key in path if key in CALLS]:
            raise TrlapError(f"{'.'.join(path)}: no config names code; leave {called[0]} out")
        if isinstance(value, str):
            _check_interpolation(path, value)


def refuse_environment(composed: DictConfig, prefix: str = "", kind: Any = None) -> None:
    """Text from the environment would stand in every result; numbers and places may come from there."""
    from trlap.config import schema

    kind = kind or schema.Run
    places = {name for name, item in _fields(kind).items() if item.metadata.get("path")}
    for name in map(str, composed):
        node, key = composed._get_node(name), prefix + name
        if not isinstance(node, Container) or node._is_interpolation():
            number = isinstance(node, IntegerNode | FloatNode | BooleanNode)
            if not number and name not in places and OF_THIS_MACHINE.search(str(node._value())):  # type: ignore[union-attr]
                raise TrlapError(
                    f"{key}: what the environment holds would be kept in the result; write it out"
                )
        elif isinstance(node, DictConfig) and not node._is_none() and not node._is_missing():
            part = _fields(kind)[name].type if name in _fields(kind) else object
            refuse_environment(node, f"{key}.", part)


def _fields(kind: Any) -> Any:
    return getattr(kind, "__dataclass_fields__", {})


def _refuse_several(loader: ConfigLoaderImpl, composed: DictConfig) -> None:
    """Two options of one group would be mixed into a third that nobody has described."""
    for override in composed.hydra.overrides.task:
        key, _, value = override.partition("=")
        if value.startswith("[") and key in loader.list_groups(""):
            raise TrlapError(f"{override}: choose one; -m {key}=a,b runs one after the other")


def _check_hydra(path: Path, value: Any) -> None:
    key, name = path[-1], ".".join(path)
    if called := [part for part in path if part in CALLS and part not in SETTINGS]:
        if key == "_target_" and (value is None or TARGET.fullmatch(str(value))):
            return
        raise TrlapError(
            f"{name}={value}: {called[0]} may name launchers, sweepers and callbacks of Hydra alone"
        )


def _check_interpolation(path: Path, value: str) -> None:
    for name, sign in INTERPOLATION.findall(value):
        if "$" in name or (sign == ":" and name.strip() not in RESOLVERS):
            raise TrlapError(
                f"{'.'.join(path)}={value}: ${{{name}{sign} is not to be used here; write it out"
            )


def _leaves(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value with the keys that lead to it; of what is empty, that."""
    parts: Any = ()
    if isinstance(tree, dict):
        parts = tree.items()
    elif isinstance(tree, list):
        parts = enumerate(tree)
    for key, value in parts:
        yield from _leaves(value, (*path, str(key)))
    if path and not parts:
        yield path, tree
