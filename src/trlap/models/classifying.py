"""Does private text still teach a classifier? What all classifiers have in common.

One is trained once for each seed on the training split, takes the epoch that validation likes best, and
reads the test split once. Validation is read as the training split is, since whoever trains has no other.

What train_on and test_on protect is not the same thing. "Train private, test original", which most papers
report, protects the training texts alone; `protects` says it in words. Labels are
protected where a mechanism answers for a text with its label, and never else.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from trlap.data.rows import SPLITS, texts
from trlap.data.vocabulary import Vocabulary
from trlap.errors import TrlapError
from trlap.mechanisms._decoding import Reading
from trlap.models.classifiers._forms import Means
from trlap.models.classifiers.base import Classifier, ClassifyTask, Labelled
from trlap.progress import Show, progress
from trlap.randomness import seed_torch
from trlap.runs.listening import unheard
from trlap.runs.result import Classified, ClassifierRun, Epoch, Inputs

# of the normal distribution, for 95 %
QUANTILE = 1.959963984540054


def classify(classifier: Classifier) -> Classified:
    """Train it once for each seed, and count what it names right in the test split."""
    task, seeds = classifier.task, list(classifier.keys.seeds)
    torch.set_num_threads(task.machine.threads)
    _check_rows(task)
    train, validation, test = _read_splits(classifier)
    runs: list[ClassifierRun] = []
    histories: list[list[Epoch]] = []
    named: list[NDArray[np.int64]] = []
    seen = 0
    with progress("classifying", "sentences") as show:
        for number, seed in enumerate(seeds):
            with _seeded(seed, task.machine.device):
                share = _share(show, number, len(seeds), seen)
                run, history = classifier.fit(train, validation, seed, share)
            runs.append(run)
            histories.append(history)
            # the history that is kept is the first seed's, and so is what is told of it
            classifier.report = unheard
            named.append(classifier.predict(test.form))
            seen += (run.epochs or 0) * len(train.labels)
    counts = np.bincount(train.labels, minlength=len(task.label_names))
    majority = float((test.labels == counts.argmax()).mean())
    return _counted(task, runs, histories[0], np.stack(named), test.labels, majority)


def _check_rows(task: ClassifyTask) -> None:
    for split in SPLITS:
        if not task.rows.get(split):
            raise TrlapError(f"stage classify: there is no {split} sentence; check dataset.limit")
    present = {row.label_beside(task.train_on) for row in task.rows["train"]}
    for label, name in enumerate(task.label_names):
        if label not in present:
            raise TrlapError(
                f"stage classify: no training sentence of class {name}; raise dataset.limit.train, "
                "or take the class out of the data"
            )


def _read_splits(classifier: Classifier) -> list[Labelled]:
    """Training, validation and test split in the classifier's own form."""
    task = classifier.task
    sides = {"train": task.train_on, "validation": task.train_on, "test": task.test_on}
    reading = readings(task)
    if task.documents is not None:
        classifier.read_public(reading)
    return [
        Labelled(
            classifier.read_split(
                split, sides[split], texts(task.rows[split], sides[split]), reading[sides[split]]
            ),
            np.array([row.label_beside(sides[split]) for row in task.rows[split]], np.int64),
        )
        for split in SPLITS
    ]


def readings(task: ClassifyTask) -> dict[str, Reading]:
    """What a classifier reads for a word of each side, and of public texts: its vector, or what undoes known
    noise.
    """
    sides = {task.train_on, task.test_on, "public"}
    # where documents answer, words are not read
    if task.debias == "none" or task.mechanism.unit == "document":
        return dict.fromkeys(sides, Reading.plain(task.vectors))
    private, plain = task.mechanism.decode(task.vectors, task.debias)
    by_side = {side: private if side == "private" else plain for side in sides}
    train = texts(task.rows["train"], task.train_on)
    return standardised(by_side, task.vectors, by_side[task.train_on], train, task.vocabulary)


def standardised(
    readings: Mapping[str, Reading],
    vectors: NDArray[np.float32],
    read: Reading,
    train: Sequence[str],
    vocabulary: Vocabulary,
) -> dict[str, Reading]:
    """The same readings, all moved and scaled alike: the mean of `vectors` under the prior is 0, and the
    mean vectors of the training texts, as they are `read`, have a mean square of 1. Decoded vectors are
    tiny (posterior) or huge (unbiased), and a learning rate suits one scale.
    """
    centre = (vocabulary.prior @ vectors).astype(np.float32)
    moved = Reading.plain(read.vectors - centre)
    square = Means(train, vocabulary, moved, "cpu").fixed.square().mean().item()
    scale = np.float32(1 / math.sqrt(square) if square > 0 else 1)
    return {
        side: replace(reading, vectors=(reading.vectors - centre) * scale)
        for side, reading in readings.items()
    }


