"""What `classify` gives back: learning, inputs, choosing the epoch, intervals, and the same again by seed."""

from dataclasses import asdict

import numpy as np
import pytest
from classify_helpers import NAMES, ORIGINAL, rows, run
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from scipy.stats import binomtest
from sklearn.metrics import f1_score

from trlap.config.schema import Classifier, Classify, Embedding
from trlap.data import demo
from trlap.data.tokens import Vocabulary, build_vocabulary, tokenize
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import build_table
from trlap.errors import TrlapError
from trlap.mechanisms import base as mechanism
from trlap.models.classifying import classify, interval, macro_f1, protects
from trlap.privatize.blocks import block_generator, privatize_texts

SIDES = ("private", "rewritten", "original")


@pytest.fixture(scope="module")
def demonstration() -> tuple[dict[str, list[str]], dict[str, list[int]], Vocabulary, Space]:
    corpus = demo.generate()
    texts = {
        split: [" ".join(tokenize(str(row["text"]))) for row in part]
        for split, part in corpus.items()
    }
    labels = {split: [int(row["sentiment"]) for row in part] for split, part in corpus.items()}
    vocabulary = build_vocabulary(texts["train"], 10_000)
    table = build_table(Embedding("glove840b", "asset", "glove840b"), vocabulary.words)
    return texts, labels, vocabulary, Space(vocabulary.words, table.vectors, vocabulary.prior, None)


@pytest.mark.parametrize("epsilon", [None, 0.01])
def test_the_demo_is_learned_unless_its_words_are_noise(demonstration, epsilon) -> None:  # type: ignore[no-untyped-def]
    """At ε = 0.01 krr keeps hardly a word; the 95 % interval must hold chance, which is 1/2."""
    texts, labels, vocabulary, space = demonstration
    noise = mechanism.make("krr" if epsilon else "none", space, epsilon or float("inf"))
    data = {}
    for split in texts:
        private = privatize_texts(
            noise,
            vocabulary,
            texts[split],
            lambda block, split=split: block_generator(0, split, block, space.device),
        )
        data[split] = [
            {"private": text, "label": label}
            for text, label in zip(private.texts, labels[split], strict=True)
        ]
    cfg = Classifier("average", None, None, 16, 0.2, 1e-3, 256, 25, 5, [42])
    found = classify(
        data,
        vocabulary,
        space.vectors.numpy(),
        cfg,
        Classify("private", "private", "none"),
        label_names=demo.SENTIMENTS,
        mechanism=noise,
        device="cpu",
        threads=1,
    )
    if epsilon is None:
        assert found.accuracy >= 0.95
        assert found.interval[0] > 0.9
    else:
        assert found.interval[0] < 0.5 < found.interval[1]
    assert found.majority == 0.5


@pytest.mark.parametrize("train_on", SIDES)
@pytest.mark.parametrize("test_on", SIDES)
def test_it_reads_what_it_is_told_to(train_on: str, test_on: str) -> None:
    """The private text says the opposite of the others, so mixing it with them is nearly always wrong."""
    found = run(inputs=Classify(train_on, test_on, "none"), seeds=[1])
    alike = (train_on == "private") == (test_on == "private")
    assert found.accuracy >= 0.95 if alike else found.accuracy <= 0.1
    assert found.runs[0]["validation_accuracy"] == 1.0  # it is read as the training split is
    assert found.inputs == {"train_on": train_on, "test_on": test_on, "debias": "none"}


def test_seeds_reproduce_and_differ() -> None:
    first, again = run(epochs=2), run(epochs=2)
    assert asdict(first) == asdict(again)
    one, two = first.runs
    assert one["validation_loss"] != two["validation_loss"]
    alone = run(epochs=2, seeds=[2])
    assert alone.runs == [two]  # whatever was trained before it
    assert alone.deviation is None


def test_validation_picks_the_epoch_and_nothing_of_the_test_split_matters() -> None:
    data = rows()
    for row in data["train"][::3]:  # wrong labels, so that more epochs are not better
        row["label"] = 1 - row["label"]
    found = run(data, epochs=12, seeds=[5], lr=0.03)
    chosen = found.runs[0]["epoch"]
    assert chosen < 12
    until = run(data, epochs=chosen, seeds=[5], lr=0.03)
    assert until.confusion == found.confusion
    assert until.runs[0]["epoch"] == chosen
    changed = {**data, "test": [row | {"original": "soup"} for row in data["test"]]}
    other = run(changed, epochs=12, seeds=[5], lr=0.03)
    keys = ("epoch", "epochs", "validation_accuracy", "validation_loss")
    assert [other.runs[0][key] for key in keys] == [found.runs[0][key] for key in keys]


def test_patience_stops_early() -> None:
    found = run(epochs=40, patience=3, seeds=[1])
    assert found.runs[0]["epochs"] == found.runs[0]["epoch"] + 3 < 40


def test_counts_agree_with_each_other() -> None:
    data = rows(test=41)  # of 41 sentences 21 are negative
    data["train"].append(data["train"][1])  # positive is now the commonest in training
    found = run(data, epochs=1)
    confusion = np.array(found.confusion)
    assert confusion.sum() == 2 * 41
    assert confusion.sum(1).tolist() == [2 * 21, 2 * 20]
    assert np.trace(confusion) / confusion.sum() == pytest.approx(found.accuracy)
    assert found.majority == pytest.approx(20 / 41)
    accuracies = [entry["accuracy"] for entry in found.runs]
    assert found.accuracy == pytest.approx(np.mean(accuracies))
    assert found.deviation == pytest.approx(np.std(accuracies, ddof=1))
    assert found.interval[0] < found.accuracy < found.interval[1]


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
    data["train"][0]["original"] = data["test"][0]["original"] = ""
    for name in ("average", "bilstm"):
        assert run(data, name=name, epochs=1).accuracy > 0


def test_the_schema_is_taken_as_hydra_gives_it() -> None:
    cfg = OmegaConf.structured(ORIGINAL)
    assert asdict(run(inputs=cfg, epochs=1)) == asdict(run(epochs=1))


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

    def chance(seeds: int, sentences: int) -> np.ndarray:
        logit = 1.2 + rng.normal(0, 2, sentences) + rng.normal(0, 0.15, (seeds, 1))
        return rng.random((seeds, sentences)) < 1 / (1 + np.exp(-logit))

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
    truth, found = rng.integers(classes, size=(2, 50))
    table = np.zeros((classes, classes), np.int64)
    np.add.at(table, (truth, found), 1)
    theirs = f1_score(truth, found, average="macro", labels=range(classes), zero_division=0)
    assert macro_f1(table) == pytest.approx(theirs)


def test_what_is_protected_is_said() -> None:
    assert protects("private", "private", True).startswith("training and test texts")
    assert protects("private", "original", True).startswith("the training texts alone")
    assert protects("original", "private", True).startswith("the test texts alone")
    assert protects("rewritten", "rewritten", True).startswith("the test texts alone")
    assert protects("original", "original", True).startswith("nothing")
    assert protects("private", "private", False).startswith("nothing")
