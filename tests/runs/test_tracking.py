"""W&B offline runs, read back with W&B's own protobufs; outages."""

import copy
import importlib.util
import itertools
import json
import math
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import warm
import yaml
from conftest import ROOT, TINY, Run
from hydra import compose, initialize_config_dir
from wandb_helpers import logged

from trlap import stages
from trlap.config.door import Config, config_from
from trlap.config.epsilon import quote
from trlap.mechanisms import registry
from trlap.runs import tracked as contents
from trlap.runs.cell import Cell
from trlap.runs.result import RunResult, Tracked
from trlap.runs.tracking import Tracker

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


def log_again(cell: Cell, result: RunResult) -> Tracked:
    """As a cell does whose stages are all in the cache, without the stages."""
    with Tracker(cell) as tracker:
        tracker.run_begins()
        tracker.run_done(result)
    return tracker.outcome()


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cell, dict[str, Any]]:
    """A cell that logged offline, and what it logged."""
    keys = (f"outputs={tmp_path_factory.mktemp('wandb')}", "threads=1", *CELL, "sweep=mine")
    done = warm.run([str(ROOT / "run.py"), *keys], ROOT)
    assert done.returncode == 0, done.stderr
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        cell = Cell(config_from(compose("config", quote(keys))))
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


def test_curves_are_drawn_at_the_time_when_they_were(tracked: tuple[Cell, dict[str, Any]]) -> None:
    cell, found = tracked
    details = cell.result().details
    assert details.rewrite and details.classify
    for stage, history in (
        ("rewrite", details.rewrite.history),
        ("classify", details.classify.history),
    ):
        entries = [entry for entry in found["history"] if f"{stage}/epoch" in entry]
        assert [entry[f"{stage}/epoch"] for entry in entries] == list(range(1, len(history) + 1))
        times = [entry["wall_time"] for entry in entries]
        assert times == [entry["_timestamp"] for entry in entries]
        assert times == [epoch.wall_time for epoch in history] == sorted(times)
    # logged while it happened, not in the end: W&B's own clock and ours agree
    begun = found["history"][0]
    for entry in found["history"]:
        assert entry["_timestamp"] - begun["_timestamp"] == pytest.approx(
            entry["_runtime"] - begun["_runtime"], abs=0.5
        )
    trained = [epoch.wall_time for epoch in details.rewrite.history if epoch.wall_time]
    seconds = sum(epoch.seconds or 0 for epoch in details.rewrite.history[1:])
    assert trained[-1] - trained[0] >= seconds - 0.01


def test_stage_and_progress_are_told_and_nothing_twice(
    tracked: tuple[Cell, dict[str, Any]],
) -> None:
    cell, found = tracked
    told = [(entry["stage"], entry["progress"]) for entry in found["history"] if "stage" in entry]
    names = [*cell.identity.folders, "done"]
    assert told == [(name, number / 9) for number, name in enumerate(names)]
    assert not [key for key in found["summary"] if key.startswith("audit/guarantee")]
    assert len({entry["_step"] for entry in found["history"]}) == len(found["history"])


def test_what_a_run_is_filed_under(tracked: tuple[Cell, dict[str, Any]]) -> None:
    cell, found = tracked
    assert found["tags"] == ["paper", "laplace", "holds"]
    assert (found["group"], found["job_type"]) == ("mine", "cell")
    command = found["config"]["command"]
    assert command.startswith("python run.py mechanism=laplace epsilon=5")
    assert str(cell.outputs) not in command
    assert str(cell.outputs).encode() not in found["text"] and b"/staging/" not in found["text"]
    assert str(ROOT).encode() not in found["text"]
    # the classes of the demo are named in no config, so that they stay here
    (table,) = cell.folder.glob("wandb/offline-run-*/files/media/table/confusion*.json")
    rows = json.loads(table.read_text())["data"]
    assert [row[:2] for row in rows][:2] == [["class 1", "class 1"], ["class 1", "class 2"]]
    classified = cell.result().details.classify
    assert classified and classified.confusion
    assert [row[2] for row in rows] == [count for row in classified.confusion for count in row]
    assert found["config"]["epsilon_cap"] == contents.EPSILON_CAP


@pytest.mark.parametrize(("exact", "drawn"), [(math.inf, 1000.0), (3.5, 3.5), (2e5, 1000.0)])
def test_an_infinite_epsilon_can_be_drawn(
    exact: float, drawn: float, tracked: tuple[Cell, dict[str, Any]]
) -> None:
    cell, _ = tracked
    result = cell.result()
    known = replace(result.guarantee.exact, epsilon_at_delta_1e6=exact)
    result = replace(result, guarantee=replace(result.guarantee, exact=known))
    assert contents.summary(cell, result)[contents.EXACT] == drawn


def test_text_is_logged_where_that_is_asked_for_and_there_is_one_folder(
    tracked: tuple[Cell, dict[str, Any]], tmp_path: Path
) -> None:
    result, config = tracked[0].result(), copy.deepcopy(tracked[0].config)
    config.outputs = str(tmp_path)
    cell = Cell(config)
    cell.folder.mkdir()
    assert log_again(cell, result).error is None
    config.wandb.log_text = True
    assert log_again(cell, result).error is None
    assert [key for key in logged(cell.folder)["summary"] if key.startswith("examples")]
    (table,) = cell.folder.glob("wandb/offline-run-*/files/media/table/examples*.json")
    assert result.details.examples[0].original in table.read_text()
    (table,) = cell.folder.glob("wandb/offline-run-*/files/media/table/confusion*.json")
    assert "positive" in table.read_text()
    config.wandb.mode = "disabled"
    assert log_again(cell, result) == Tracked("disabled")


