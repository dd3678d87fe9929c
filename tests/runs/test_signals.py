"""SIGTERM and SIGHUP: never exit code 0, never `ok`, and the next run goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import warm
from conftest import ROOT, TINY, until

from trlap.runs import signals

LONG = (
    *TINY,
    "threads=1",
    "wandb.mode=disabled",
    "model.epochs=2000",
    "stages=[privatize,rewrite]",
)


def start(outputs: Path, *overrides: str) -> warm.Process:
    return warm.Process([str(ROOT / "run.py"), f"outputs={outputs}", *LONG, *overrides], ROOT)


def statuses(outputs: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in outputs.glob("*/status.json")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_training_is_an_interruption(number: signal.Signals, tmp_path: Path) -> None:
    process = start(tmp_path)
    until(lambda: next(tmp_path.glob("cache/.rewrite-*.partial/last.ckpt"), None))
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "results" not in out and "Traceback" not in err, err
    assert err.endswith("interrupted; the same command goes on from what is done\n")
    (status,) = statuses(tmp_path)
    assert status["status"] == "interrupted" and status["stage"] == "rewrite"
    # nobody holds it any more
    assert not list(tmp_path.glob("*/lock"))


def test_a_signal_before_anything_began(tmp_path: Path) -> None:
    for wait in (0.05, 0.4, 0.8):
        process = start(tmp_path)
        time.sleep(wait)
        process.terminate()
        process.communicate(timeout=60)
        assert process.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
        assert all(status["status"] != "ok" for status in statuses(tmp_path))


@pytest.mark.slow
def test_a_sweep_with_workers_says_which_cells_were_interrupted(tmp_path: Path) -> None:
    workers = ("hydra/launcher=workers", "hydra.launcher.n_jobs=2")
    process = start(tmp_path, "mechanism=none,laplace", *workers, "-m")
    until(lambda: len(list(tmp_path.glob("cache/.rewrite-*.partial/last.ckpt"))) == 2)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in err, err
    assert err.endswith("interrupted; 0 of 2 cells are done, the same command does the rest\n")
    assert [status["status"] for status in statuses(tmp_path)] == ["interrupted"] * 2


def test_what_is_ignored_stays_ignored_and_a_lost_signal_is_not_forgotten() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with pytest.raises(SystemExit) as stopped, signals.heeded():
            os.kill(os.getpid(), signal.SIGHUP)  # nohup
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(1)
            except SystemExit:
                pass  # as in a destructor
            os.kill(os.getpid(), signal.SIGTERM)  # a second one does not break the tidying up
        assert stopped.value.code == 128 + signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_belongs_together_is_done_before_a_signal_raises() -> None:
    done = []
    with pytest.raises(SystemExit), signals.heeded():
        with signals.deferred():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("first")
            with signals.deferred():
                done.append("second")
            done.append("third")
        done.append("too late")
    assert done == ["first", "second", "third"]
    assert not signals.received()


def test_a_worker_ends_by_the_signal_itself() -> None:
    code = (
        "import time; from trlap.runs import signals\n"
        "with signals.heeded(die=True):\n    print('ready', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM
