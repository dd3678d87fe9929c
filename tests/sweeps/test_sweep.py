"""Sweeps for real, in sub-processes: plans, failures, kills, two at once, other launchers."""

import json
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import warm
from conftest import ROOT, TINY, Run, until

from trlap.config.door import Config
from trlap.runs import pipeline
from trlap.runs.cell import Cell
from trlap.runs.lock import Lock

CELL = (
    "threads=1",
    *TINY,
    "model.epochs=2",
    "stages=[privatize,rewrite,metrics]",
    "wandb.mode=disabled",
)
QUICK = (*CELL, "stages=[privatize,metrics]")


def start(*overrides: str) -> warm.Process:
    return warm.Process([str(ROOT / "run.py"), "-m", *overrides], ROOT)


def sweep(outputs: Path, *overrides: str, code: int = 0) -> str:
    """What a sweep prints."""
    process = start(f"outputs={outputs}", *overrides)
    out, err = process.communicate()
    assert process.returncode == code, out + err
    return out


def read(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / name).read_text())


def cells(outputs: Path) -> dict[str, Path]:
    return {path.name: path for path in sorted(outputs.iterdir()) if path.name != "cache"}


def metrics(outputs: Path) -> dict[str, str]:
    """All that a cell measured, to the last digit, and the text that it wrote."""
    found = {}
    for name, folder in cells(outputs).items():
        result = read(folder, "result.json")
        values = [result[key] for key in ("metrics", "private_metrics", "intervals", "guarantee")]
        trained = result["details"]["rewrite"] or {}
        trained = {key: value for key, value in trained.items() if key != "history"}
        texts = [f.read_text() for f in sorted(folder.glob("*.jsonl"))]
        found[name] = json.dumps([values, trained, texts])
    assert found
    return found


def lines(text: str, state: str) -> list[str]:
    """Lines of the table in the end, or of the plan."""
    return [x for x in text.splitlines() if x.startswith(f"  {state} ")]


