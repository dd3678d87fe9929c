"""Every mechanism says of itself what others ask: attributes, one file, one YAML, answers that fit together."""

import importlib
import math
import re
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from metric_helpers import random_space
from omegaconf import OmegaConf
from torch import Generator, Tensor

from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms import registry
from trlap.mechanisms._look import Look
from trlap.mechanisms.base import Claim, Mechanism, WordMechanism

CONF = Path(__file__).parent.parent.parent / "conf" / "mechanism"
NAMES = registry.MECHANISMS.ours
every = pytest.mark.parametrize("name", NAMES)


def make(name: str, space: Space | None = None) -> Mechanism:
    return registry.make(name, space or random_space(12, 4), 2.0, delta=1e-3)


@every
def test_it_has_every_attribute(name: str) -> None:
    kind = registry.find(name)
    assert kind.name == name
    assert kind.label
    assert re.fullmatch("#[0-9a-f]{6}", kind.look.colour)
    assert kind.look.marker and kind.look.dash
    assert kind.unit in ("word", "document")
    assert kind.point in ("vector", "word")
    assert {type(x) for x in (kind.calibrated, kind.private, kind.shares_noise)} == {bool}
    assert set(kind.undoes) <= {"unbiased", "posterior"}
    assert kind.unknown is None
    assert kind.__doc__


@every
def test_its_file_has_its_name(name: str) -> None:
    kind = registry.find(name)
    assert kind.__module__ == f"trlap.mechanisms.{name}"
    module = importlib.import_module(kind.__module__)
    assert module.__doc__ and len(module.__doc__) > 80


@every
def test_its_yaml_has_its_own_keys(name: str) -> None:
    given = OmegaConf.to_container(OmegaConf.load(CONF / f"{name}.yaml"))
    assert isinstance(given, dict)
    # one that answers for documents sets other keys too
    given = given.get("mechanism", given)
    assert given.pop("name") == name
    assert tuple(given) == registry.own_keys(name)
    assert given == registry.parameters(name, {})


def test_there_is_a_yaml_for_each_and_no_other() -> None:
    assert sorted(path.stem for path in CONF.glob("*.yaml")) == sorted(NAMES)


def test_looks_are_distinct() -> None:
    looks = [registry.find(name).look for name in NAMES]
    assert len({look.colour for look in looks}) == len(looks)
    assert len({look.marker for look in looks}) == len(looks)


def test_labels_are_those_of_the_papers_tables() -> None:
    labels = {name: registry.find(name).label for name in NAMES}
    paper = {"gaussian": "Gaussian", "laplace": "Laplacian", "trlap": "TrLaplacian"}
    assert labels == {name: name for name in NAMES} | paper


def test_who_is_calibrated_who_can_be_undone_and_who_is_private() -> None:
    kinds = [registry.find(name) for name in NAMES]
    assert {kind.name for kind in kinds if kind.calibrated} == {"gaussian", "laplace", "trlap"}
    assert [kind.name for kind in kinds if not kind.private] == ["none"]
    undone = {kind.name: set(kind.undoes) for kind in kinds if kind.undoes}
    both = {"unbiased", "posterior"}
    assert undone == {
        "krr": both,
        "crr": both,
        "srr": {"posterior"},
        "drr": {"posterior"},
        "none": both,
    }
    assert not any(kind.shares_noise for kind in kinds)
    assert all(kind.shares_noise for kind in registry.RELEASED.all())


@every
def test_calibration_matters_where_it_is_said_to(name: str) -> None:
    space = random_space(12, 4)
    published, exact = (
        registry.make(name, space, 2.0, delta=1e-3, calibration=how)
        for how in ("published", "exact")
    )
    differ = published.epsilon_at(math.log(1e-3)) != exact.epsilon_at(math.log(1e-3))
    assert differ == published.calibrated


@every
def test_pairs_cost_no_more_than_the_worst(name: str) -> None:
    made = make(name)
    worst = made.largest_claimed_epsilon()
    for first, second in ((0, 1), (3, 7), (5, 2)):
        assert made.claimed_epsilon(first, second) <= worst * (1 + 1e-9)
        assert made.pair_epsilon_at(-6.0, first, second) <= made.epsilon_at(-6.0) * (1 + 2e-9)
        assert made.pair_log_delta(0.5, first, second) <= made.log_delta(0.5) + 1e-9
        there = made.pair_log_delta(0.5, first, second)
        assert there == pytest.approx(made.pair_log_delta(0.5, second, first), rel=1e-9)


@every
def test_composition_has_one_answer_and_says_how(name: str) -> None:
    made = make(name)
    once, often = made.compose(math.log(1e-6), 1), made.compose(math.log(1e-6), 30)
    assert once.log10_delta == often.log10_delta == -6
    assert once.epsilon <= often.epsilon <= 30 * made.epsilon_at(-math.inf) * (1 + 1e-9)
    infinite = math.isinf(often.epsilon)
    assert (often.method == "none is finite") == infinite
    assert once.epsilon == pytest.approx(made.epsilon_at(math.log(1e-6)), rel=2e-3) or infinite


@every
def test_what_an_attacker_sees_is_what_is_drawn(name: str) -> None:
    """Views draw what `perturb` and `draw` do, and the first word scores higher than the second."""
    made = make(name)
    views = made.views(0)
    assert [view.point for view in views] == {"vector": ["vector", "word"], "word": ["word"]}[
        made.point
    ]
    for view in views:
        score = view.score(0, 1)
        first, second = (
            score(view.draw(word, 4000, Generator().manual_seed(word))) for word in (0, 1)
        )
        assert len(first) == 4000
        with np.errstate(invalid="ignore"):
            assert np.median(first) >= np.median(second)
    worst = made.worst_view()
    assert (worst is None) == (made.geometry() is None)
    assert (made.channel() is not None) == isinstance(made, WordMechanism)


