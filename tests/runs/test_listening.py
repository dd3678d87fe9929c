"""What is told of a run, to whom, and what a terminal shows of it."""

import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, TINY, Run

from trlap import stages
from trlap.config.door import Config
from trlap.runs.listening import Listener, Step
from trlap.runs.result import Epoch
from trlap.stages.execute import Execution

CELL = (*TINY, "mechanism=laplace", "epsilon=5", "model.epochs=2", "threads=1")
SHORT = "stages=[privatize,rewrite,metrics]"


class Notebook(Listener):
    def __init__(self) -> None:
        self.steps: list[str] = []
        self.epochs: list[tuple[str, Epoch]] = []

    def stage_begins(self, step: Step) -> None:
        self.steps.append(str(step))

    def epoch_done(self, stage: str, epoch: Epoch) -> None:
        self.epochs.append((stage, epoch))

    def stage_done(self, step: Step, folder: str) -> None:
        assert folder.startswith(step.stage)


def heard(config: Config) -> Notebook:
    notebook = Notebook()
    execution = Execution(config, notebook)
    for stage in stages.chosen(config):
        execution.do(stage)
    return notebook


def test_every_epoch_is_told_once_and_the_same_from_the_cache(
    config: Callable[..., Config], tmp_path: Path
) -> None:
    settings = config(*CELL, f"outputs={tmp_path}", "stages=[privatize,rewrite,classify]")
    settings.classifier.keys.seeds, settings.classifier.keys.epochs = [1, 2], 4
    live, cached = heard(settings), heard(settings)
    assert live.epochs == cached.epochs and live.steps == cached.steps
    numbers = [(stage, epoch.epoch) for stage, epoch in live.epochs]
    # of the classifier those of its first seed, which the result keeps too
    learned = [("classify", number) for number in range(1, len(numbers) - 1)]
    assert numbers == [("rewrite", 1), ("rewrite", 2), *learned] and len(learned) <= 4
    times = [epoch.wall_time or 0 for _, epoch in live.epochs]
    assert times == [epoch.wall_time for _, epoch in cached.epochs]
    assert times == sorted(times) and abs(time.time() - times[0]) < 600
    assert live.steps[0] == "1/7 reading the corpus"
    assert live.steps[-1] == "7/7 training the classifier"


def test_who_does_not_count_gets_numbers(config: Callable[..., Config]) -> None:
    notebook = Notebook()
    execution = Execution(config(), notebook)
    for loss in (3.0, 2.0):
        execution.report(stages.REWRITE, Epoch(train_loss=loss))
    execution.report(stages.REWRITE, Epoch(epoch=2, train_loss=2.0))
    assert [(epoch.epoch, epoch.train_loss) for _, epoch in notebook.epochs] == [(1, 3.0), (2, 2.0)]


def test_every_stage_says_in_words_what_it_does() -> None:
    words = [stage.doing for stage in stages.STAGES]
    assert len(set(words)) == len(words) and all(re.match("[a-z]+ing .+", said) for said in words)


def test_results_without_times_of_epochs_are_read() -> None:
    from trlap.runs import records

    old = {"epoch": 1, "train_loss": 2.0, "seconds": 1.5}
    epoch = records.from_json(Epoch, old)
    assert epoch.wall_time is None and records.to_json(epoch) == old
    later = replace(epoch, wall_time=12.5)
    assert records.from_json(Epoch, records.to_json(later)).wall_time == 12.5


def on_a_terminal(*words: str) -> tuple[str, float]:
    """What a terminal shows of a run, and after how many seconds its first line stood there."""
    ours, theirs = pty.openpty()
    started, first, shown = time.monotonic(), 0.0, b""
    with subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), *words],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        cwd=ROOT,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    ) as process:
        os.close(theirs)
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # nobody writes any more
                break
            if not part:
                break
            shown += part
            first = first or (time.monotonic() - started if b"\n" in shown else 0.0)
    os.close(ours)
    assert process.returncode == 0, shown.decode()
    return shown.decode(), first


def test_a_terminal_shows_the_stage_by_name_and_epochs_from_1(tmp_path: Path) -> None:
    words = (*CELL, f"outputs={tmp_path}", SHORT, "wandb.mode=disabled")
    names = ("corpus", "vocabulary", "embedding", "guarantee", "privatize", "rewrite", "metrics")
    done = [stage for stage in stages.STAGES if stage.name in names]
    shown, first = on_a_terminal(*words)
    lines = re.findall(r"(\d/7 [a-z ]+)\r\n", shown)
    assert lines == [
        "0/7 starting",
        *(f"{number}/7 {stage.doing}" for number, stage in enumerate(done, 1)),
    ]
    assert "Epoch 1/2" in shown and "Epoch 2/2" in shown and "Epoch 0" not in shown
    # before torch is imported; the machine may be busy
    assert first < 5
    # what is done is shown at once, and without stages
    again, _ = on_a_terminal(*words)
    assert again == ""


@pytest.mark.parametrize("words", [(), ("-m",)])
def test_where_nobody_watches_the_log_has_it(
    words: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    done = run(*CELL, "stages=[privatize]", *words)
    assert (done.returncode, done.stderr) == (0, "")
    (log,) = tmp_path.glob("outputs/demo-*/run.log")
    assert "5/5 privatising the text" in log.read_text()
