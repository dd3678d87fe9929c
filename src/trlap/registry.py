"""Things of one kind, by name: the files of one of our folders, then the entry points of other packages.

A kind has a folder with `base.py`, its contract, and one file for each thing, which holds a class with that
`name`. Names that begin with `_` are parts that several share. Another package offers a thing by an entry
point: `[project.entry-points."trlap.mechanisms"]`, `mine = "my_package.mine:Mine"`.

Nothing is imported before it is asked for, so that `--help` and the repeat of a finished run stay fast.
"""

import difflib
import importlib
import pkgutil
import re
from functools import cache, cached_property
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from trlap.errors import TrlapError

CONTRACT = ("base", "registry")


class Named(Protocol):
    """What the registry asks of a thing."""

    name: ClassVar[str]


Thing = TypeVar("Thing", bound=Named)


@cache
def _all_entry_points() -> Any:
    """Every installed package is looked at, which takes longer than all else here: once is enough.

    Python 3.11 and 3.12 give different types, which both have `select`.
    """
    return entry_points()


def offered(group: str) -> EntryPoints:
    """The entry points of a group, of all installed packages."""
    points: EntryPoints = _all_entry_points().select(group=group)
    return points


class Registry(Generic[Thing]):
    """`kind` is the word for messages and configs, `folder` our package, `group` the entry points' group.

    `says` are the class attributes that the contract asks for and has no default of.
    """

    def __init__(
        self, kind: str, folder: str, group: str | None = None, says: tuple[str, ...] = ()
    ) -> None:
        self.kind, self.folder, self.group, self.says = kind, folder, group, says

    def __repr__(self) -> str:
        return f"Registry({self.kind})"

    @cached_property
    def ours(self) -> tuple[str, ...]:
        """Names of the things of this project, in alphabetical order."""
        package = find_spec(self.folder)
        assert package is not None and package.submodule_search_locations is not None
        modules = pkgutil.iter_modules(list(package.submodule_search_locations))
        return tuple(
            sorted(
                module.name
                for module in modules
                if not module.ispkg
                and module.name not in CONTRACT
                and not module.name.startswith("_")
            )
        )

    @cached_property
    def foreign(self) -> dict[str, EntryPoint]:
        """What other packages offer. A name of ours cannot be taken by another package."""
        points = offered(self.group) if self.group else ()
        return {point.name: point for point in points if point.name not in self.ours}

    @property
    def names(self) -> list[str]:
        return sorted([*self.ours, *self.foreign])

    def __contains__(self, name: str) -> bool:
        return name in self.ours or name in self.foreign

    def find(self, name: str) -> type[Thing]:
        """The class of that name."""
        self.require(name)
        point = self.foreign.get(name)
        thing = self._of_another_package(point) if point else self._of_ours(name)
        self._check(name, thing)
        return thing

    def version(self, name: str) -> str:
        """What stands for its code in a cache key, without an import: another version is computed anew.

        Of ours the class attribute `version`, which whoever changes a thing raises; of another package
        its name and version.
        """
        if name in self.foreign:
            package = self.foreign[name].dist
            return f"{package.name} {package.version}" if package else self.foreign[name].value
        spec = find_spec(f"{self.folder}.{name}")
        source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
        stated = re.search(r"^    version = (\d+)", source, re.MULTILINE)
        return stated.group(1) if stated else "1"

    def _check(self, name: str, thing: type[Thing]) -> None:
        """A thing that leaves out part of its contract is one line, before any work starts."""
        left_out = [attribute for attribute in self.says if not hasattr(thing, attribute)]
        left_out += sorted(getattr(thing, "__abstractmethods__", ()))
        if left_out:
            raise TrlapError(
                f"{self.kind}={name}: {thing.__module__}.{thing.__qualname__} does not say "
                f"{', '.join(left_out)}"
            )

    def require(self, name: str) -> None:
        """An unknown name is one line with what there is. Imports nothing."""
        if name in self:
            return
        near = difflib.get_close_matches(name, self.names, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise TrlapError(
            f"{self.kind}={name}: there is none; {hint}choose from {', '.join(self.names)}"
        )

    def all(self) -> list[type[Thing]]:
        return [self.find(name) for name in self.names]

    def _of_ours(self, name: str) -> type[Thing]:
        module = importlib.import_module(f"{self.folder}.{name}")
        for value in vars(module).values():
            defined_here = isinstance(value, type) and value.__module__ == module.__name__
            if defined_here and getattr(value, "name", None) == name:
                return value
        raise TrlapError(
            f"{self.kind}={name}: {module.__name__} has no class with name = {name!r}; parts that "
            "several share begin with _"
        )

    def _of_another_package(self, point: EntryPoint) -> type[Thing]:
        try:
            thing: type[Thing] = point.load()
        except Exception as error:
            package = point.dist.name if point.dist else point.value
            raise TrlapError(
                f"{self.kind}={point.name}: the package {package} cannot be loaded "
                f"({type(error).__name__}: {error})"
            ) from error
        if getattr(thing, "name", None) != point.name:
            raise TrlapError(
                f"{self.kind}={point.name}: {point.value} must have the class attribute "
                f'name = "{point.name}"'
            )
        return thing
