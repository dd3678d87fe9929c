"""What a plan says of times: from this machine, from the committed study, or nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import TINY

from trlap.config.door import Config
from trlap.report.results import read
from trlap.runs import pipeline
from trlap.runs.cell import Cell
from trlap.sweeps.grid import Job
from trlap.sweeps.plan import plan
from trlap.sweeps.times import COMMITTED, HERE, SHARED, STUDY, Times, _of

TABLE2 = ("experiment=table2", "dataset=yelp", "protocol=release", "mechanism=trlap")
QUICK = (*TINY, "stages=[privatize,metrics]", "wandb.mode=disabled", "threads=1")


@pytest.fixture(scope="module")
def times() -> Times:
    return Times()


@pytest.fixture
def cell(config: Callable[..., Config], tmp_path: Path) -> Callable[..., Cell]:
    return lambda *overrides: Cell(config(f"outputs={tmp_path}/outputs", *overrides))


def planned(times: Times, *cells: Cell) -> str:
    return plan([Job([], cell.name, cell) for cell in cells], times)


def test_every_row_of_the_study_is_of_the_kind_of_its_own_command(
    times: Times, cell: Callable[..., Cell]
) -> None:
    """A row for each of its kinds: the command composed today finds it, and the time is that of such rows."""
    rows = {_of(run, None).kind: run for run in read([STUDY])}
    assert len(rows) > 10
    for run in rows.values():
        assert run.provenance.threads == 1 and run.provenance.device == "cpu"
        estimate = times.estimate(cell(*str(run.provenance.command).split()[2:]), [])
        assert estimate is not None, run.provenance.command
        assert estimate.source == COMMITTED and estimate.size is None
        own = sum(seconds for stage, seconds in run.seconds.items() if stage not in SHARED)
        # some rows of protocol=tables were made beside other work
        assert own - 0.001 < estimate.seconds < 7200


@pytest.mark.parametrize(
    "other",
    [
        "dataset.limit.train=400",
        "dataset.limit.train=null",
        "size=paper",
        "model.epochs=3",
        "embedding.dimension=50",
        "metrics.bootstrap=10",
        "metrics.bertscore.model=null",
        "audit.samples=100",
        "audit.attacks=[distinguish]",
        "stages=[privatize,rewrite]",
        "dataset=demo",
    ],
)
def test_another_size_gets_no_invented_number(
    times: Times, cell: Callable[..., Cell], other: str
) -> None:
    assert times.estimate(cell(*TABLE2), []) is not None
    assert times.estimate(cell(*TABLE2, other), []) is None


@pytest.mark.parametrize("same", ["seed=7", "epsilon=0.37", "clip=0.5", "device=cpu", "threads=1"])
def test_noise_and_seed_change_no_time(times: Times, cell: Callable[..., Cell], same: str) -> None:
    assert times.estimate(cell(*TABLE2, same), []) == times.estimate(cell(*TABLE2), [])


def test_the_plan_says_where_its_times_come_from(times: Times, cell: Callable[..., Cell]) -> None:
    small = cell("mechanism=laplace", "epsilon=1", *QUICK)
    text = planned(times, cell(*TABLE2), small)
    assert "protocol release · about 4 min in the study" in text
    assert "protocol paper · no measured cell yet" in text
    assert f"one after another for 1 cell, from {COMMITTED}" in text
    assert text.endswith("not counted: 1 cell of a kind that was never measured")

    pipeline.run(small.config)
    text = planned(Times(), cell(*TABLE2), cell("mechanism=krr", "epsilon=1", *QUICK))
    assert f"MB of disk for 1 cell, from {HERE}" in text
    assert f"from {COMMITTED}" in text


def test_an_installed_package_has_no_study(cell: Callable[..., Cell], tmp_path: Path) -> None:
    nothing = Times(tmp_path / "study.jsonl")
    assert "no measured cell yet" in planned(nothing, cell(*TABLE2))


def test_protocols_are_told_apart(times: Times, cell: Callable[..., Cell]) -> None:
    lines = planned(times, cell(*TABLE2), cell(*TABLE2, "protocol=paper")).splitlines()
    assert [line.split("   ")[-1].split(" · ")[0] for line in lines[2:4]] == [
        "protocol release",
        "protocol paper",
    ]


def test_what_is_done_takes_no_time(times: Times, cell: Callable[..., Cell]) -> None:
    whole, rest = (times.estimate(cell(*TABLE2), done) for done in ([], ["rewrite"]))
    assert whole and rest and rest.seconds < whole.seconds / 2
