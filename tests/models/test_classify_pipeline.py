"""Stage `classify` in a run: what it reads, what is written and shown, what enters the hash."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from omegaconf import DictConfig
from safetensors.numpy import load_file

from trlap import stages
from trlap.config.door import config_from
from trlap.data.rows import read_rows
from trlap.data.vocabulary import Vocabulary
from trlap.errors import TrlapError
from trlap.models.classifiers.average import AverageClassifier
from trlap.runs import pipeline, summary
from trlap.runs.cell import Cell
from trlap.runs.result import Classified, Inputs, RunResult

Configure = Callable[..., DictConfig]
Go = Callable[..., RunResult]
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
    "wandb.mode=disabled",
)
TINY = ("model.epochs=1", "model.hidden=8", "model.code=4")
BOTH = "stages=[privatize,classify]"


@pytest.fixture
def go(configure: Configure, tmp_path: Path) -> Go:
    def go(*overrides: str) -> RunResult:
        composed = configure(*SMALL, f"outputs={tmp_path}/outputs", *overrides)
        return pipeline.run(config_from(composed))

    return go


def folders(tmp_path: Path, stage: str) -> list[Path]:
    return list((tmp_path / "outputs" / "cache").glob(f"{stage}-*"))


def classified(result: RunResult) -> Classified:
    assert result.details.classify is not None
    return result.details.classify


def test_the_result_and_the_summary_say_what_was_read(go: Go) -> None:
    undone = ("classify.test_on=original", "classify.debias=posterior")
    result = go("mechanism=krr", "epsilon=5", BOTH, *undone)
    accuracy = result.metrics.values["accuracy"]
    assert accuracy is not None and 0 <= accuracy <= 1
    low, high = result.metrics.intervals["accuracy"]
    assert low < accuracy < high
    assert "accuracy" not in result.metrics.reasons
    about = classified(result)
    assert about.inputs == Inputs(train_on="private", test_on="original", debias="posterior")
    assert about.protects is not None
    assert about.protects.startswith("the training texts alone")
    assert [entry.seed for entry in about.runs] == [1, 2]
    assert about.confusion is not None
    assert np.sum(about.confusion) == 2 * 60
    lines = summary.render(result).splitlines()
    line = next(line for line in lines if line.startswith("  classifier"))
    for part in (f"accuracy {about.accuracy:.3f} ± ", "majority", "trained on private"):
        assert part in line
    assert "tested on original" in line and "debias posterior" in line


def test_what_does_not_read_private_text_is_done_once(go: Go, tmp_path: Path) -> None:
    originals = (BOTH, "classify.train_on=original", "classify.test_on=original")
    one = go("mechanism=krr", "epsilon=5", *originals)
    two = go("mechanism=laplace", "epsilon=1", *originals)
    alone = go("mechanism=krr", "epsilon=5", *originals, "stages=[classify]")
    accuracies = {result.metrics.values["accuracy"] for result in (one, two, alone)}
    assert len(accuracies) == len(folders(tmp_path, "classify")) == 1
    go("mechanism=krr", "epsilon=5", BOTH)
    assert len(folders(tmp_path, "classify")) == 2


def test_a_dataset_without_labels_is_skipped_with_its_reason(go: Go, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("good soup .\n" * 60)
    text = ("dataset=text", f"dataset.path={tmp_path / 'mine.txt'}", BOTH)
    result = go("mechanism=none", *text)
    assert result.metrics.values["accuracy"] is None
    assert "no labels" in result.metrics.reasons["accuracy"]
    assert "  classifier skipped: the dataset has no labels" in summary.render(result)
    assert not folders(tmp_path, "classify")
    result = go("mechanism=none", "stages=[privatize]")
    assert result.metrics.reasons["accuracy"] == "stage classify did not run"
    assert "  classifier" not in summary.render(result)


def test_rewritten_text_is_made_for_all_splits_where_it_is_learned_from(
    go: Go, tmp_path: Path
) -> None:
    keys = ("mechanism=krr", "epsilon=9", *TINY, "stages=[privatize,rewrite,classify]")
    result = go(*keys, "classify.test_on=rewritten")
    assert set(read_rows(Path(str(result.folder)) / "rewritten.jsonl")) == {"test"}
    result = go(*keys, "classify.train_on=rewritten")
    rows = read_rows(Path(str(result.folder)) / "rewritten.jsonl")
    assert set(rows) == {"train", "validation", "test"}
    every = [row for part in rows.values() for row in part]
    assert len(every) == 300
    assert all(row.rewritten is not None and row.label is not None for row in every)
    assert classified(result).inputs.train_on == "rewritten"
    assert len(folders(tmp_path, "rewrite")) == 2


def test_release_reads_clean_text_and_the_auto_encoders_vectors(
    go: Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[NDArray[np.float32], list[str], float | None]] = []
    real = AverageClassifier.classify

    def spy(self: AverageClassifier) -> Classified:
        seen.append((self.task.vectors, self.task.vocabulary.words, self.keys.dropout))
        return real(self)

    monkeypatch.setattr(AverageClassifier, "classify", spy)
    keys = ("protocol=release", "mechanism=laplace", "epsilon=1", *TINY)
    result = go(*keys, "stages=[privatize,rewrite,classify]")
    vectors, listed, dropout = seen[0]
    assert result.details.vocabulary is not None
    words = result.details.vocabulary.words
    (folder,) = folders(tmp_path, "rewrite")
    tuned = load_file(folder / "weights.safetensors")["embedding.weight"]
    assert len(tuned) == words + 2
    (folder,) = folders(tmp_path, "vocabulary")
    known = {word: place for place, word in enumerate(Vocabulary.read(folder).words)}
    # one row too far: a word has the vector of the one behind it
    both = [(place, known[word]) for place, word in enumerate(listed[1:]) if word in known]
    assert len(both) > 100
    for place, row in both:
        np.testing.assert_array_equal(vectors[place], tuned[row])
    (embedding,) = folders(tmp_path, "embedding")
    start = np.load(embedding / "vectors.npy")
    assert not any(np.array_equal(vectors[place], start[row]) for place, row in both[:20])
    assert dropout == 0.3
    about = classified(result)
    assert about.inputs.train_on == about.inputs.test_on == "original"
    assert about.protects is not None
    assert about.protects.startswith("nothing is protected")


def test_keys_that_cannot_matter_do_not_enter_the_hash(
    configure: Configure, tmp_path: Path
) -> None:
    def hashed(*overrides: str) -> str:
        return Cell(config_from(configure(*SMALL, *overrides))).name

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
    (("model.betas=[0.5,1]",), r"model.betas=\[0.5, 1.0\]: must be two numbers in \[0, 1\)"),
]


@pytest.mark.parametrize(("overrides", "message"), REFUSED, ids=lambda x: str(x)[:40])
def test_what_does_not_go_together_is_refused(
    configure: Configure, overrides: tuple[str, ...], message: str
) -> None:
    with pytest.raises(TrlapError, match=message):
        config = config_from(configure(*overrides))
        stages.check(config)
        stages.check_things(config)
