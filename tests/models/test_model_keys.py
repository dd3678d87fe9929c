"""What every model says of itself: keys that its YAML fills, ranges, rules, and no heavy import."""

import subprocess
import sys
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from classify_helpers import SMALL
from conftest import ROOT
from omegaconf import OmegaConf
from rewrite_helpers import TINY

from trlap.config.keys import typed
from trlap.errors import TrlapError
from trlap.models.base import Model
from trlap.models.registry import CLASSIFIERS, REWRITERS
from trlap.registry import Registry

KINDS: list[tuple[Registry[Any], str]] = [(REWRITERS, "model"), (CLASSIFIERS, "classifier")]
MODELS: list[type[Model]] = [thing for registry, _ in KINDS for thing in registry.all()]
PRESETS = [
    (registry, path)
    for registry, group in KINDS
    for path in sorted((ROOT / "conf" / group).glob("*.yaml"))
]


def values(path: Path) -> dict[str, Any]:
    plain = OmegaConf.to_container(OmegaConf.load(path))
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def chosen(registry: Registry[Any], path: Path) -> tuple[type[Model], Any]:
    """The class that a YAML names, and its keys."""
    given = values(path)
    name = given.pop("name")
    thing = registry.find(given.pop("kind", name))
    return thing, typed(registry.kind, thing.Keys, given)


@pytest.mark.parametrize(("registry", "path"), PRESETS, ids=lambda x: getattr(x, "stem", ""))
def test_every_yaml_fills_the_keys_of_its_class(registry: Registry[Any], path: Path) -> None:
    thing, keys = chosen(registry, path)
    thing.check(keys)
    assert values(path)["name"] == path.stem
    assert set(thing.fingerprint(keys)) == set(values(path)) - {"name", "kind"}


def test_every_class_of_ours_has_a_yaml() -> None:
    for registry, group in KINDS:
        paths = (ROOT / "conf" / group).glob("*.yaml")
        named = {chosen(registry, path)[0].name for path in paths}
        assert named == set(registry.ours)


@pytest.mark.parametrize("thing", MODELS, ids=lambda thing: thing.__name__)
def test_every_class_names_itself_and_has_keys(thing: type[Model]) -> None:
    assert is_dataclass(thing.Keys)
    assert thing.__doc__ or sys.modules[thing.__module__].__doc__


def test_asking_for_keys_imports_nothing_heavy() -> None:
    """Every command asks for them, `--help` too."""
    program = (
        "import sys; from trlap.models.registry import CLASSIFIERS, REWRITERS; "
        "[thing.Keys for registry in (CLASSIFIERS, REWRITERS) for thing in registry.all()]; "
        "print(*sorted({'torch', 'lightning', 'transformers', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("\n", "")


REFUSED = [
    (REWRITERS, "bilstm.yaml", {"hidden": 0}, r"model.hidden=0: must be in \[1, 1e5\]"),
    (
        REWRITERS,
        "bilstm.yaml",
        {"word_noise": {"drop": 1.5, "blank": 0, "substitute": 0, "shuffle": 0}},
        r"model.word_noise.drop=1.5: must be in \[0, 1\)",
    ),
    (REWRITERS, "bilstm.yaml", {"hiden": 1}, "no such key: model.hiden; did you mean model.hidden"),
    (REWRITERS, "bilstm.yaml", {"decay": "up"}, "model.decay=up: must be one of constant, linear"),
    (CLASSIFIERS, "average.yaml", {"lr": 0}, r"classifier.lr=0.0: must be in \(0, 1e6\]"),
    (CLASSIFIERS, "average.yaml", {"seeds": ["x"]}, "^classifier.seeds"),
    (CLASSIFIERS, "average.yaml", {"model": "bert"}, "no such key: classifier.model"),
]


@pytest.mark.parametrize(("registry", "name", "wrong", "message"), REFUSED, ids=str)
def test_wrong_values_are_one_line(
    registry: Registry[Any], name: str, wrong: dict[str, Any], message: str
) -> None:
    given = values(ROOT / "conf" / registry.kind / name)
    own = {key: value for key, value in given.items() if key not in ("name", "kind")}
    with pytest.raises(TrlapError, match=message):
        typed(registry.kind, registry.find(given.get("kind", given["name"])).Keys, own | wrong)


def test_rules_between_keys() -> None:
    average, transformer = CLASSIFIERS.find("average"), CLASSIFIERS.find("transformer")
    for seeds in ([], [1, 1], [-1]):
        wrong = average.Keys(**SMALL | {"seeds": seeds})
        with pytest.raises(TrlapError, match=r"^classifier.seeds=.*different whole numbers"):
            average.check(wrong)
    for name in ("hidden", "dropout"):
        with pytest.raises(TrlapError, match="^classifier=average: hidden and dropout must be"):
            average.check(average.Keys(**SMALL | {name: None}))
    with pytest.raises(TrlapError, match="^classifier=transformer: set classifier.model to"):
        transformer.check(transformer.Keys(**SMALL))
    with pytest.raises(TrlapError, match=r"^model.betas=\[0.5\]: must be two numbers in \[0, 1\)"):
        REWRITERS.find("bilstm").check(replace(TINY, betas=[0.5]))


def test_a_model_s_folder_counts_by_its_content(tmp_path: Path) -> None:
    transformer = CLASSIFIERS.find("transformer")
    prints = []
    for name, content in (("one", "{}"), ("two", "{}"), ("three", "[]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(content)
        keys = transformer.Keys(**SMALL | {"model": str(tmp_path / name)})
        prints.append(transformer.fingerprint(keys))
    assert prints[0] == prints[1] != prints[2]
