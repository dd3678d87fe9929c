"""What follows from what stages declare: folders, hashes, provenance; and that they declare it right."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import TINY

from trlap import stages
from trlap.config.door import Config
from trlap.mechanisms.registry import MECHANISMS
from trlap.runs import pipeline
from trlap.runs.cell import Cell, silent_keys
from trlap.stages.base import Identity


def test_stages_read_earlier_ones_only(config: Callable[..., Config]) -> None:
    everything = config("embedding=random", "classify.train_on=rewritten")
    names = [stage.name for stage in stages.STAGES]
    assert len(set(names)) == len(names)
    for number, stage in enumerate(stages.STAGES):
        assert {other.name for other in stage.reads(everything)} <= set(names[:number])
        assert stage.version >= 1
        # every declared key is one of the config's
        everything.values(*stage.keys)


def test_a_version_is_part_of_a_stages_key_and_of_all_that_reads_it(
    config: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Identity(config("embedding=random"))
    assert before.folders
    monkeypatch.setattr(stages.PRIVATIZE, "version", stages.PRIVATIZE.version + 1, raising=False)
    after = Identity(config("embedding=random"))
    moved = {name for name in before.folders if before.folders[name] != after.folders[name]}
    assert moved == {"privatize", "rewrite", "classify", "metrics"}
    assert before.hash != after.hash


AFTER_PRIVATIZE = {"privatize", "rewrite", "classify", "metrics"}
# of a mechanism that answers for words
ALL = {stage.name for stage in stages.STAGES} - {"documents"}
CHANGES = [
    ("epsilon=3", {"guarantee", "audit"} | AFTER_PRIVATIZE),
    ("seed=7", {"audit"} | AFTER_PRIVATIZE),
    ("oov=keep", {"guarantee", "audit"} | AFTER_PRIVATIZE),
    ("model.lr=0.5", {"rewrite", "metrics"}),
    ("model=bilstm_small", {"rewrite", "metrics"}),
    ("classifier.lr=0.5", {"classify"}),
    ("classify.test_on=original", {"classify"}),
    ("metrics.bootstrap=7", {"metrics"}),
    ("metrics.names=[n_w]", {"metrics"}),
    ("audit.samples=123", {"audit"}),
    ("embedding.seed=3", ALL - {"corpus", "vocabulary"}),
    ("dataset.vocabulary_size=50", ALL - {"corpus"}),
    ("dataset.limit.test=3", ALL),
    ("device=cpu", set()),
    ("threads=1", set()),
    ("wandb.mode=disabled", set()),
    ("outputs=elsewhere", set()),
    ("keep_checkpoints=true", set()),
]


@pytest.mark.parametrize(("override", "moved"), CHANGES, ids=[each for each, _ in CHANGES])
def test_a_key_moves_the_folders_of_the_stages_that_depend_on_it(
    config: Callable[..., Config], override: str, moved: set[str]
) -> None:
    before, after = (
        Identity(config("embedding=random")),
        Identity(config("embedding=random", override)),
    )
    assert {n for n in before.folders if before.folders[n] != after.folders[n]} == moved
    assert (before.hash != after.hash) == bool(moved)


def test_keys_that_no_stage_declares_are_silent() -> None:
    assert silent_keys() == {
        *("force", "plan", "fail_fast", "keep_checkpoints", "wandb", "sweep"),
        *("device", "threads", "outputs", "beside", "summary"),
    }


def test_equal_numbers_are_one_run_however_they_are_written(config: Callable[..., Config]) -> None:
    assert Identity(config("model.lr=1")).hash == Identity(config("model.lr=1.0")).hash
    assert Identity(config("epsilon=1")).hash == Identity(config("epsilon=1e0")).hash


def test_without_the_stage_there_are_no_metrics_and_a_reason(
    config: Callable[..., Config], tmp_path: Path
) -> None:
    keys = (*TINY, "wandb.mode=disabled", f"outputs={tmp_path}", "mechanism=krr", "epsilon=5")
    found = pipeline.run(config(*keys, "stages=[privatize]"))
    assert set(found.private_metrics.values.values()) == {None}
    assert found.private_metrics.reasons["rouge1"] == "stage metrics did not run"
    assert found.metrics.reasons["rouge1"] == "stage rewrite did not run"
    assert found.metrics.reasons["loss"] == "stage rewrite did not run"
    assert "metrics" not in found.seconds
    assert not list((tmp_path / "cache").glob("metrics-*"))


def test_provenance_is_that_of_the_process_that_computed_a_stage(
    config: Callable[..., Config], tmp_path: Path
) -> None:
    keys = (*TINY, "wandb.mode=disabled", f"outputs={tmp_path}", "mechanism=krr", "epsilon=5")
    first = pipeline.run(config(*keys, "stages=[privatize]", "threads=1"))
    assert first.provenance.threads == 1
    both = config(*keys, "stages=[privatize,metrics]", "threads=2")
    found = pipeline.run(both).provenance
    assert found.stages["privatize"] == first.provenance.stages["privatize"]
    assert found.stages["privatize"].threads == 1
    assert found.stages["metrics"].threads == 2
    # there is no one number to tell
    assert found.threads is None
    assert found.device == "cpu"
    assert (Cell(both).folder / "run.log").read_text().count("stage ") == len(found.stages)


def test_a_run_whose_result_is_gone_is_done_again(
    config: Callable[..., Config], tmp_path: Path
) -> None:
    keys = (*TINY, "wandb.mode=disabled", f"outputs={tmp_path}", "mechanism=krr", "epsilon=5")
    given = config(*keys, "stages=[privatize]")
    first = pipeline.run(given)
    (Cell(given).folder / "result.json").unlink()
    assert not Cell(given).finished()
    assert pipeline.run(given).private_metrics == first.private_metrics


def test_another_version_of_a_thing_is_another_run(
    config: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Identity(config("embedding=random"))
    assert before.folders
    monkeypatch.setattr(MECHANISMS, "version", lambda name: "2", raising=False)
    after = Identity(config("embedding=random"))
    moved = {name for name in before.folders if before.folders[name] != after.folders[name]}
    assert moved == {"guarantee", "audit"} | AFTER_PRIVATIZE


def test_the_order_of_names_and_what_is_not_asked_for_do_not_matter(
    config: Callable[..., Config],
) -> None:
    def hashed(*overrides: str) -> str:
        return Identity(config("embedding=random", *overrides)).hash

    assert hashed("metrics.names=[rouge1,bleu]") == hashed("metrics.names=[bleu,rouge1]")
    off = "metrics.bertscore.model=null"
    assert hashed(off) == hashed(off, "metrics.bertscore.batch_size=7")
    assert hashed() != hashed("metrics.bertscore.batch_size=7")


def test_a_protocol_leaves_models_alone_that_do_not_have_its_keys(
    config: Callable[..., Config],
) -> None:
    pieces = ("classifier=transformer", "classifier.dropout=null")
    assert config("protocol=release", *pieces).classifier.keys.dropout is None
    assert config("protocol=release").model.keys.layers == 2
