"""A user's own text, from Python."""

import re
from pathlib import Path
from typing import Any

import pytest

from trlap import Privatizer
from trlap.config import schema
from trlap.config.ranges import limits_of
from trlap.errors import TrlapError
from trlap.privatize import privatizer

SMALL: dict[str, Any] = {"vocabulary_size": 500}


def test_every_word_is_replaced_by_a_word_of_the_vocabulary() -> None:
    privatizer = Privatizer("krr", epsilon=2, **SMALL)
    (private,) = privatizer.privatize(["Meet me at 11:30 in the café, Zyzzyva!"])
    assert len(private.split()) == 10
    assert set(private.split()) <= set(privatizer.vocabulary.words)
    assert privatizer.unknown >= 1
    assert privatizer.leaked == 0


def test_two_calls_differ_and_nothing_remembers_the_seed() -> None:
    privatizer = Privatizer("krr", epsilon=0.1, **SMALL)
    text = ["the same words again and again and again"]
    assert privatizer.privatize(text) != privatizer.privatize(text)
    assert not [
        value for value in vars(privatizer).values() if isinstance(value, int) and value > 10**9
    ]


def test_a_seed_needs_a_promise() -> None:
    with pytest.raises(TrlapError, match="whoever has the seed has the text"):
        Privatizer("krr", seed=1, **SMALL)
    runs = [Privatizer("krr", seed=1, reproducible=True, **SMALL) for _ in range(2)]
    texts = ["one two three four", "five six seven eight nine"]
    first, second = ([p.privatize([text])[0] for text in texts] for p in runs)
    assert first == second
    again = Privatizer("krr", epsilon=0.01, seed=1, reproducible=True, **SMALL)
    # blocks go on counting
    assert again.privatize(["the " * 50]) != again.privatize(["the " * 50])


def test_the_vocabulary_owes_nothing_to_the_text() -> None:
    words = [Privatizer("krr", **SMALL) for _ in range(2)]
    words[0].privatize(["quokka " * 1000])
    assert words[0].vocabulary.words == words[1].vocabulary.words
    assert "quokka" not in words[0].vocabulary.words


def test_a_vocabulary_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("alpha\nbeta\ngamma\n")
    privatizer = Privatizer("krr", epsilon=1, vocabulary=str(tmp_path / "words.txt"))
    (private,) = privatizer.privatize(["alpha beta delta " * 200])
    assert set(private.split()) == {"<unk>", "alpha", "beta", "gamma"}


def test_unknown_words_pass_only_when_asked() -> None:
    kept = Privatizer("krr", epsilon=0.01, oov="keep", **SMALL)
    assert kept.privatize(["zyzzyva the"])[0].split()[0] == "zyzzyva"
    assert kept.leaked == 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"epsilon": 0}, r"epsilon=0: must be in \(0, inf\]"),
        ({"delta": 1.5}, "delta=1.5"),
        ({"mechanism": "nosie"}, "mechanism=nosie: there is none"),
        ({"oov": "drop"}, "oov=drop: must be one of unk, keep"),
        ({"m": 3}, "mechanism.m"),
        ({"vocabulary": "/nowhere"}, "/nowhere"),
    ],
)
def test_bad_arguments(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(TrlapError, match=message):
        Privatizer(**{"mechanism": "krr", **SMALL, **keys})


class Unreachable(Exception):
    """Every check was passed."""


def unreachable(*_: object) -> None:
    raise Unreachable


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("epsilon", -1.0),
        ("clip", 0.0),
        ("projection", "nearest"),
        ("calibration", "loose"),
        ("oov", "drop"),
    ],
)
def test_ranges_are_those_of_the_command(
    key: str, value: float | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Declared once, in the schema: what widens a range there widens it here."""
    limits = limits_of(schema.Privatize, key)
    allowed = limits.get("within") or ", ".join(limits["choices"])
    with pytest.raises(TrlapError, match=rf"{key}={value}: must be .*{re.escape(allowed)}$"):
        Privatizer(**{"mechanism": "krr", **SMALL, key: value})
    monkeypatch.setattr(privatizer, "limits_of", lambda kind, name: {})
    monkeypatch.setattr(privatizer, "_public", unreachable)
    with pytest.raises(Unreachable):
        Privatizer(**{"mechanism": "krr", **SMALL, key: value})


def test_without_noise_a_mechanism_has_no_keys() -> None:
    """ε = ∞ is mechanism=none, whatever the mechanism would have been told."""
    unchanged = Privatizer("srr", float("inf"), m=3, **SMALL)
    assert unchanged.mechanism.name == "none"
    assert unchanged.privatize(["the and of"]) == ["the and of"]
