"""A user's own text, from Python and from the command line."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, once

from trlap import Privatizer
from trlap.config import schema
from trlap.config.ranges import limits_of
from trlap.errors import TrlapError
from trlap.privatize import privatizer

SMALL: dict[str, Any] = {"vocabulary_size": 500}


def script(*overrides: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """`python scripts/privatize.py <overrides>`, with `given` on standard input."""
    command = [sys.executable, str(ROOT / "scripts" / "privatize.py"), *once(*overrides)]
    return subprocess.run(command, capture_output=True, cwd=ROOT, input=given)


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


def test_the_command_streams_a_file_and_says_what_it_guarantees(tmp_path: Path) -> None:
    source, target = tmp_path / "mine.csv", tmp_path / "private.csv"
    source.write_text('id,comment\n1,"The soup was cold, and it cost $7.50!"\n2,\n3,Nice\n')
    done = script(
        f"input={source}",
        f"output={target}",
        "column=comment",
        "mechanism=crr",
        "epsilon=5",
        "vocabulary_size=500",
    )
    assert done.returncode == 0, done.stderr
    lines = target.read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["id", "1", "2", "3"]
    assert lines[0] == "id,comment" and lines[2] == "2,"
    report = done.stderr.decode()
    for part in (
        "3 texts",
        "mechanism crr",
        "original",
        "private",
        "claimed 5-DP per word",
        "holds",
        "median text of 1 words",
        "longest text of 10 words",
        "outside the vocabulary",
        "case and spacing are normalised",
        "not protected",
    ):
        assert part in report, report


def test_standard_input_and_output() -> None:
    done = script(
        "input=-",
        "output=-",
        "mechanism=krr",
        "vocabulary_size=500",
        given=b"one two\n\nthree\n",
    )
    assert done.returncode == 0, done.stderr
    assert [len(line.split()) for line in done.stdout.decode().splitlines()] == [2, 0, 1]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["input=/nowhere.txt", "output=x.txt"], "input=/nowhere.txt: no such file"),
        (["input=README.md", "output=x.md"], "cannot read .md files"),
        (["input=README.md", "format=txt", "output=README.md"], "that is the input"),
        (["input=README.md", "format=txt", "output=LICENSE"], "it exists"),
        (["input=README.md", "format=txt", "output=nowhere/x.txt"], "there is no folder nowhere"),
        (["input=README.md", "output=-", "format=txt", "seed=3"], "whoever has the seed"),
        (["input=README.md", "output=-", "format=txt", "epsilon=0"], "epsilon=0.0"),
        (["output=x.txt"], "input: no value given"),
    ],
)
def test_bad_commands_are_one_line(overrides: list[str], message: str) -> None:
    done = script(*overrides)
    assert done.returncode == 2
    assert done.stderr.decode().count("\n") == 1, done.stderr
    assert message in done.stderr.decode()


def test_a_failed_run_leaves_no_output(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"fine\n" * 3000 + b"\xff\n")
    done = script(
        f"input={tmp_path}/in.txt",
        f"output={tmp_path}/out.txt",
        "mechanism=krr",
        "vocabulary_size=500",
    )
    assert done.returncode == 2 and b"line 3,001: not UTF-8" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


@pytest.mark.slow
def test_a_million_lines_take_the_memory_of_ten_thousand(tmp_path: Path) -> None:
    peaks = []
    for lines in (10_000, 1_000_000):
        source, target = tmp_path / f"{lines}.txt", tmp_path / f"{lines}.out.txt"
        with source.open("w") as file:
            for i in range(lines):
                file.write(f"line {i} of a long file , and the words go on .\n")
        command = [sys.executable, "scripts/privatize.py", f"input={source}", f"output={target}"]
        process = subprocess.Popen([*command, "mechanism=crr", "epsilon=5"], cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        peaks.append(usage.ru_maxrss)
        with target.open() as file:
            assert Counter(len(line.split()) for line in file) == {13: lines}
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.slow
def test_ray_gives_every_line_once_and_in_order(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="`make ray` was not run")
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    lines = [" ".join(["line", *str(i), "ends"]) if i % 999 else "" for i in range(200_000)]
    source.write_text("\n".join(lines) + "\n")
    keys = (f"input={source}", f"output={target}", "engine=ray", "threads=1", "embedding=random")
    # without noise a line shows which one it was
    done = script(*keys, "mechanism=none")
    assert done.returncode == 0, done.stderr
    assert target.read_text() == source.read_text()
    assert b"200,000 texts" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]

    source.write_text("line 1 ends\n" * 50_000)
    done = script(*keys, "mechanism=krr", "epsilon=1", "force=true")
    assert done.returncode == 0, done.stderr
    private = target.read_text().splitlines()
    assert len(private) == 50_000
    # seeds of their own for every block: 50,000 draws of three words among 10,000 hardly meet
    assert len(set(private)) > 49_990


def test_ray_needs_files_and_no_seed(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\n")
    files = (f"input={tmp_path / 'in.txt'}", f"output={tmp_path / 'out.txt'}", "engine=ray")
    assert b"as files" in script(*files, "output=-").stderr
    assert b"leave seed out" in script(*files, "seed=1", "reproducible=true").stderr
