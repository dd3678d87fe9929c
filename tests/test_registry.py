"""Registries: what is found by a file's name, what by an entry point, and the line for what is neither."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from trlap import registry
from trlap.errors import TrlapError
from trlap.registry import Registry


@pytest.fixture
def kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with two things, a shared part and the contract."""
    folder = tmp_path / "some_kinds"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "base.py").write_text("class Base: name = 'base'")
    (folder / "_part.py").write_text("")
    (folder / "apple.py").write_text("class Fruit: name = 'apple'\nclass Other: name = 'other'")
    (folder / "pear.py").write_text("raise AssertionError('nobody asked for it')")
    (folder / "plum.py").write_text("class Wrong: name = 'prune'")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.startswith("some_kinds")]:
        del sys.modules[name]


def test_things_are_found_by_their_file_and_nothing_else_is_imported(kinds: Path) -> None:
    known: Registry = Registry("fruit", "some_kinds")
    assert known.names == ["apple", "pear", "plum"]
    assert known.find("apple").__name__ == "Fruit"
    assert "some_kinds.pear" not in sys.modules
    assert "apple" in known and "base" not in known and "_part" not in known


def test_an_unknown_name_is_one_line_with_what_there_is(kinds: Path) -> None:
    known: Registry = Registry("fruit", "some_kinds")
    with pytest.raises(TrlapError) as caught:
        known.find("aple")
    assert str(caught.value) == (
        "fruit=aple: there is none; did you mean apple? choose from apple, pear, plum"
    )


def test_a_class_that_does_not_carry_its_files_name_is_a_defect(kinds: Path) -> None:
    with pytest.raises(TrlapError, match="no class with name = 'plum'"):
        Registry("fruit", "some_kinds").find("plum")


def test_entry_points_add_things_but_never_replace_ours(
    kinds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [
        EntryPoint("apple", "somewhere:Evil", "fruits"),
        EntryPoint("other", "some_kinds.apple:Other", "fruits"),
        EntryPoint("broken", "no_such_package:Thing", "fruits"),
        EntryPoint("misnamed", "some_kinds.apple:Other", "fruits"),
    ]
    monkeypatch.setattr(registry, "offered", lambda group: points if group == "fruits" else [])
    known: Registry = Registry("fruit", "some_kinds", "fruits")
    assert known.names == ["apple", "broken", "misnamed", "other", "pear", "plum"]
    assert known.find("apple").__name__ == "Fruit"
    assert known.find("other").__name__ == "Other"
    with pytest.raises(TrlapError, match="cannot be loaded .*No module named 'no_such_package'"):
        known.find("broken")
    with pytest.raises(TrlapError, match='must have the class attribute name = "misnamed"'):
        known.find("misnamed")


def test_a_thing_that_leaves_out_part_of_its_contract_is_one_line(kinds: Path) -> None:
    (kinds / "fig.py").write_text(
        "from abc import ABC, abstractmethod\n"
        "class Base(ABC):\n"
        "    @abstractmethod\n"
        "    def eat(self): ...\n"
        "class Fig(Base): name = 'fig'\n"
    )
    with pytest.raises(TrlapError, match="fig=fig: .*Fig does not say taste, eat"):
        Registry("fig", "some_kinds", says=("taste",)).find("fig")


def test_versions_are_read_without_an_import(kinds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (kinds / "lime.py").write_text("raise AssertionError\nclass Lime:\n    version = 3\n")
    known: Registry = Registry("fruit", "some_kinds", "fruits")
    assert (known.version("lime"), known.version("apple")) == ("3", "1")
    assert "some_kinds.lime" not in sys.modules