def test_an_outage_is_a_line_in_the_result_and_not_a_failure(run: Run, tmp_path: Path) -> None:
    nobody = {"WANDB_BASE_URL": "not an address", "WANDB_API_KEY": "0" * 40}
    done = run(*CELL, "stages=[privatize]", "wandb.mode=online", **nobody)
    assert done.returncode == 0, done.stderr
    assert "not logged:" in done.stdout


@pytest.mark.slow
def test_who_does_not_answer_costs_ten_seconds_and_the_run_is_logged_offline(
    run: Run, tmp_path: Path
) -> None:
    """A server that takes connections and never says a word: the worst of outages."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        nobody = {"WANDB_BASE_URL": address, "WANDB_API_KEY": "0" * 40}
        started = time.monotonic()
        done = run(*CELL, "stages=[privatize]", "wandb.mode=online", **nobody)
        seconds = time.monotonic() - started
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("note: W&B is not reached") and done.stderr.count("\n") == 1
    (folder,) = tmp_path.glob("outputs/demo-*")
    assert "wandb sync" in done.stdout and logged(folder)["summary"]["progress"] == 1
    said = json.loads((folder / "result.json").read_text())["details"]["wandb"]
    assert said["mode"] == "offline" and said["outage"]
    # ten, and what the run itself takes
    assert seconds < 25


def test_nobody_is_logged_in(run: Run, tmp_path: Path) -> None:
    alone = {"HOME": str(tmp_path), "WANDB_API_KEY": "", "NETRC": str(tmp_path / "none")}
    done = run(*CELL, "stages=[privatize]", "wandb.mode=online", **alone)
    assert done.returncode == 0 and "nobody is logged in" in done.stderr, done.stderr
    assert "wandb sync" in done.stdout


DASHBOARD = ROOT / "scripts" / "wandb_dashboard.py"


def test_the_dashboard_shows_what_runs_log(tracked: tuple[Cell, dict[str, Any]]) -> None:
    pytest.importorskip("wandb_workspaces", reason="the extra `dashboard` is not installed")
    spec = importlib.util.spec_from_file_location("d", DASHBOARD)
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
    for key in (*script.GROUPS, *script.COLUMNS):
        top, _, name = key.partition(".")
        assert top in found["config"] and (not name or name in found["config"][top])
    # a group of runs is a mechanism, and has its colour
    assert registry.look("laplace").colour in sent and registry.look("crr").colour in sent


def test_the_dashboard_helps_and_says_in_one_line_that_nobody_is_logged_in(tmp_path: Path) -> None:
    def call(*words: str) -> subprocess.CompletedProcess[str]:
        alone = {"HOME": str(tmp_path), "WANDB_API_KEY": "", "NETRC": str(tmp_path / "none")}
        command = [sys.executable, str(DASHBOARD), *words]
        return subprocess.run(command, capture_output=True, text=True, env=os.environ | alone)

    for helped in (call("--help"), call("entity=you", "--help")):
        assert (helped.returncode, helped.stderr) == (0, "")
        assert "python scripts/wandb_dashboard.py entity=you" in helped.stdout
    pytest.importorskip("wandb_workspaces", reason="the extra `dashboard` is not installed")
    alone = call("entity=you")
    assert alone.returncode == 1 and alone.stdout == ""
    assert alone.stderr == "error: nobody is logged in to W&B; `wandb login` does that\n"


def test_the_sweep_of_wandb_is_table_2(config: Callable[..., Config]) -> None:
    sweep = yaml.safe_load((ROOT / "scripts" / "wandb_sweep_table2.yaml").read_text())
    ours = yaml.safe_load((ROOT / "conf" / "experiment" / "table2.yaml").read_text())
    grid = {key: values["values"] for key, values in sweep["parameters"].items()}
    params = ours["hydra"]["sweeper"]["params"]
    assert {key: ",".join(map(str, values)) for key, values in grid.items()} == params
    assert sweep["program"] == "run.py" and sweep["method"] == "grid"
    head, fixed = sweep["command"][:3], sweep["command"][3:-1]
    assert head == ["${env}", "${interpreter}", "${program}"]
    assert sweep["command"][-1] == "${args_no_hyphens}"
    names = set()
    # of the first two keys, protocol and dataset, one pair has all that differs in the others
    first = {key: values[:1] for key, values in list(grid.items())[:2]}
    for values in itertools.product(*(grid | first).values()):
        given = [f"{key}={value}" for key, value in zip(grid, values, strict=True)]
        settings = config(*fixed, *given, "plan=true")
        stages.check(settings)
        names.add(Cell(settings).name)
    # without noise there is no ε
    assert len(names) == 3 * 4 + 1


def test_a_line_of_that_sweep_can_be_planned(run: Run) -> None:
    sweep = yaml.safe_load((ROOT / "scripts" / "wandb_sweep_table2.yaml").read_text())
    first = [f"{key}={value['values'][-1]}" for key, value in sweep["parameters"].items()]
    done = run(*sweep["command"][3:-1], *first, "plan=true")
    assert done.returncode == 0 and "plan · 1 cell" in done.stdout, done.stderr