@every
def test_guesses_are_words(name: str) -> None:
    made, words = make(name), torch.arange(12).repeat(20)
    guesses = made.guesses(words, Generator().manual_seed(0), made.space.prior)
    assert "nearest" in guesses
    for guessed in guesses.values():
        assert guessed.shape == words.shape
        assert 0 <= int(guessed.min()) <= int(guessed.max()) < 12


@every
def test_only_what_it_undoes_can_be_decoded(name: str) -> None:
    made = make(name)
    vectors = made.space.vectors.numpy()
    for how in ("unbiased", "posterior"):
        if how in made.undoes:
            private, original = made.decode(vectors, how)
            assert private.vectors.shape == original.vectors.shape == vectors.shape
        else:
            with pytest.raises(TrlapError, match=rf"^classify\.debias={how}: .*mechanism={name} "):
                made.decode(vectors, how)


@every
@pytest.mark.parametrize("how", ["unbiased", "posterior"])
def test_what_cannot_be_undone_is_said_before_any_work(name: str, how: str) -> None:
    if how in registry.find(name).undoes:
        registry.check_undoing(name, how)
    else:
        with pytest.raises(TrlapError, match=rf"^classify\.debias={how}: .*\b{name}\b"):
            registry.check_undoing(name, how)


def test_the_lines_of_what_cannot_be_undone() -> None:
    with pytest.raises(TrlapError) as unknown:
        registry.check_undoing("gaussian", "posterior")
    assert str(unknown.value) == (
        "classify.debias=posterior: the channel of mechanism=gaussian is not known in closed form, "
        "only those of krr, srr, crr; set it to none"
    )
    with pytest.raises(TrlapError) as singular:
        registry.check_undoing("srr", "unbiased")
    assert str(singular.value) == (
        "classify.debias=unbiased: neighbourhoods of srr overlap, and their matrix is singular "
        "for most m, so nothing undoes it; use classify.debias=posterior, or mechanism=krr or crr"
    )


# ----------------------------------------------------------------------------------------- the registry


def test_no_noise_has_one_name() -> None:
    assert registry.canonical("none", {}, 3.0) == ("none", {}, math.inf)
    assert registry.canonical("pte", {"m": 7}, math.inf) == ("none", {}, math.inf)
    assert registry.canonical("pte", {"m": 7}, 3.0) == ("pte", {"m": 7}, 3.0)


def test_bad_names_and_keys_are_one_line() -> None:
    with pytest.raises(
        TrlapError, match="^mechanism=gausian: there is none; did you mean gaussian"
    ):
        registry.find("gausian")
    with pytest.raises(TrlapError, match="^mechanism=tem: there is none"):
        registry.make_released("tem", random_space(3, 2), 1.0, 0.005)
    with pytest.raises(
        TrlapError, match=r"^no such key: mechanism\.gama; did you mean mechanism\.gamma"
    ):
        registry.parameters("tem", {"gama": 1.0})
    with pytest.raises(TrlapError, match=r"^mechanism\.gamma=-1\.0: must be in \[0, inf\)$"):
        registry.parameters("tem", {"gamma": -1.0})


def test_names_are_known_without_heavy_libraries() -> None:
    code = (
        "import sys; import trlap.mechanisms; from trlap.mechanisms import registry; "
        "registry.MECHANISMS.names, registry.RELEASED.names, registry.look('not installed'); "
        "registry.canonical('crr', {}, 1.0); "
        "print(sorted({'torch', 'numpy', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@dataclass(kw_only=True)
class Shuffled(Mechanism):
    """A mechanism of another package that says no more than it must."""

    name: ClassVar[str] = "shuffled"
    strength: float = 1.0

    def draw(self, words: Tensor, generator: Generator) -> Tensor:
        return torch.randint(len(self.space), words.shape, generator=generator)

    def claimed(self) -> Claim:
        return Claim("ε-DP", self.epsilon)

    def log_delta(self, epsilon: float) -> float:
        return -math.inf

    def epsilon_at(self, log_delta: float) -> float:
        return 0.0


def test_what_a_mechanism_does_not_say_has_a_default() -> None:
    made = Shuffled(space=random_space(12, 4), epsilon=1.0)
    assert made.look == Look.of("shuffled") != Look.of("shuffled2")
    assert registry.look("shuffled") == made.look
    assert made.label == "shuffled"
    assert made.compose(math.log(1e-6), 5).epsilon == 0
    assert made.pair_log_delta(1.0, 0, 1) == -math.inf
    assert len(made.views(0)) == 1
    assert made.notes(None) == []
    assert {item.name for item in fields(made)} - {item.name for item in fields(Mechanism)} == {
        "strength"
    }


def test_another_package_offers_one_by_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name = "shuffled"
        value = "another_package:Shuffled"
        dist: Any = None

        def load(self) -> type[Mechanism]:
            return Shuffled

    monkeypatch.setitem(vars(registry.MECHANISMS), "foreign", {"shuffled": Point()})
    assert "shuffled" in registry.MECHANISMS
    made = registry.make("shuffled", random_space(12, 4), 1.0, strength=3)
    assert isinstance(made, Shuffled)
    assert made.strength == 3.0
    with pytest.raises(TrlapError, match="strength"):
        registry.make("shuffled", random_space(12, 4), 1.0, strength="much")