@contextmanager
def _seeded(seed: int, device: str) -> Iterator[None]:
    """Torch's own generators stand for this seed, and are left as they were."""
    with torch.random.fork_rng([device] if device.startswith("cuda") else []):
        seed_torch(seed, "classify/weights", 0)
        yield


def _share(show: Show, number: int, seeds: int, seen_before: int) -> Show:
    """The bar of all seeds, from what one shows of itself."""

    def shown(share: float | None, seen: int) -> None:
        show((number + (share or 0)) / seeds, seen_before + seen)

    return shown


def _counted(
    task: ClassifyTask,
    runs: Sequence[ClassifierRun],
    history: list[Epoch],
    named: NDArray[np.int64],
    truth: NDArray[np.int64],
    majority: float,
) -> Classified:
    """`named` has a row for each seed: the classes that were named.

    Accuracy and macro-F1 are means over seeds, `deviation` is the accuracy's standard deviation over them.
    `majority` is the accuracy of always naming the commonest class of the training split.
    """
    classes = len(task.label_names)
    confusions = np.zeros((len(runs), classes, classes), np.int64)
    for confusion, answer in zip(confusions, named, strict=True):
        np.add.at(confusion, (truth, answer), 1)
    right = named == truth
    accuracies = [float(row.mean()) for row in right]
    f1 = [macro_f1(confusion) for confusion in confusions]
    return Classified(
        accuracy=float(np.mean(accuracies)),
        inputs=Inputs(train_on=task.train_on, test_on=task.test_on, debias=task.debias),
        interval=interval(right),
        deviation=float(np.std(accuracies, ddof=1)) if len(runs) > 1 else None,
        macro_f1=float(np.mean(f1)),
        confusion=confusions.sum(0).tolist(),
        classes=list(task.label_names),
        majority=majority,
        runs=[
            replace(run, accuracy=accuracy, macro_f1=score)
            for run, accuracy, score in zip(runs, accuracies, f1, strict=True)
        ],
        history=history,
        protects=protects(task.train_on, task.test_on, task.mechanism.private, _covered(task)),
    )


def macro_f1(confusion: NDArray[np.int64]) -> float:
    """The mean over classes of 2·right / (true + predicted); a class that is in neither counts 0."""
    sums = confusion.sum(0) + confusion.sum(1)
    return float(np.mean(2 * confusion.diagonal() / np.maximum(sums, 1)))


def interval(right: NDArray[np.bool_]) -> tuple[float, float]:
    """95 % for the accuracy on other sentences with other seeds; `right` has a row a seed.

    Wilson's score interval at the number n of independent sentences that would have the variance

        p(1 − p)/n = Var_i(mean over seeds of sentence i)/N + Var_s(accuracy of seed s)/S,

    so that with one seed it is Wilson's with N sentences. It does not cover another draw of the noise or
    another training sample.
    """
    seeds, sentences = right.shape
    p = float(right.mean())
    variance = float(right.mean(0).var()) / sentences
    if seeds > 1:
        variance += float(right.mean(1).var(ddof=1)) / seeds
    n = p * (1 - p) / variance if variance > 0 else sentences
    z = QUANTILE
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def _covered(task: ClassifyTask) -> bool:
    """Whether the labels that are learned from are answers too."""
    return task.train_on == "private" and task.rows["train"][0].private_label is not None


def protects(train_on: str, test_on: str, noise: bool, labels: bool = False) -> str:
    """What that combination of inputs protects, in words."""
    if train_on == "public":
        if test_on == "original" or not noise:
            return "no private text is read to learn from"
        return "no private text is read to learn from; test texts are protected, as far as the guarantee holds"
    if not noise:
        return "nothing is protected: there is no noise"
    # the auto-encoder has learned to write the training split's originals
    train, test = train_on == "private", test_on != "original"
    if train and labels:
        read = (
            "test texts are protected without theirs" if test else "test texts are read as they are"
        )
        return (
            "the training texts and their labels are protected, as pairs, as far as the guarantee holds; "
            f"{read}"
        )
    if train and test:
        return (
            "training and test texts are protected, as far as the guarantee holds; labels are not"
        )
    if train:
        return (
            "the training texts alone are protected, as far as the guarantee holds; "
            "test texts are read as they are, and labels are not protected"
        )
    if test:
        return (
            "the test texts alone are protected, as far as the guarantee holds; "
            "the classifier has learned from original training texts and labels"
        )
    return "nothing is protected: the classifier reads original texts"
