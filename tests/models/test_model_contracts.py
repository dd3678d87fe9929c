"""What every rewriter and every classifier must do, ours and one of each that needs no network."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from classify_helpers import SMALL, tiny_bert
from classify_helpers import run as classify
from classify_helpers import task as classify_task
from numpy.typing import NDArray
from rewrite_helpers import NOISY, TINY, VOCABULARY, released
from rewrite_helpers import run as rewrite
from rewrite_helpers import task as rewrite_task

from trlap.config.protocols import PAPER, RELEASE
from trlap.errors import TrlapError
from trlap.mechanisms._decoding import Reading
from trlap.models.classifiers.base import Classifier, ClassifierKeys, Labelled
from trlap.models.registry import CLASSIFIERS, REWRITERS
from trlap.models.rewriters.base import Rewriter
from trlap.progress import Show
from trlap.runs.records import from_json, to_json
from trlap.runs.result import Classified, ClassifierRun, Epoch, Trained


@dataclass
class NoKeys:
    pass


class Copy(Rewriter):
    """Writes what it reads: all that a rewriter has to say."""

    name = "copy"
    Keys = NoKeys

    @classmethod
    def passes(cls, keys: NoKeys) -> int:
        return 0

    def fit(self) -> None:
        pass

    def rewrite(self, split: str) -> list[str]:
        return [row.text("private") for row in self.task.rows.get(split, [])]

    def trained(self) -> Trained:
        return Trained()


Counts = list[Counter[str]]


class Counting(Classifier):
    """Adds up the labels that a sentence's words had in training: all that a classifier has to say."""

    name = "counting"
    Keys = ClassifierKeys
    reads_vectors = False

    def read(self, texts: Sequence[str], reading: Reading) -> Counts:
        return [Counter(text.split()) for text in texts]

    def fit(
        self, train: Labelled, validation: Labelled, seed: int, show: Show
    ) -> tuple[ClassifierRun, list[Epoch]]:
        self.weights: dict[str, NDArray[np.int64]] = {}
        for words, label in zip(train.form, train.labels, strict=True):
            for word, count in words.items():
                zero = np.zeros(len(self.task.label_names), np.int64)
                self.weights.setdefault(word, zero)[label] += count
        show(1.0, len(train.labels))
        right = float((self.predict(validation.form) == validation.labels).mean())
        return ClassifierRun(seed, validation_accuracy=right), []

    def predict(self, form: Counts) -> NDArray[np.int64]:
        return np.array([self._scores(words).argmax() for words in form], np.int64)

    def _scores(self, words: Counter[str]) -> NDArray[np.float64]:
        known = [self.weights[word] for word in words if word in self.weights]
        return np.sum([counts / counts.sum() for counts in known], axis=0, dtype=float)


# keys with which each one learns in a second
REWRITER_KEYS: dict[str, Any] = {"bilstm": TINY}
CLASSIFIER_KEYS: dict[str, dict[str, Any]] = {
    "average": SMALL,
    "bilstm": SMALL,
    "clusters": {"seeds": [1, 2], "K": 4},
    "ridge": {"seeds": [1, 2], "penalty": 2.0, "rounds": 5, "match": True},
    "transformer": SMALL | {"hidden": None, "dropout": None, "epochs": 6},
}


def test_all_are_tested() -> None:
    assert set(REWRITER_KEYS) == set(REWRITERS.ours)
    assert set(CLASSIFIER_KEYS) == set(CLASSIFIERS.ours)


# ---------------------------------------------------------------- rewriters


@dataclass(frozen=True)
class SomeRewriter:
    kind: type[Rewriter]
    keys: Any

    def fitted(self, folder: Path, **given: Any) -> Rewriter:
        rewriter = self.kind(self.keys, rewrite_task(folder, **given))
        rewriter.fit()
        return rewriter


@pytest.fixture(params=[*REWRITERS.ours, "copy"])
def some_rewriter(request: pytest.FixtureRequest) -> SomeRewriter:
    name: str = request.param
    if name == "copy":
        return SomeRewriter(Copy, NoKeys())
    return SomeRewriter(REWRITERS.find(name), REWRITER_KEYS[name])


def test_a_rewriter_writes_each_sentence_of_a_split(
    some_rewriter: SomeRewriter, tmp_path: Path
) -> None:
    rewriter = some_rewriter.fitted(tmp_path)
    rows = rewriter.task.rows
    assert {split: len(rewriter.rewrite(split)) for split in rows} == {
        split: len(part) for split, part in rows.items()
    }
    assert some_rewriter.kind.passes(some_rewriter.keys) >= 0


def test_a_rewriter_writes_the_same_again(some_rewriter: SomeRewriter, tmp_path: Path) -> None:
    first, again = (some_rewriter.fitted(tmp_path / name) for name in ("first", "again"))
    # whatever was asked before
    assert first.trained().loss == again.trained().loss
    assert first.rewrite("train") == again.rewrite("train")
    assert again.rewrite("test") == again.rewrite("test") == first.rewrite("test")


