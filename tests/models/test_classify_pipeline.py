"""Stage `classify` in the pipeline: what it reads, what is written and shown, what enters the hash."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import trlap.models.classifying
from trlap.config.schema import check
from trlap.errors import TrlapError
from trlap.runs import summary
from trlap.runs.cell import Cell
from trlap.stages import pipeline

SMALL = (
    "metrics.bertscore.model=null",
    "metrics.bootstrap=0",
    "dataset.limit.train=200",
    "dataset.limit.validation=40",
    "dataset.limit.test=60",
    "embedding=random",
    "embedding.dimension=8",
    "classifier.epochs=2",
    "classifier.seeds=[1,2]",
    "threads=1",
)
TINY = ("model.epochs=1", "model.hidden=8", "model.code=4")
BOTH = "stages=[privatize,classify]"


@pytest.fixture
def go(configure, tmp_path: Path):  # type: ignore[no-untyped-def]
    def go(*overrides: str) -> dict[str, Any]:
        return pipeline.run(configure(*SMALL, f"outputs={tmp_path}/outputs", *overrides))

    return go


def stages(tmp_path: Path, name: str) -> list[Path]:
    return list((tmp_path / "outputs" / "cache").glob(f"{name}-*"))


def test_the_result_and_the_summary_say_what_was_read(go) -> None:  # type: ignore[no-untyped-def]
    found = go(
        "mechanism=krr", "epsilon=5", BOTH, "classify.test_on=original", "classify.debias=posterior"
    )
    assert 0 <= found["metrics"]["accuracy"] <= 1
    low, high = found["intervals"]["metrics"]["accuracy"]
    assert low < found["metrics"]["accuracy"] < high
    assert "accuracy" not in found["reasons"]
    about = found["details"]["classify"]
    assert about["inputs"] == {"train_on": "private", "test_on": "original", "debias": "posterior"}
    assert about["protects"].startswith("the training texts alone")
    assert [entry["seed"] for entry in about["runs"]] == [1, 2]
    assert np.sum(about["confusion"]) == 2 * 60
    line = next(x for x in summary.render(found).splitlines() if x.startswith("  classifier"))
    for part in (f"accuracy {about['accuracy']:.3f} ± ", "majority", "trained on private"):
        assert part in line
    assert "tested on original" in line and "debias posterior" in line


def test_what_does_not_read_private_text_is_done_once(go, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    originals = (BOTH, "classify.train_on=original", "classify.test_on=original")
    one = go("mechanism=krr", "epsilon=5", *originals)
    two = go("mechanism=laplace", "epsilon=1", *originals)
    alone = go("mechanism=krr", "epsilon=5", *originals, "stages=[classify]")
    accuracies = {found["metrics"]["accuracy"] for found in (one, two, alone)}
    assert len(accuracies) == len(stages(tmp_path, "classify")) == 1
    go("mechanism=krr", "epsilon=5", BOTH)
    assert len(stages(tmp_path, "classify")) == 2


def test_a_dataset_without_labels_is_skipped_with_its_reason(go, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "mine.txt").write_text("good soup .\n" * 60)
    text = ("dataset=text", f"dataset.path={tmp_path / 'mine.txt'}", BOTH)
    found = go("mechanism=none", *text)
    assert found["metrics"]["accuracy"] is None
    assert "no labels" in found["reasons"]["accuracy"]
    assert "  classifier skipped: the dataset has no labels" in summary.render(found)
    assert not stages(tmp_path, "classify")
    found = go("mechanism=none", "stages=[privatize]")
    assert found["reasons"]["accuracy"] == "stage classify did not run"
    assert "  classifier" not in summary.render(found)


def test_rewritten_text_is_made_for_all_splits_where_it_is_learned_from(go, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    keys = ("mechanism=krr", "epsilon=9", *TINY, "stages=[privatize,rewrite,classify]")
    found = go(*keys, "classify.test_on=rewritten")
    splits = {row["split"] for row in lines(Path(found["folder"]) / "rewritten.jsonl")}
    assert splits == {"test"}
    found = go(*keys, "classify.train_on=rewritten")
    rows = lines(Path(found["folder"]) / "rewritten.jsonl")
    assert {row["split"] for row in rows} == {"train", "validation", "test"}
    assert len(rows) == 300 and all("rewritten" in row and "label" in row for row in rows)
    assert found["details"]["classify"]["inputs"]["train_on"] == "rewritten"
    assert len(stages(tmp_path, "rewrite")) == 2


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_release_reads_clean_text_and_the_auto_encoders_table(go, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    seen: list[Any] = []
    real = trlap.models.classifying.classify

    def spy(rows: Any, vocabulary: Any, vectors: Any, *others: Any, **keys: Any) -> Any:
        seen.append((vectors, others[0].dropout))
        return real(rows, vocabulary, vectors, *others, **keys)

    monkeypatch.setattr(trlap.models.classifying, "classify", spy)
    keys = ("protocol=release", "mechanism=laplace", "epsilon=1", *TINY)
    found = go(*keys, "stages=[privatize,rewrite,classify]")
    (vectors, dropout), words = seen[0], found["details"]["vocabulary"]["words"]
    (folder,) = stages(tmp_path, "rewrite")
    tuned = load_file(folder / "weights.safetensors")["embedding.weight"]
    assert len(tuned) == words + 2
    np.testing.assert_array_equal(vectors, tuned[:words])
    (embedding,) = stages(tmp_path, "embedding")
    assert not np.array_equal(vectors, np.load(embedding / "vectors.npy"))
    assert dropout == 0.3
    about = found["details"]["classify"]
    assert about["inputs"]["train_on"] == about["inputs"]["test_on"] == "original"
    assert about["protects"].startswith("nothing is protected")


def test_keys_that_cannot_matter_do_not_enter_the_hash(configure, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    def hashed(*overrides: str) -> str:
        return Cell(configure(*SMALL, *overrides)).name

    lr = "classifier.lr=0.5"
    assert hashed(BOTH) != hashed(BOTH, lr)
    assert hashed("stages=[privatize]") == hashed("stages=[privatize]", lr)
    (tmp_path / "mine.txt").write_text("good soup .\n")
    text = ("dataset=text", f"dataset.path={tmp_path / 'mine.txt'}", BOTH)
    assert hashed(*text) == hashed(*text, lr) == hashed(*text, "classify.test_on=original")
    none, debias = ("mechanism=none", BOTH), "classify.debias=posterior"
    assert hashed(*none) == hashed(*none, debias)
    assert hashed("mechanism=krr", BOTH) != hashed("mechanism=krr", BOTH, debias)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text("{}")
    bert = (BOTH, "classifier=transformer")
    one, two = (hashed(*bert, f"classifier.model={tmp_path}/{name}") for name in ("one", "two"))
    assert one == two
    (tmp_path / "two" / "config.json").write_text("[]")
    assert hashed(*bert, f"classifier.model={tmp_path}/two") != one


REFUSED = [
    (("stages=[classify]",), "classify reads private text, which privatize writes"),
    ((BOTH, "classify.test_on=rewritten"), "classify reads rewritten text, which rewrite writes"),
    ((BOTH, "protocol=release"), "starts from the auto-encoder's word vectors; add rewrite"),
    (("protocol=release", "classifier=transformer"), "use classifier=average or bilstm"),
    (
        (BOTH, "classifier=transformer", "classifier.model=null"),
        "set classifier.model to a folder or a hub id",
    ),
    ((BOTH, "classify.debias=posterior"), "the channel of mechanism=trlap is not known"),
    ((BOTH, "mechanism=srr", "classify.debias=unbiased"), "use classify.debias=posterior"),
    (
        ("classify.train_on=original", "classify.test_on=original", "classify.debias=posterior"),
        "it is for word vectors of private text",
    ),
    ((BOTH, "classifier.hidden=null"), "hidden and dropout must be numbers"),
    ((BOTH, "classifier.seeds=[]"), "must be different whole numbers"),
    ((BOTH, "classifier.seeds=[1,1]"), "must be different whole numbers"),
]


@pytest.mark.parametrize(("overrides", "message"), REFUSED, ids=lambda x: str(x)[:40])
def test_what_does_not_go_together_is_refused(configure, overrides, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TrlapError, match=message):
        check(configure(*overrides))
