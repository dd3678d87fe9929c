"""The benchmark's own arithmetic. What it measures is not tested: machines are noisy."""

import json
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import bench

    return bench


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
def test_goal(bench, value, goal, met):
    assert bench.Row("name", value, "×", goal).met is met


def test_ratio_is_of_turns(bench, monkeypatch):
    """The median of the ratios within a turn: one slow turn, in which both are slow, does not count."""
    times = iter([9.0, 1.0, 4.0, 2.0, 40.0, 20.0, 6.0, 2.0])  # the first turn warms up
    monkeypatch.setattr(bench, "seconds", lambda job: next(times))
    assert bench.ratio(None, None, turns=3) == 2.0


def test_exponent(bench):
    assert bench.exponent([10, 100, 1000], [3e2, 3e4, 3e6]) == pytest.approx(2)


def test_rows_and_table_are_written(bench, tmp_path, monkeypatch, capsys):
    def part():
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
