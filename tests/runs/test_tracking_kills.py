"""Cells that are killed while W&B listens, on every launcher: no epoch is lost for good, none is there twice."""

import shutil
import signal
import time
from pathlib import Path

import pytest
import torch
import warm
from conftest import ROOT, TINY, until
from wandb_helpers import epochs, logged

from trlap.runs.tracking import FLUSHED

EPOCHS = 100
CELL = (
    *TINY,
    "threads=1",
    "wandb.mode=offline",
    "mechanism=laplace",
    "epsilon=5",
    "stages=[privatize,rewrite]",
)


def start(outputs: Path, *overrides: str) -> warm.Process:
    return warm.Process([str(ROOT / "run.py"), f"outputs={outputs}", *CELL, *overrides], ROOT)


def finish(outputs: Path, *overrides: str) -> None:
    process = start(outputs, *overrides)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0 and "Traceback" not in err, err


def numbers(folder: Path) -> list[int]:
    return [
        entry["rewrite/epoch"] for entry in logged(folder)["history"] if "rewrite/epoch" in entry
    ]


def test_who_is_killed_loses_seconds_and_goes_on_as_one_run(tmp_path: Path) -> None:
    assert FLUSHED <= 15
    # longer than W&B takes to write what it has
    long = (f"model.epochs={EPOCHS}", "dataset.limit.train=400")
    process = start(tmp_path, *long)
    file = until(lambda: next(tmp_path.glob("demo-*/wandb/offline-run-*/run-*.wandb"), None))
    until(lambda: epochs(file, "rewrite"))
    process.kill()
    killed = time.time()
    process.communicate()
    before = epochs(file, "rewrite")
    assert [entry["rewrite/epoch"] for entry in before] == list(range(1, len(before) + 1))
    assert len(before) < EPOCHS and before[-1]["wall_time"] > killed - 15

    finish(tmp_path, *long)
    (cell,) = tmp_path.glob("demo-*")
    assert [path.name for path in cell.glob("wandb/*")] != [file.parent.name]
    assert numbers(cell) == list(range(1, EPOCHS + 1))
    again = [entry for entry in logged(cell)["history"] if "rewrite/epoch" in entry]
    # at the time when they were, which the checkpoint knows
    times = [entry["wall_time"] for entry in again]
    assert times == sorted(times) == [entry["_timestamp"] for entry in again]
    assert times[: len(before)] == [entry["wall_time"] for entry in before]

    # all stages come from the cache, and so do their epochs
    (cell / "result.json").unlink()
    finish(tmp_path, *long)
    cached = [entry for entry in logged(cell)["history"] if "rewrite/epoch" in entry]
    assert [entry["wall_time"] for entry in cached] == times
    assert numbers(cell) == list(range(1, EPOCHS + 1))
    assert len(list(cell.glob("wandb/*"))) == 1


def test_sigterm_loses_no_point(tmp_path: Path) -> None:
    process = start(tmp_path, "model.epochs=5000")
    checkpoint = until(lambda: next(tmp_path.glob("cache/.rewrite-*.partial/last.ckpt"), None))
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    trained = torch.load(checkpoint, weights_only=True)["history"]
    (cell,) = tmp_path.glob("demo-*")
    # the run was closed: `logged` waits for that
    assert numbers(cell)[: len(trained)] == [epoch["epoch"] for epoch in trained]
    assert not list(cell.glob("wandb/*/logs"))


@pytest.mark.parametrize(
    "launcher",
    ["basic", *(pytest.param(name, marks=pytest.mark.slow) for name in ("workers", "slurm_local"))],
)
def test_every_launcher_logs_while_it_happens(launcher: str, tmp_path: Path) -> None:
    """And takes any number for a budget."""
    grid = ("epsilon=0.37,5.0", "model.epochs=3", f"hydra/launcher={launcher}", "-m")
    finish(tmp_path, *grid)
    shutil.rmtree(tmp_path / "cache")
    cells = [next(tmp_path.glob(f"demo-*-laplace-eps{budget}-*")) for budget in ("0.37", "5")]
    for cell in cells:
        assert numbers(cell) == [1, 2, 3]
        found = logged(cell)
        assert found["job_type"] == "cell" and found["group"].startswith("sweep-")
        begun, *_, ended = found["history"]
        assert ended["_runtime"] - begun["_runtime"] > 0.1
