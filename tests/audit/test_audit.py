"""The whole audit: every mechanism, strict JSON, the words that go with it."""

import json
import math
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from audit_helpers import (
    HalfGaussian,
    HalfResponse,
    build,
    config,
    every,
    guarantee_of,
    make,
    released,
    space_of,
)
from torch import Generator, Tensor

from trlap.audit import audit
from trlap.audit.attacks.base import Attack, Scene
from trlap.audit.attacks.registry import ATTACKS
from trlap.audit.records import Audit
from trlap.errors import TrlapError
from trlap.files import jsonable
from trlap.mechanisms.base import Claim, Mechanism, VectorMechanism
from trlap.privacy.gaussian import GaussianNoise
from trlap.runs import records

LENGTHS = [5, 12, 30]
KEYS = {
    "claimed": {"notion", "epsilon", "log10_delta"},
    "exact": {"notion", "epsilon", "delta", "log10_delta", "epsilon_at_delta_1e6"},
    "empirical": {"epsilon_lower", "delta_lower", "confidence"},
    "word": {"delta_lower", "delta_upper", "verdict"},
}


def audited(found: Mechanism, epochs: int | None = None, seed: int = 0, **keys: Any) -> Any:
    rng = np.random.default_rng(seed)
    tokens = rng.choice(len(found.space), size=47, p=found.space.prior).astype(np.int32)
    block = audit(
        found, lengths=LENGTHS, tokens=tokens, epochs=epochs, cfg=config(**keys), seed=seed
    )
    written = json.dumps(jsonable(records.to_json(block)), allow_nan=False)
    again = records.from_json(Audit, json.loads(written))
    assert json.dumps(jsonable(records.to_json(again)), allow_nan=False) == written
    return block


@every
def test_every_mechanism(spec: Any) -> None:
    found = build(spec)
    block = audited(found)
    guarantee = block.guarantee
    written = records.to_json(guarantee)
    assert set(written) == {*KEYS, "document", "holds"}
    assert guarantee.document == block.composition
    for part, keys in KEYS.items():
        assert keys <= set(written[part])
    expected = {"none": None, "trlap": found.calibration == "exact"}.get(found.name, True)
    assert guarantee.holds is expected
    word = guarantee.word
    assert word.delta_lower <= word.delta_upper
    if expected is not None:
        assert guarantee.empirical.delta_lower <= guarantee.exact.delta
        assert block.vocabulary.words == 60
        assert len(block.vocabulary.largest.words) == 2
    assert block.composition.longest.words == 30
    assert {"N_w", "S_w"} <= set(records.to_json(block.deniability))
    assert "nearest" in block.attacks
    assert any("dummy dimensions change nothing" in note for note in block.notes) == (
        found.name == "trlap" and found.epsilon == 10
    )


@pytest.mark.parametrize(
    "name", ["none", "gaussian", "laplace", "trlap", "cmp", "mahalanobis", "pte"]
)
def test_the_release(name: str) -> None:
    block = audited(released(name, 0.5), epochs=7)
    guarantee = block.guarantee
    expected = None if name in ("none", "mahalanobis") else False
    assert guarantee.holds is expected
    assert block.composition.draws_a_word == 7
    if name not in ("none", "mahalanobis"):
        assert any("one noise vector" in note for note in block.notes)
        assert guarantee.exact.delta == 1
    if name in ("gaussian", "laplace", "trlap"):
        assert guarantee.empirical.delta_lower > 0.95


def test_the_published_mechanism_at_300_dimensions() -> None:
    block = audited(make("trlap", 0.1, space_of(300, 100)), samples=8000).guarantee
    assert block.exact.delta == pytest.approx(0.987, abs=5e-4)
    assert 0.96 < block.empirical.delta_lower < 0.987
    assert block.holds is False
    assert block.word.verdict in ("refuted", "undecided")
    assert block.word.delta_upper == block.exact.delta


@pytest.mark.parametrize("kind", [HalfGaussian, HalfResponse])
def test_broken_noise_is_reported(kind: type[Mechanism]) -> None:
    keys: dict[str, Any] = {"delta": 1e-5, "calibration": "exact"} if kind is HalfGaussian else {}
    block = audited(kind(space=space_of(), epsilon=1.0, **keys), samples=60_000)
    assert block.guarantee.holds is False
    assert any("not the noise of the formula" in note for note in block.notes)
    if kind is HalfResponse:
        assert block.guarantee.word.verdict == "refuted"


