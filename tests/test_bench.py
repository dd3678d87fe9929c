"""The benchmark's own arithmetic. What it measures is not tested: machines are noisy."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import bench

    return bench


@pytest.fixture
def measure(bench: ModuleType) -> ModuleType:
    import bench_measure

    return bench_measure


@pytest.mark.parametrize(
    ("value", "goal", "met"),
    [
        (5.0, "≥ 5", True),
        (4.9, "≥ 5", False),
        (1.5, "≤ 1.5", True),
        (1.6, "≤ 1.5", False),
        (1.0, None, None),
        (None, "≥ 5", None),
    ],
)
def test_goal(measure: ModuleType, value: float | None, goal: str | None, met: bool | None) -> None:
    assert measure.Row("name", value, "×", goal).met is met


def test_ratio_is_of_turns(measure: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The median of the ratios within a turn: one slow turn, in which both are slow, does not count."""
    # the first turn warms up
    times = iter([9.0, 1.0, 4.0, 2.0, 40.0, 20.0, 6.0, 2.0])
    monkeypatch.setattr(measure, "seconds", lambda job: next(times))
    assert measure.ratio(None, None, turns=3) == 2.0


def test_exponent(measure: ModuleType) -> None:
    assert measure.exponent([10, 100, 1000], [3e2, 3e4, 3e6]) == pytest.approx(2)


def test_the_parts_are_those_that_the_command_knows(bench: ModuleType) -> None:
    names = [part.__name__ for part in bench.PARTS]
    assert names == [
        "sampling",
        "projection",
        "mldp",
        "response",
        "training",
        "audit",
        "start",
        "memory",
        "growth",
        "documents",
    ]


def test_rows_and_table_are_written(
    bench: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def part() -> Iterator[Any]:
        yield bench.Row("fast enough", 7.0, "× faster", "≥ 5", note="why")
        yield bench.Row("too slow", 2.0, "× its time", "≤ 1.5")

    monkeypatch.setattr(bench, "PARTS", (part,))
    monkeypatch.setattr("sys.argv", ["bench.py", "part", "--to", str(tmp_path)])
    bench.main()
    rows = json.loads((tmp_path / "bench.json").read_text())
    assert [(row["name"], row["value"], row["unit"], row["goal"], row["met"]) for row in rows] == [
        ("fast enough", 7.0, "× faster", "≥ 5", True),
        ("too slow", 2.0, "× its time", "≤ 1.5", False),
    ]
    table = (tmp_path / "bench.md").read_text()
    assert "| fast enough (why) | 7 × faster | ≥ 5 | yes |" in table
    assert "| too slow | 2 × its time | ≤ 1.5 | **no** |" in table
    assert "goals missed: 1" in capsys.readouterr().out


def test_help_does_nothing_else(
    bench: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["bench.py", "--help"])
    with pytest.raises(SystemExit) as left:
        bench.main()
    assert left.value.code == 0 and "sampling, projection" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