def test_plan_says_what_is_done_to_do_invalid_and_the_same(run: Run, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    grid = ("epsilon=1,2,-1", *QUICK, "plan=true")
    planned = sweep(outputs, *grid, "mechanism=none,laplace", code=1)  # as the sweep would end
    assert not outputs.exists()  # it runs nothing
    assert len(lines(planned, "to do")) == 3
    assert planned.count("no measured cell yet") == 3
    (same,) = (x for x in lines(planned, "to do") if "-none-epsinf-" in x)
    assert "also epsilon=2 mechanism=none" in same
    invalid = lines(planned, "invalid")
    assert len(invalid) == 2
    assert all("epsilon=-1.0: must be in (0, inf]" in line for line in invalid)

    assert run("mechanism=laplace", "epsilon=1", *QUICK).returncode == 0
    (folder,) = cells(tmp_path / "outputs").values()
    planned = sweep(outputs, *grid, "mechanism=laplace,krr", code=1)
    (done,) = lines(planned, "done")
    assert folder.name in done and "Rouge1" in done
    measured = [x for x in lines(planned, "to do") if "about" in x and "MB" in x]
    assert len(measured) == 3
    assert "one after another" in planned.splitlines()[-1]

    status = read(folder, "status.json") | {"status": "running"}  # as after a kill
    (folder / "status.json").write_text(json.dumps(status))
    single = run("mechanism=laplace", "epsilon=1", *QUICK, "plan=true")
    (partial,) = lines(single.stdout, "partial")
    assert "has guarantee, privatize, metrics" in partial


@pytest.fixture
def broken(config: Callable[..., Config], tmp_path: Path) -> Callable[..., Path]:
    def broken(*overrides: str) -> Path:
        """A folder stands where the cell is to write a file."""
        folder = Cell(config(f"outputs={tmp_path}/outputs", *overrides)).folder
        (folder / "private.jsonl" / "x").mkdir(parents=True)
        return folder

    return broken


def test_one_fails_one_is_invalid_the_others_go_on(
    broken: Callable[..., Path], tmp_path: Path
) -> None:
    folder = broken("mechanism=none", *QUICK)
    outputs = tmp_path / "outputs"
    grid = ("mechanism=none,laplace,krr", "epsilon=1,0", *QUICK)
    done = sweep(outputs, *grid, code=1)
    assert len(lines(done, "ok")) == 2
    assert len(lines(done, "invalid")) == 3
    (failed,) = lines(done, "failed")
    assert folder.name in failed and "a folder of that name is in the way" in failed
    status = read(folder, "status.json")
    assert status["status"] == "failed" and status["error"].startswith("cannot write to")
    told = [x.split()[1] for x in done.splitlines() if x.startswith("[")]
    assert told[:3] == ["invalid"] * 3  # known before the first one starts
    assert "invalid" not in told[3:]

    before = {
        name: (at / "status.json").read_bytes() for name, at in cells(tmp_path / "outputs").items()
    }
    (folder / "private.jsonl" / "x").rmdir()
    (folder / "private.jsonl").rmdir()
    again = sweep(outputs, *grid, "epsilon=1")
    assert len(lines(again, "done")) == 2
    assert folder.name in "".join(lines(again, "ok"))
    for name, at in cells(tmp_path / "outputs").items():
        assert ((at / "status.json").read_bytes() == before[name]) == (name != folder.name)


def test_fail_fast_stops_at_the_first(broken: Callable[..., Path], tmp_path: Path) -> None:
    broken("mechanism=none", *QUICK)
    done = sweep(tmp_path / "outputs", "mechanism=none,laplace", *QUICK, "fail_fast=true", code=1)
    assert len(lines(done, "failed")) == 1
    assert len(lines(done, "to do")) == 1


def test_a_killed_sweep_goes_on_and_ends_like_any_other(tmp_path: Path) -> None:
    import torch

    grid = ("mechanism=none,trlap", "epsilon=5", *CELL, "model.epochs=20")
    killed = start(*grid, f"outputs={tmp_path}/killed")
    cache = tmp_path / "killed" / "cache"
    checkpoint = until(lambda: next(cache.glob(".rewrite-*.partial/last.ckpt"), None))
    killed.kill()
    killed.wait()
    trained = torch.load(checkpoint, weights_only=True)["history"]
    assert 0 < len(trained) < 20  # it was in the middle of training
    (folder,) = cells(tmp_path / "killed").values()
    assert read(folder, "status.json")["stage"] == "rewrite"
    assert (folder / "lock").exists()

    for outputs in ("killed", "whole"):
        sweep(tmp_path / outputs, *grid)
    history = read(folder, "result.json")["details"]["rewrite"]["history"]
    assert history[: len(trained)] == trained  # their seconds too: these epochs were not done again
    assert len(history) == 20
    assert metrics(tmp_path / "killed") == metrics(tmp_path / "whole")


def test_two_sweeps_at_once_never_work_on_one_cell(tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    grid = ("mechanism=laplace,krr", "epsilon=1,2,3,4", *QUICK, f"outputs={outputs}")
    both = [start(*grid), start(*grid)]
    seen: set[tuple[str, int, float]] = set()
    while any(process.poll() is None for process in both):
        for status in outputs.glob("*/status.json"):
            found = json.loads(status.read_text())
            seen.add((status.parent.name, found["pid"], found["started"]))
        time.sleep(0.01)
    for process in both:
        out, err = process.communicate()
        assert process.returncode == 0, out + err
        assert len(lines(out, "ok") + lines(out, "done")) == 8
    assert len({name for name, _, _ in seen}) == len(seen) == 8
    assert not list(outputs.rglob("*lock*"))


def test_a_cell_that_another_process_works_on_comes_last(
    config: Callable[..., Config], tmp_path: Path
) -> None:
    keys = (*QUICK, f"outputs={tmp_path}/outputs")
    folder = Cell(config("mechanism=none", *keys)).folder
    with Lock(folder / "lock").hold():
        sweep = start("mechanism=none,laplace", *keys)
        until(
            lambda: [
                x for x in cells(tmp_path / "outputs").values() if (x / "result.json").exists()
            ]
        )
        time.sleep(1)
        assert sweep.poll() is None
        assert not (folder / "status.json").exists()
    out, err = sweep.communicate()
    assert sweep.returncode == 0, out + err
    assert len(lines(out, "ok")) == 2
    assert read(folder, "status.json")["status"] == "ok"


def test_a_single_run_waits_for_a_cell_that_another_process_works_on(
    config: Callable[..., Config], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = config("mechanism=none", *QUICK, f"outputs={tmp_path}/outputs")
    folder = Cell(given).folder
    with ThreadPoolExecutor() as pool:
        with Lock(folder / "lock").hold():
            run = pool.submit(pipeline.run, given)
            told = until(lambda: capsys.readouterr().err)
            assert f"process {os.getpid()} on" in told
            assert not run.done() and not (folder / "status.json").exists()
        assert run.result().status == "ok"


SMOKE = (
    "experiment=smoke",
    "metrics.bertscore.model=null",
    "metrics.bootstrap=10",
    "embedding=random",
    "embedding.dimension=32",
    "dataset.limit.train=150",
    "model.epochs=2",
    "audit.samples=400",
    "wandb.mode=disabled",
    "threads=1",
)


@pytest.fixture(scope="session")
def serial(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    outputs = tmp_path_factory.mktemp("serial")
    sweep(outputs, *SMOKE)
    return metrics(outputs)


def test_workers_give_the_same_to_the_last_byte(serial: dict[str, str], tmp_path: Path) -> None:
    done = sweep(tmp_path, *SMOKE, "hydra/launcher=workers", "hydra.launcher.n_jobs=2")
    assert len(lines(done, "ok")) == len(serial) == 4
    assert metrics(tmp_path) == serial


@pytest.mark.slow
def test_submitit_gives_the_same_and_a_preempted_job_goes_on(
    serial: dict[str, str], tmp_path: Path
) -> None:
    process = start(*SMOKE, "hydra/launcher=slurm_local", f"outputs={tmp_path}")
    checkpoint = until(lambda: next(tmp_path.glob("cache/.rewrite-*.partial/last.ckpt"), None))
    owner = checkpoint.parent.with_suffix(".lock")
    os.kill(json.loads(owner.read_text())["pid"], signal.SIGUSR2)  # what Slurm sends
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert len(lines(out, "ok")) == 4
    logs = "".join(log.read_text() for log in tmp_path.rglob("*_log.out"))
    assert "Requeued job" in logs
    assert metrics(tmp_path) == serial


@pytest.mark.slow
def test_ray_gives_the_same(serial: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="`make ray` was not run")
    done = sweep(tmp_path, *SMOKE, "hydra/launcher=ray_cluster")
    assert len(lines(done, "ok")) == 4
    assert metrics(tmp_path) == serial


@pytest.mark.slow
def test_cells_whose_worker_was_killed_are_tried_again(tmp_path: Path) -> None:
    keys = (*CELL, "model.epochs=300", f"outputs={tmp_path}", "hydra/launcher=workers")
    process = start("mechanism=none,laplace", *keys, "hydra.launcher.n_jobs=2")
    until(lambda: len(list(tmp_path.glob("cache/.rewrite-*.partial/last.ckpt"))) == 2)
    pids = {read(folder, "status.json")["pid"] for folder in cells(tmp_path).values()}
    assert len(pids) == 2
    os.kill(pids.pop(), signal.SIGKILL)
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert len(lines(out, "ok")) == 2