def test_a_rewriter_reads_private_text_of_all_but_the_training_split(
    some_rewriter: SomeRewriter, tmp_path: Path
) -> None:
    """So that what it writes is post-processing."""
    usual = some_rewriter.fitted(tmp_path / "usual")
    data = usual.task.rows
    others = {"test": [replace(row, original="it ? it ?") for row in data["test"]]}
    blind = some_rewriter.fitted(tmp_path / "blind", data=data | others)
    assert blind.rewrite("test") == usual.rewrite("test")


def test_what_a_rewriter_says_is_a_record(some_rewriter: SomeRewriter, tmp_path: Path) -> None:
    trained = some_rewriter.fitted(tmp_path).trained()
    assert from_json(Trained, to_json(trained)) == trained


def test_a_rewriter_s_vectors_are_found_in_its_folder(
    some_rewriter: SomeRewriter, tmp_path: Path
) -> None:
    rewriter = some_rewriter.fitted(tmp_path)
    rewriter.trained()
    rewriter.tidy()
    words = len(VOCABULARY.words)
    vectors = some_rewriter.kind.embedding_of(tmp_path, words)
    assert vectors is None or vectors.shape == rewriter.task.embedding.vectors.shape
    assert not list(tmp_path.glob("*.ckpt"))


def test_losses_are_pinned(tmp_path: Path) -> None:
    """Every draw and every sum as ever. In float32, since not every CPU multiplies in bfloat16."""
    wide = replace(TINY.trainer, precision="32-true")
    paper = rewrite(tmp_path / "paper", trainer=wide, protocol=PAPER)
    given: dict[str, Any] = {"mechanism": released(), "word_noise": NOISY, "layers": 2}
    release = rewrite(tmp_path / "release", trainer=wide, protocol=RELEASE, **given)
    assert paper.trained.loss == pytest.approx(18.70881767, rel=1e-4)
    assert release.trained.loss == pytest.approx(19.55280533, rel=1e-4)
    losses = [epoch.validation_loss for epoch in release.trained.history]
    assert losses == pytest.approx([21.725374, 20.883915, 19.837403, 18.911180], rel=1e-4)


# -------------------------------------------------------------- classifiers


@dataclass(frozen=True)
class SomeClassifier:
    kind: type[Classifier]
    keys: Any

    def classified(self, **given: Any) -> Classified:
        return self.kind(self.keys, classify_task(**given)).classify()


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(params=[*CLASSIFIERS.ours, "counting"])
def some_classifier(request: pytest.FixtureRequest, bert: Path) -> SomeClassifier:
    name: str = request.param
    if name == "counting":
        return SomeClassifier(Counting, ClassifierKeys(seeds=[1, 2]))
    kind = CLASSIFIERS.find(name)
    folder = {"model": str(bert)} if name == "transformer" else {}
    return SomeClassifier(kind, kind.Keys(**CLASSIFIER_KEYS[name] | folder))


def test_a_classifier_learns_and_counts(some_classifier: SomeClassifier) -> None:
    done = some_classifier.classified()
    assert done.accuracy > 0.7
    assert [run.seed for run in done.runs] == [1, 2]
    assert done.accuracy == np.mean([run.accuracy for run in done.runs])
    assert done.majority == 0.5
    assert np.sum(done.confusion or []) == 2 * 40
    assert done.interval is not None
    assert done.interval[0] < done.accuracy <= done.interval[1] + 1e-12
    assert from_json(Classified, to_json(done)) == done


def test_a_classifier_says_the_same_again(some_classifier: SomeClassifier) -> None:
    assert some_classifier.classified() == some_classifier.classified()


def test_a_classifier_does_not_see_labels_of_the_test_split(
    some_classifier: SomeClassifier,
) -> None:
    usual = some_classifier.classified()
    data = classify_task().rows
    data["test"] = [replace(row, label=1 - (row.label or 0)) for row in data["test"]]
    turned = some_classifier.classified(data=data)
    assert turned.confusion == (usual.confusion or [])[::-1]


def test_what_is_missing_is_said_for_every_classifier(some_classifier: SomeClassifier) -> None:
    with pytest.raises(TrlapError, match="stage classify: there is no validation sentence"):
        some_classifier.classified(data=classify_task().rows | {"validation": []})
    with pytest.raises(TrlapError, match="no training sentence of class neutral"):
        some_classifier.classified(label_names=["negative", "positive", "neutral"])


def test_validation_losses_are_pinned() -> None:
    for name, expected in (("average", [0.482348, 0.525014]), ("bilstm", [0.495958, 0.448541])):
        losses = [run.validation_loss for run in classify(name=name, epochs=3).runs]
        assert losses == pytest.approx(expected, rel=1e-4)
