"""What a classifier gives back: learning, inputs, choosing the epoch, intervals, and the same again by seed."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from classify_helpers import NAMES, ORIGINAL, SMALL, rows, run, task
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import f1_score

from trlap.config.keys import typed
from trlap.config.schema import Embedding
from trlap.data import demo
from trlap.data.rows import Row, Rows
from trlap.data.tokenizer import tokenize
from trlap.data.vocabulary import Vocabulary, build_vocabulary
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import build_embedding
from trlap.errors import TrlapError
from trlap.mechanisms.registry import make
from trlap.models.classifiers._neural import NeuralKeys
from trlap.models.classifiers.average import AverageClassifier
from trlap.models.classifying import interval, macro_f1, protects
from trlap.privatize.blocks import privatize_texts
from trlap.randomness import block_generator
from trlap.runs.result import Classified, ClassifierRun, Inputs

SIDES = ("private", "rewritten", "original")


Demonstration = tuple[dict[str, list[str]], dict[str, list[int]], Vocabulary, Space]


@pytest.fixture(scope="module")
def demonstration() -> Demonstration:
    corpus = demo.generate()
    texts = {
        split: [" ".join(tokenize(str(row["text"]))) for row in part]
        for split, part in corpus.items()
    }
    labels = {split: [int(row["sentiment"]) for row in part] for split, part in corpus.items()}
    vocabulary = build_vocabulary(texts["train"], 10_000)
    embedding = build_embedding(Embedding("glove840b", "asset", "glove840b"), vocabulary.words)
    space = Space(vocabulary.words, embedding.vectors, vocabulary.prior, None)
    return texts, labels, vocabulary, space


@pytest.mark.parametrize("epsilon", [None, 0.01])
def test_the_demo_is_learned_unless_its_words_are_noise(
    demonstration: Demonstration, epsilon: float | None
) -> None:
    """At ε = 0.01 krr keeps hardly a word; the 95 % interval must hold chance, which is 1/2."""
    texts, labels, vocabulary, space = demonstration
    noise = make("krr" if epsilon else "none", space, epsilon or float("inf"))
    data: Rows = {}
    for split in texts:
        private = privatize_texts(
            noise,
            vocabulary,
            texts[split],
            partial(block_generator, 0, split, device=space.device),
        )
        data[split] = [
            Row(split, original, private_text, label)
            for original, private_text, label in zip(
                texts[split], private.texts, labels[split], strict=True
            )
        ]
    keys = NeuralKeys(hidden=16, dropout=0.2, lr=1e-3, batch=256, epochs=25, patience=5, seeds=[42])
    given = task(
        data,
        Inputs("private", "private", "none"),
        label_names=demo.SENTIMENTS,
        vocabulary=vocabulary,
        vectors=space.vectors.numpy(),
        mechanism=noise,
    )
    done = AverageClassifier(keys, given).classify()
    low, high = limits(done)
    if epsilon is None:
        assert done.accuracy >= 0.95
        assert low > 0.9
    else:
        assert low < 0.5 < high
    assert done.majority == 0.5


def limits(done: Classified) -> tuple[float, float]:
    assert done.interval is not None
    return done.interval


@pytest.mark.parametrize("train_on", SIDES)
@pytest.mark.parametrize("test_on", SIDES)
def test_it_reads_what_it_is_told_to(train_on: str, test_on: str) -> None:
    """The private text says the opposite of the others, so mixing it with them is nearly always wrong."""
    done = run(inputs=Inputs(train_on, test_on, "none"), seeds=[1])
    alike = (train_on == "private") == (test_on == "private")
    assert done.accuracy >= 0.95 if alike else done.accuracy <= 0.1
    # it is read as the training split is
    assert done.runs[0].validation_accuracy == 1.0
    assert done.inputs == Inputs(train_on=train_on, test_on=test_on, debias="none")


def test_seeds_reproduce_and_differ() -> None:
    first, again = run(epochs=2), run(epochs=2)
    assert first == again
    one, two = first.runs
    assert one.validation_loss != two.validation_loss
    alone = run(epochs=2, seeds=[2])
    # whatever was trained before it
    assert alone.runs == [two]
    assert alone.deviation is None


def test_validation_picks_the_epoch_and_nothing_of_the_test_split_matters() -> None:
    data = rows()
    # wrong labels, so that more epochs are not better
    data["train"] = [
        replace(row, label=1 - (row.label or 0)) if number % 3 == 0 else row
        for number, row in enumerate(data["train"])
    ]
    done = run(data, epochs=12, seeds=[5], lr=0.03)
    chosen = done.runs[0].epoch
    assert chosen is not None and chosen < 12
    until = run(data, epochs=chosen, seeds=[5], lr=0.03)
    assert until.confusion == done.confusion
    assert until.runs[0].epoch == chosen
    changed = {**data, "test": [replace(row, original="soup") for row in data["test"]]}
    other = run(changed, epochs=12, seeds=[5], lr=0.03)
    assert validated(other.runs[0]) == validated(done.runs[0])


def validated(run: ClassifierRun) -> ClassifierRun:
    """Without what the test split tells."""
    return replace(run, accuracy=None, macro_f1=None)


def test_patience_stops_early() -> None:
    done = run(epochs=40, patience=3, seeds=[1]).runs[0]
    assert done.epochs is not None and done.epoch is not None
    assert done.epochs == done.epoch + 3 < 40


def test_counts_agree_with_each_other() -> None:
    # of 41 sentences 21 are negative
    data = rows(test=41)
    # positive is now the commonest in training
    data["train"].append(data["train"][1])
    done = run(data, epochs=1)
    confusion = np.array(done.confusion)
    assert confusion.sum() == 2 * 41
    assert confusion.sum(1).tolist() == [2 * 21, 2 * 20]
    assert np.trace(confusion) / confusion.sum() == pytest.approx(done.accuracy)
    assert done.majority == pytest.approx(20 / 41)
    accuracies = [entry.accuracy for entry in done.runs if entry.accuracy is not None]
    assert done.accuracy == pytest.approx(np.mean(accuracies))
    assert done.deviation == pytest.approx(np.std(accuracies, ddof=1))
    low, high = limits(done)
    assert low < done.accuracy < high


def test_a_class_missing_from_training_is_named() -> None:
    data = rows()
    data["train"] = data["train"][::2]
    with pytest.raises(TrlapError, match="no training sentence of class positive"):
        run(data)
    with pytest.raises(TrlapError, match="no training sentence of class neutral"):
        run(label_names=[*NAMES, "neutral"])


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_an_empty_split_is_named(split: str) -> None:
    with pytest.raises(TrlapError, match=f"there is no {split} sentence"):
        run({**rows(), split: []})


def test_a_loss_that_explodes_is_one_line() -> None:
    with pytest.raises(TrlapError, match="try a smaller classifier.lr"):
        run(lr=1e30)


def test_empty_sentences_are_read() -> None:
    data = rows()
    for split in ("train", "test"):
        data[split][0] = replace(data[split][0], original="")
    for name in ("average", "bilstm"):
        assert run(data, name=name, epochs=1).accuracy > 0


def test_keys_are_taken_as_a_config_group_gives_them() -> None:
    keys = typed("classifier", NeuralKeys, SMALL | {"epochs": 1})
    done = AverageClassifier(keys, task(inputs=ORIGINAL)).classify()
    assert done == run(epochs=1)


# ---------------------------------------------------------------- intervals


@given(st.integers(1, 400), st.integers(0, 400))
def test_with_one_seed_the_interval_is_wilsons(n: int, right: int) -> None:
    right = min(right, n)
    sample = np.arange(n)[None] < right
    wilson = binomtest(right, n).proportion_ci(method="wilson")
    assert interval(sample) == pytest.approx((wilson.low, wilson.high), abs=1e-12)


def test_equal_seeds_are_worth_one() -> None:
    sample = np.arange(100)[None] < 80
    assert interval(np.repeat(sample, 5, 0)) == pytest.approx(interval(sample))


def test_the_interval_covers_other_sentences_and_seeds() -> None:
    """A logistic model with effects of sentences and of seeds: at least 93 of 100 intervals hold the mean.

    1,000 trials; were the coverage 95 %, one such run in 200 would fail.
    """
    rng = np.random.default_rng(0)

    def chance(seeds: int, sentences: int) -> NDArray[np.bool_]:
        logit = 1.2 + rng.normal(0, 2, sentences) + rng.normal(0, 0.15, (seeds, 1))
        drawn: NDArray[np.bool_] = rng.random((seeds, sentences)) < 1 / (1 + np.exp(-logit))
        return drawn

    truth = chance(4000, 2000).mean()
    hits = 0
    for _ in range(1000):
        low, high = interval(chance(5, 300))
        hits += low < truth < high
    assert 930 <= hits <= 985


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_macro_f1_is_scikit_learns(classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, named = rng.integers(classes, size=(2, 50))
    confusion = np.zeros((classes, classes), np.int64)
    np.add.at(confusion, (truth, named), 1)
    theirs = f1_score(truth, named, average="macro", labels=range(classes), zero_division=0)
    assert macro_f1(confusion) == pytest.approx(theirs)


def test_what_is_protected_is_said() -> None:
    assert protects("private", "private", True).startswith("training and test texts")
    assert protects("private", "original", True).startswith("the training texts alone")
    assert protects("original", "private", True).startswith("the test texts alone")
    assert protects("rewritten", "rewritten", True).startswith("the test texts alone")
    assert protects("original", "original", True).startswith("nothing")
    assert protects("private", "private", False).startswith("nothing")