@dataclass(kw_only=True)
class Own(VectorMechanism):
    """A mechanism of a user's own, of which the audit knows nothing but the interface."""

    name = "own"

    def noise(self, count: int, generator: Generator) -> Tensor:
        return torch.randn((count, self.dimension), generator=generator) * 20

    def claimed(self) -> Claim:
        return Claim("(ε, δ)-DP", self.epsilon, math.log(1e-3))

    def log_delta(self, epsilon: float, difference: Any = None) -> float:
        return self._law().log_delta(epsilon, difference)

    def epsilon_at(self, log_delta: float, difference: Any = None) -> float:
        return self._law().epsilon_at(log_delta, difference)

    def _law(self) -> GaussianNoise:
        return GaussianNoise(sigma=20, dimension=self.dimension, clip=self.clip)


def test_a_mechanism_of_a_users_own() -> None:
    block = audited(Own(space=space_of(), epsilon=1.0))
    assert block.guarantee.holds is True
    assert "sampled" in block.vocabulary.search
    assert {"most_common", "nearest"} <= set(block.attacks)
    assert len(block.empirical.vector) == 3
    assert block.composition.median.loss_distribution.epsilon == math.inf


def test_the_smallest_vocabularies() -> None:
    for size in (1, 2):
        for name in ("gaussian", "trlap", "krr", "santext", "none"):
            block = audited(make(name, 0.5, space_of(words=size)), samples=200)
            assert block.guarantee.holds in (True, None) or name == "trlap"


def test_the_seed_decides() -> None:
    found = make("gaussian", 2.0)
    assert audited(found) == audited(found)
    assert math.isfinite(audited(found, seed=1).guarantee.exact.epsilon)


# ------------------------------------------------------------------------------------- other attacks


@dataclass(frozen=True)
class Found:
    success: float
    interval: tuple[float, float]


class AlwaysTheFirst(Attack):
    """An attack of another package: it guesses the first word of the vocabulary."""

    name = "always_the_first"
    knows = "the vocabulary"

    def run(self, scene: Scene) -> Found:
        share = float((scene.tokens == 0).mean())
        return Found(share, (share, share))


def offered(monkeypatch: pytest.MonkeyPatch, kind: type[Attack]) -> None:
    class Point:
        name = kind.name
        value = "another_package:Attack"
        dist: Any = None

        def load(self) -> type[Attack]:
            return kind

    monkeypatch.setitem(vars(ATTACKS), "foreign", {kind.name: Point()})


def test_an_attack_of_another_package_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, AlwaysTheFirst)
    block = audited(make("krr", 1.0), attacks=["inversion", "always_the_first"])
    assert 0 < block.attacks["always_the_first"].success < 1
    assert "nearest" in block.attacks
    assert block.empirical is None and block.deniability is None
    assert block.guarantee.empirical is None


def test_bad_lists_of_attacks_are_one_line() -> None:
    with pytest.raises(TrlapError, match=r"^audit\.attacks=invert: there is none; did you mean"):
        audited(make("krr", 1.0), attacks=["invert"])
    with pytest.raises(TrlapError, match=r"^audit\.attacks: inversion fills `attacks`"):
        audited(make("krr", 1.0), attacks=["inversion", "inversion"])


@pytest.mark.parametrize("name", ATTACKS.ours)
def test_an_attack_says_what_others_ask(name: str) -> None:
    kind = ATTACKS.find(name)
    assert kind.__module__ == f"trlap.audit.attacks.{name}"
    assert kind.knows and kind.__doc__
    assert kind.section.split(".")[0] in ("attacks", "empirical", "deniability")


def test_names_of_attacks_are_known_without_heavy_libraries() -> None:
    code = (
        "import sys; from trlap.audit.attacks.registry import ATTACKS; ATTACKS.names; "
        "print(sorted({'torch', 'numpy', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_guarantee_that_is_known_is_not_computed_again() -> None:
    found = make("trlap", 0.5)
    known = guarantee_of(found)
    other = replace(known, claimed=replace(known.claimed, notion="another"))
    tokens = np.zeros(3, np.int32)
    block = audit(
        found, lengths=[3], tokens=tokens, epochs=None, cfg=config(), seed=0, guarantee=other
    )
    assert block.guarantee.claimed.notion == "another"


@pytest.mark.parametrize("found", [float("nan"), {"rate": float("nan")}, np.ones(3), object()])
def test_an_attack_that_finds_no_number_is_named(
    monkeypatch: pytest.MonkeyPatch, found: Any
) -> None:
    monkeypatch.setattr(AlwaysTheFirst, "run", lambda self, scene: found)
    offered(monkeypatch, AlwaysTheFirst)
    with pytest.raises(
        TrlapError,
        match=r"^audit\.attacks: always_the_first, of the package another_package:Attack",
    ):
        audited(make("krr", 1.0), attacks=["always_the_first"])
