"""The authors' code: batches of one length, texts from the code's mean, the Loss of training sentences."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import TINY as CELL
from conftest import Run as Command
from omegaconf import DictConfig
from rewrite_helpers import TINY, released, rows, run, task
from torch import Tensor

from trlap.config.protocols import PAPER, RELEASE, TABLES
from trlap.models.autoencoder import Code
from trlap.models.rewriting import SAMPLE, prepare, sample_loss, write
from trlap.models.training import Training
from trlap.runs.result import Draws, read

KEYS: Mapping[str, Any] = {"protocol": TABLES, "decay": "linear", "warmup": 3, "epochs": 3}


def training(folder: Path, **given: Any) -> Training:
    usual: dict[str, Any] = {"protocol": TABLES, "mechanism": released()}
    return prepare(TINY, task(folder, **(usual | given))).eval()


def test_every_batch_that_is_read_has_one_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[int]] = []
    code = Training.code

    def watched(self: Training, rows: Tensor, generator: torch.Generator) -> Code:
        seen.append(self.source.lengths[rows].tolist())
        return code(self, rows, generator)

    monkeypatch.setattr(Training, "code", watched)
    done = run(tmp_path / "tables", mechanism=released(), **KEYS)
    assert all(len(set(lengths)) == 1 for lengths in seen)
    assert max(map(len, seen)) <= TINY.batch
    # every draw of noise is counted, that of the sample of training sentences too
    assert sum(each.batches for each in done.trained.draws.values()) == len(seen)
    sample = training(tmp_path).batches(SAMPLE)
    assert sum(len(batch) for _, batch in sample) == 8  # as many as validation has
    trained = len(training(tmp_path).batches("train"))
    assert done.trained.draws["train"] == Draws(passes=4, batches=3 * trained + len(sample))
    seen.clear()
    run(tmp_path / "release", mechanism=released(), **{**KEYS, "protocol": RELEASE})
    assert all(len(set(lengths)) == 1 for lengths in seen)
    seen.clear()
    run(tmp_path / "paper", **{**KEYS, "protocol": PAPER})
    assert any(len(set(lengths)) > 1 for lengths in seen)


def test_the_rate_reaches_zero_with_the_last_real_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []
    step = Training.training_step

    def watched(self: Training, batch: tuple[int, Tensor]) -> Tensor:
        rates.append(self.rate(self.global_step))
        return step(self, batch)

    monkeypatch.setattr(Training, "training_step", watched)
    run(tmp_path, mechanism=released(), **KEYS)
    # more than the five batches of 8 that 40 sentences of any length would make
    assert len(rates) == 3 * len(training(tmp_path).batches("train")) > 15
    assert rates[-1] == pytest.approx(1 / len(rates))


def test_texts_do_not_depend_on_the_drawn_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, words = training(tmp_path), released().space.words
    # a code that is drawn from far around
    torch.nn.init.constant_(model.model.to_code.bias[TINY.code :], 4.0)
    first = write(model, "test", words)
    drawn = Code.drawn
    # as another generator would have it; the noise of the mechanism stays what it was
    monkeypatch.setattr(Code, "drawn", lambda code: 2 * code.mean - drawn(code))
    second = write(model, "test", words)
    assert first.texts == second.texts
    assert first.loss != second.loss


def test_the_loss_as_released_is_of_training_sentences(tmp_path: Path) -> None:
    model = training(tmp_path, mechanism=released("none"))
    sample = model.splits[SAMPLE]
    assert len(sample) == 8 and set(sample) < set(model.splits["train"])
    assert sample == training(tmp_path).splits[SAMPLE]
    assert sample != training(tmp_path, seed=8).splits[SAMPLE]
    # where codes are hardly drawn, it is the mean of the sentences' losses, one by one
    torch.nn.init.constant_(model.model.to_code.bias[TINY.code :], -60.0)
    with torch.inference_mode():
        losses = [
            model.loss(row, model.code(row, torch.Generator()).mean)[0].item()
            for row in torch.tensor(sample)[:, None]
        ]
    assert sample_loss(model) == pytest.approx(sum(losses) / 8, rel=1e-4)
    assert sample_loss(training(tmp_path, protocol=PAPER)) is None
    assert sample_loss(training(tmp_path, data=rows(validation=0))) is None


def test_a_cell_of_the_demo(run: Command, tmp_path: Path) -> None:
    stages = "stages=[privatize,rewrite,metrics,audit]"
    small = ("audit.samples=200", "audit.words=2", "audit.tokens=5", "model.epochs=2")
    done = run("protocol=tables", "mechanism=gaussian", "epsilon=1", stages, *small, *CELL)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "outputs").glob("*/result.json")
    result = read(path)
    trained = result.details.rewrite
    assert trained is not None and trained.training_loss is not None
    # the metric is that of the test split all the same
    assert result.metrics.value("loss") == trained.loss != trained.training_loss
    assert trained.draws["train"].passes == 3
    assert result.guarantee.document is not None
    assert result.guarantee.document.draws_a_word == 3
    assert result.guarantee.exact.log10_delta == 0


def test_an_experiment_takes_the_size_of_its_protocol(configure: Callable[..., DictConfig]) -> None:
    def sizes(*more: str) -> tuple[Any, ...]:
        cfg = configure("experiment=table2", "dataset=yelp", *more)
        given = cfg.dataset
        return given.max_words, given.split.train, given.limit.train, cfg.model.hidden

    small, tables = (10, 8539, 4000, 192), (15, 60000, None, 384)
    assert sizes() == sizes("protocol=release") == sizes("protocol=tables", "size=cpu") == small
    assert sizes("protocol=tables") == sizes("protocol=release", "size=tables") == tables
    assert sizes("protocol=tables", "size=paper") == (None, 8539, None, 512)
    own = ("model.hidden=9", "dataset.limit.train=7")
    assert sizes("protocol=tables", *own) == (15, 60000, 7, 9)
    cfg = configure("experiment=table2", "dataset=yelp", "protocol=tables")
    assert (cfg.model.layers, cfg.model.epochs, cfg.clip) == (1, 12, 0.005)
    assert not any(cfg.model.word_noise.values())
    assert "classify" not in cfg.stages
