"""W&B offline runs, read back with W&B's own protobufs; outages."""

import importlib.util
import json
import re
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, TINY, Run
from hydra import compose, initialize_config_dir

from trlap.config.door import config_from
from trlap.runs import tracking
from trlap.runs.cell import Cell
from trlap.runs.result import Tracked

CELL = (
    "mechanism=laplace",
    "epsilon=5",
    *TINY,
    "model.epochs=3",
    "audit.samples=200",
    "audit.tokens=20",
    "audit.words=5",
    "audit.draws=10",
)


def records(file: Path) -> Iterator[Any]:
    """A .wandb file is 7 bytes of header, then LevelDB's log: blocks of 32 KiB, in which records and
    parts of records each have a checksum, a length and a type (1 whole, 2 first, 3 middle, 4 last).
    """
    from wandb.proto import wandb_internal_pb2

    data = file.read_bytes()
    assert data[:4] == b":W&B"
    at, parts = 7, b""
    while at + 7 <= len(data):
        if (room := 32768 - at % 32768) < 7:
            at += room
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        if at + 7 + length > len(data):
            return  # still being written
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            # made when it is imported, so that no type checker sees it
            yield wandb_internal_pb2.Record.FromString(parts)  # type: ignore[attr-defined]
            parts = b""


def logged(folder: Path) -> dict[str, Any]:
    """Of a run that has ended; W&B's own process may write its last records a little later."""
    (file,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    end = time.monotonic() + 60
    while not any(record.HasField("exit") for record in records(file)):
        assert time.monotonic() < end, "the run does not end"
        time.sleep(0.1)
    found: dict[str, Any] = {"config": {}, "history": [], "summary": {}}

    def items(them: Any) -> dict[str, Any]:
        return {x.key or "/".join(x.nested_key): json.loads(x.value_json) for x in them}

    for record in records(file):
        if record.HasField("run"):
            run = record.run
            found |= {"id": run.run_id, "group": run.run_group, "name": run.display_name}
            found |= {"host": run.host, "git": run.git.remote_url or run.git.commit}
            found["config"] |= items(run.config.update)
        found["history"] += [items(record.history.item)] if record.HasField("history") else []
        found["summary"] |= items(record.summary.update)
        found["text"] = found.get("text", b"") + record.SerializeToString()
    return found


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cell, dict[str, Any]]:
    """A cell that logged offline, and what it logged."""
    keys = (f"outputs={tmp_path_factory.mktemp('wandb')}", "threads=1", *CELL, "sweep=mine")
    command = [sys.executable, str(ROOT / "run.py"), *keys]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        cell = Cell(config_from(compose("config", list(keys))))
    assert f"wandb sync {cell.folder}/wandb/offline-run-*" in done.stdout
    return cell, logged(cell.folder)


def test_an_offline_run_holds_config_group_history_summary_and_no_text(
    tracked: tuple[Cell, dict[str, Any]],
) -> None:
    cell, found = tracked
    result = cell.result()
    assert result.details.wandb and result.details.rewrite
    assert found["id"] == result.details.wandb.id == cell.status().hash
    assert found["group"] == "mine" and found["name"] == cell.name
    # nothing of the machine: not its name, not the repository's address, no log with places
    assert (found["host"], found["git"]) == ("-", "")
    assert not list(cell.folder.glob("wandb/*/logs/*"))
    assert found["config"]["mechanism"] == {"name": "laplace"} | found["config"]["mechanism"]
    assert found["config"]["dataset"]["limit"]["train"] == 60
    epochs = [entry for entry in found["history"] if "rewrite/epoch" in entry]
    trained = result.details.rewrite.history
    for entry, wanted in zip(epochs, trained, strict=True):
        assert entry["rewrite/epoch"] == wanted.epoch
        assert entry["rewrite/loss"] == wanted.train_loss
        assert entry["rewrite/validation_loss"] == wanted.validation_loss
    summary = found["summary"]
    assert summary["metrics/rouge1"] == result.metrics.value("rouge1")
    assert summary["private_metrics/n_w"] == result.private_metrics.value("n_w")
    assert summary["guarantee/holds"] is result.guarantee.holds
    assert summary["guarantee/claimed/epsilon"] == 5
    assert summary["seconds/rewrite"] == result.seconds["rewrite"]
    assert [key for key in summary if key.startswith("audit/")]
    for example in result.details.examples:
        assert example.original.encode() not in found["text"]
    assert not [key for key in summary if key.startswith("examples")]

    # done again: still one folder, now with text, because that was asked for
    cell.config.wandb.log_text = True
    assert tracking.track(cell, result).error is None
    assert [key for key in logged(cell.folder)["summary"] if key.startswith("examples")]
    (table,) = cell.folder.glob("wandb/offline-run-*/files/media/table/*.json")
    assert result.details.examples[0].original in table.read_text()

    # nobody answers
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
        patch.setenv("WANDB_API_KEY", "0" * 40)
        patch.setattr(tracking, "SECONDS", 2)
        cell.config.wandb.mode = "online"
        assert tracking.track(cell, result).error
    cell.config.wandb.mode = "disabled"
    assert tracking.track(cell, result) == Tracked("disabled")


def test_an_outage_is_a_line_in_the_result_and_not_a_failure(run: Run, tmp_path: Path) -> None:
    nobody = {"WANDB_BASE_URL": "not an address", "WANDB_API_KEY": "0" * 40}
    done = run(*CELL, "stages=[privatize]", "wandb.mode=online", **nobody)
    assert done.returncode == 0, done.stderr
    assert "not logged:" in done.stdout


def test_the_dashboard_shows_what_runs_log(tracked: tuple[Cell, dict[str, Any]]) -> None:
    pytest.importorskip("wandb_workspaces", reason="the extra `dashboard` is not installed")
    spec = importlib.util.spec_from_file_location("d", ROOT / "scripts" / "wandb_dashboard.py")
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    workspace = script.build("nobody", "trlap")
    sections = {section.name: section.panels for section in workspace.sections}
    first = next(iter(sections.values()))
    assert {panel.x.name for panel in first} == {"guarantee/exact/epsilon_at_delta_1e6"}
    names = [name for name in sections if name.startswith("Table")]
    assert len(names) == 3
    # what W&B would be sent names only keys that a run has
    sent = workspace._to_model().model_dump_json()
    _, found = tracked
    known = {*found["summary"], *(key for entry in found["history"] for key in entry)}
    for key in re.findall(r"(?:private_metrics|metrics|rewrite|guarantee)/[\w/]+", sent):
        assert key in known or key in ("metrics/bertscore", "metrics/accuracy"), key
    assert "metrics/rouge1" in sent and "rewrite/loss" in sent
    for group in script.GROUPS:
        top, name = group.split(".")
        assert name in found["config"][top]
