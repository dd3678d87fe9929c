"""A cell's state on disk: what counts as finished, and files that say nothing."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import TINY

from trlap.config.door import Config
from trlap.runs import pipeline, signals
from trlap.runs.cell import Cell, Status, read_status
from trlap.runs.listening import Listener
from trlap.runs.lock import Lock
from trlap.runs.result import RunResult

GARBAGE = (
    *("", "[]", "{", "null", "5", '"ok"', "\x00\x01", '{"status": 5}', '{"stages": null}'),
    *('{"stages": {"a": 1}}', '{"pid": true}', '{"started": "soon"}', '{"unheard": 1}'),
)
QUICK = (*TINY, "stages=[privatize]", "wandb.mode=disabled", "threads=1")


@pytest.mark.parametrize("text", GARBAGE)
def test_a_status_that_says_nothing_is_absent_and_said_once(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "status.json").write_text(text)
    assert read_status(tmp_path) == read_status(tmp_path) == Status()
    assert capsys.readouterr().err.count("status.json cannot be read") == 1


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "garbage", "{}", "\x00", '{"host": "a", "pid": 1}'),
        *(
            json.dumps({"host": "a", "pid": pid, "started": 0, "lock": "x"})
            for pid in ("x", None, -5)
        ),
    ],
)
def test_a_lock_that_names_nobody_is_free(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = Lock(tmp_path / "lock")
    lock.path.write_text(text)
    assert lock.owner() is None
    with lock.hold(wait=False):
        assert Lock(tmp_path / "lock").owner() is not None
        lock.path.write_text(text)  # damaged while it is held
    assert capsys.readouterr().err.count("names no process") == 1


@pytest.fixture
def finished(config: Callable[..., Config], tmp_path: Path) -> Cell:
    cell = Cell(config(f"outputs={tmp_path}/outputs", *QUICK))
    pipeline.run(cell.config)
    assert cell.finished()
    return cell


def test_a_finished_run_whose_files_are_not_as_they_were_is_not_finished(
    finished: Cell, capsys: pytest.CaptureFixture[str]
) -> None:
    def edited(folder: Path) -> None:
        result = json.loads((folder / "result.json").read_text())
        text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        assert text == (folder / "result.json").read_text()
        (folder / "result.json").write_text(text.replace('"seed": 42', '"seed": 43', 1))

    def shorter(folder: Path) -> None:
        lines = (folder / "private.jsonl").read_text().splitlines(keepends=True)
        (folder / "private.jsonl").write_text("".join(lines[:-5]))

    damages: list[tuple[Callable[[Path], Any], str]] = [
        (lambda folder: (folder / "result.json").unlink(), "result.json is missing"),
        (lambda folder: (folder / "result.json").write_text(""), "result.json has 0 bytes"),
        (lambda folder: (folder / "result.json").write_text("[]"), "result.json has 2 bytes"),
        (edited, "result.json is not as it was written"),
        (lambda folder: (folder / "private.jsonl").unlink(), "private.jsonl is missing"),
        (shorter, "private.jsonl has"),
        (lambda folder: (folder / "config.yaml").unlink(), "config.yaml is missing"),
        (lambda folder: (folder / "status.json").write_text(""), "status.json cannot be read"),
        (lambda folder: (folder / "status.json").unlink(), ""),
    ]
    texts = {path.name: path.read_bytes() for path in finished.folder.glob("*.jsonl")}
    for damage, said in damages:
        capsys.readouterr()
        damage(finished.folder)
        assert not finished.finished()
        assert said in capsys.readouterr().err
        pipeline.run(finished.config)
        assert finished.finished()
        assert texts == {path.name: path.read_bytes() for path in finished.folder.glob("*.jsonl")}


def test_a_defect_keeps_its_traceback_and_a_mistake_its_line(
    finished: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "work", lambda cell, listener: 1 / 0)
    finished.config.force = True
    with pytest.raises(ZeroDivisionError):
        pipeline.run(finished.config)
    status = finished.status()
    assert status.status == "failed" and str(status.error).startswith("Traceback")
    assert status.reason == "ZeroDivisionError: division by zero"


def test_a_signal_that_a_library_turned_into_an_error_is_an_interruption(
    finished: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(cell: Cell, listener: Listener) -> RunResult:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            raise AssertionError("the signal was not heeded")
        except SystemExit:
            raise ImportError("as a library says that catches everything") from None

    monkeypatch.setattr(pipeline, "work", work)
    finished.config.force = True
    with pytest.raises(SystemExit) as stopped, signals.heeded():
        pipeline.run(finished.config)
    assert stopped.value.code == 128 + signal.SIGTERM
    assert finished.status().status == "interrupted"


def test_what_a_killed_writer_left_in_its_folder_goes(finished: Cell) -> None:
    left = finished.folder / ".result.json.abc.partial-file"
    left.write_text("half")
    (finished.folder / "result.json").unlink()
    pipeline.run(finished.config)
    assert not left.exists()
