"""Kills in every stage, full disks, damaged files: each time the next run ends like one that nobody disturbed.

What is tried here is counted in docs/reliability.md.
"""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from chaos_helpers import RUN, STAGES, cells, clean, command, finish, found, start, status
from conftest import ROOT, until

from trlap.config.door import Config
from trlap.runs import pipeline

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outputs = tmp_path_factory.mktemp("undisturbed") / "outputs"
    finish(outputs)
    return outputs


def begun(outputs: Path, stage: str) -> bool:
    return bool(status(outputs).get("stage") == stage)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_a_run_that_is_killed_in_any_stage_ends_like_any_other(
    number: signal.Signals, undisturbed: Path, tmp_path: Path
) -> None:
    """Nine kills: one when each stage has begun, after a moment that chance chooses."""
    moments = random.Random(int(number))
    expected, hit = found(undisturbed), Counter[str]()
    for stage in STAGES:
        outputs = tmp_path / stage
        outputs.mkdir()
        process = start(outputs)
        until(partial(begun, outputs, stage))
        time.sleep(moments.random() * (1.0 if stage == "rewrite" else 0.05))
        process.send_signal(number)
        process.communicate(timeout=60)
        assert process.returncode in (-number, 128 + number)
        left = status(outputs)
        hit[left["stage"]] += 1
        wanted = "interrupted" if number == signal.SIGTERM else "running"
        assert left["status"] == wanted, left
        assert "said" not in finish(outputs)
        assert found(outputs) == expected
        assert clean(outputs)
    print(f"{number.name}: {dict(hit)}")
    assert {"rewrite", "classify", "audit"} <= hit.keys() and len(hit) >= 6


def namespaces() -> bool:
    """Whether this machine lets us mount a small disk of our own."""
    try_it = "mount -t tmpfs -o size=8k tmpfs /mnt"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", try_it], capture_output=True)
    return done.returncode == 0


def test_a_full_disk_is_one_line_and_the_run_goes_on(undisturbed: Path, tmp_path: Path) -> None:
    """Twelve disks, from one that takes next to nothing to one that is nearly large enough."""
    if shutil.which("unshare") is None or not namespaces():
        pytest.skip("no small disk can be mounted here (unshare -rm)")
    expected, full = found(undisturbed), 0
    disk = tmp_path / "disk"
    disk.mkdir()
    outputs = disk / "outputs"
    size = 2000
    for step in range(12):
        outcome = tmp_path / f"outcome{step}"
        room = round(10 + size * step / 12)
        inside = [str(disk), str(room), str(outcome), str(outputs), *command(outputs)]
        script = str(Path(__file__).with_name("full_disk.py"))
        line = ["unshare", "-rm", sys.executable, script, *inside]
        done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["codes"][1] == 0, told
        if told["codes"][0] != 0:
            full += 1
            assert told["codes"][0] == 2, told
            assert told["err"][0].count("\n") == 1, told["err"][0]
            assert "the disk is full" in told["err"][0]
        assert found(outcome) == expected
    print(f"full disks: {full} of 12")
    assert full >= 8


DAMAGES: list[Callable[[Path], Any]] = [
    lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    lambda path: path.unlink(),
    lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]),
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(path.read_bytes() + b"\n"),
]


def test_every_file_of_a_finished_cache_is_damaged_once_and_each_is_found(
    undisturbed: Path,
    tmp_path: Path,
    config: Callable[..., Config],
    capsys: pytest.CaptureFixture[str],
) -> None:
    outputs = tmp_path / "outputs"
    shutil.copytree(undisturbed, outputs)
    settings = config(f"outputs={outputs}", *RUN)
    expected = found(outputs)
    (cell,) = cells(outputs)
    files = sorted(path for path in (outputs / "cache").rglob("*") if path.is_file())
    tried = 0
    for turn, path in enumerate(files):
        DAMAGES[turn % len(DAMAGES)](path)
        # so that the run looks into the cache
        (cell / "result.json").unlink()
        folder = path.relative_to(outputs / "cache").parts[0]
        if not folder.startswith(STAGES):
            # neighbours of words are looked at when noise is drawn
            for private in (outputs / "cache").glob("privatize-*"):
                shutil.rmtree(private)
        capsys.readouterr()
        pipeline.run(settings)
        said = capsys.readouterr().err
        assert f"{folder} in the cache cannot be used" in said, path
        assert found(outputs) == expected
        tried += 1
    print(f"damaged files of the cache: {tried}")
    assert tried >= 30 and clean(outputs)


def test_every_file_of_a_finished_run_is_damaged_once_and_each_is_found(
    undisturbed: Path, tmp_path: Path
) -> None:
    outputs = tmp_path / "outputs"
    shutil.copytree(undisturbed, outputs)
    (cell,) = cells(outputs)
    expected = found(outputs)
    names = sorted(path.name for path in cell.iterdir() if path.name != "run.log")
    for turn, name in enumerate(names):
        DAMAGES[turn % 2](cell / name)
        said = finish(outputs)
        assert said.count("note: ") == 1 or not (cell / name).exists() or name == "status.json"
        assert found(outputs) == expected
    print(f"damaged files of a run: {len(names)}")


def test_two_sweeps_at_once_of_which_one_is_killed(tmp_path: Path) -> None:
    grid = ("mechanism=krr,srr", "epsilon=2,4", "-m")
    alone, both = tmp_path / "alone", tmp_path / "both"
    finish(alone, *grid)
    first, second = start(both, *grid), start(both, *grid)
    until(lambda: next((both / "cache").glob(".rewrite-*.partial/last.ckpt"), None), 200)
    first.kill()
    first.communicate()
    _, err = second.communicate(timeout=300)
    assert second.returncode == 0 and "Traceback" not in err, err
    assert found(both) == found(alone)
    assert len(cells(both)) == 4
