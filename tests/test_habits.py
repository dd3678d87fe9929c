"""Habits of the code: short files and functions, typed records, and nobody asks a thing which one it is."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

SOURCE = ROOT / "src" / "trlap"
FILES = sorted([*SOURCE.rglob("*.py"), *(ROOT / "scripts").rglob("*.py"), ROOT / "run.py"])
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MECHANISMS = {path.stem for path in (ROOT / "conf" / "mechanism").glob("*.yaml")}
# Numbers and names as others printed them are data, not code that asks.
PUBLISHED = {"report/published.py"}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_no_file_over_400_lines() -> None:
    lengths = {name(path): len(path.read_text().splitlines()) for path in [*FILES, *TESTS]}
    # The demo corpus is a list of words.
    del lengths["src/trlap/data/demo.py"]
    assert {path: length for path, length in lengths.items() if length > 400} == {}


def test_no_function_over_60_lines() -> None:
    long = {}
    for path in FILES:
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                length = node.end_lineno - node.lineno + 1
                if length > 60:
                    long[f"{name(path)}: {node.name}"] = length
    assert long == {}


def test_records_are_dataclasses() -> None:
    lines = [
        f"{name(path)}:{number}"
        for path in SOURCE.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if "dict[str, Any]" in line
    ]
    assert len(lines) < 20, lines


def test_every_module_says_what_it_is() -> None:
    public = [path for path in FILES if path.stem != "__init__" or path.parent == SOURCE]
    assert [name(path) for path in public if not ast.get_docstring(syntax(path))] == []


def test_base_names_of_tests_are_unique() -> None:
    names = [path.name for path in TESTS if path.name != "__init__.py"]
    assert sorted(names) == sorted(set(names))


def mechanism_classes() -> set[str]:
    """Names of the base class of mechanisms and of all that inherits from it."""
    bases = {
        node.name: {_last_name(base) for base in node.bases}
        for path in (SOURCE / "mechanisms").rglob("*.py")
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.ClassDef)
    }
    classes = {"Mechanism"}
    while more := {each for each in bases if bases[each] & classes} - classes:
        classes |= more
    return classes


def _last_name(node: ast.expr) -> str:
    """`Released` of `released.base.Released`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _strings(node: ast.AST) -> set[str]:
    """The string that a node is, or those in the tuple, list, set or keys of the dict that it is."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}
    parts: list[ast.expr] = []
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        parts = node.elts
    if isinstance(node, ast.Dict):
        parts = [key for key in node.keys if key]
    return {text for part in parts for text in _strings(part)}


def _about_a_mechanism(node: ast.expr) -> bool:
    """Whether it is called after a mechanism: `mechanism`, `config.mechanism.name`, `row["mechanism"]`."""
    return any(
        "mechanism" in word
        for part in ast.walk(node)
        for word in (getattr(part, "id", ""), getattr(part, "attr", ""), *_strings(part))
    )


def questions(tree: ast.AST, classes: set[str]) -> Iterator[tuple[int, str]]:
    """Lines that ask which mechanism one is, or keep a list of names that the mechanisms should keep."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in ("isinstance", "issubclass"):
            asked = {
                _last_name(part) for part in ast.walk(node.args[1]) if isinstance(part, ast.expr)
            }
            if asked & classes:
                yield node.lineno, "asks for its class"
        elif isinstance(node, ast.MatchClass) and _last_name(node.cls) in classes:
            yield node.lineno, "asks for its class"
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if {text for side in sides for text in _strings(side)} & MECHANISMS and any(
                _about_a_mechanism(side) for side in sides
            ):
                yield node.lineno, "compares its name"
        elif isinstance(node, ast.MatchValue) and _strings(node.value) & (MECHANISMS - {"none"}):
            yield node.lineno, "compares its name"
        elif isinstance(node, ast.expr) and len(_strings(node) & MECHANISMS) > 1:
            yield node.lineno, "keeps names of mechanisms"


def test_outside_their_room_nobody_asks_which_mechanism_it_is() -> None:
    classes = mechanism_classes()
    assert len(classes) > 2 and "VectorMechanism" in classes
    found = []
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith("mechanisms/") and place not in PUBLISHED:
            found += [
                f"{name(path)}:{line} {what}" for line, what in questions(syntax(path), classes)
            ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(mechanism, VectorMechanism)",
        "isinstance(self.mechanism, (base.WordMechanism, str))",
        "issubclass(kind, base.VectorMechanism | None)",
        "if config.mechanism.name == 'none': pass",
        "if 'trlap' != row['mechanism']: pass",
        "if mechanism in ('krr', 'srr'): pass",
        "match mechanism:\n    case 'krr': pass",
        "match mechanism:\n    case VectorMechanism(): pass",
        "COLOURS = {'krr': 'red', 'srr': 'blue'}",
    ],
)
def test_such_a_question_is_noticed(code: str) -> None:
    assert list(questions(ast.parse(code), mechanism_classes()))


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(text, str)",
        "if debias == 'none': pass",
        "if mechanism.calibrated: pass",
        "if row['mechanism'] == other['mechanism']: pass",
        "NAMES = ('krr',)",
    ],
)
def test_other_code_is_left_alone(code: str) -> None:
    assert not list(questions(ast.parse(code), mechanism_classes()))
