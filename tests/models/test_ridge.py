"""Ridge regression against its own definition, and what public documents add."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trlap.errors import TrlapError
from trlap.models.classifiers._least_squares import matched, ridge
from trlap.models.classifiers.base import Labelled
from trlap.models.classifiers.clusters import ClustersClassifier, ClustersKeys
from trlap.models.classifiers.ridge import RidgeClassifier, RidgeKeys
from trlap.runs.listening import unheard


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.floats(0.01, 100))
def test_no_other_weights_are_better(seed: int, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    rows, wanted = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    weights, bias = ridge(rows, wanted, penalty)

    def cost(w: np.ndarray, b: np.ndarray) -> float:
        return float(((wanted - rows @ w - b) ** 2).sum() + penalty * (w**2).sum())

    least = cost(weights, bias)
    for _ in range(5):
        step = 1e-2 * rng.normal(size=(4, 3))
        assert cost(weights + step, bias) > least
        assert cost(weights, bias + step[0]) > least


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.9, 0.1], [0.25, 0.25, 0.4, 0.1]])
def test_classes_have_the_shares_they_are_to_have(shares: list[float]) -> None:
    scores = np.random.default_rng(3).normal(size=(4000, len(shares)))
    named = (scores + matched(scores, np.array(shares))).argmax(axis=1)
    assert np.bincount(named, minlength=len(shares)) / 4000 == pytest.approx(shares, abs=0.02)


def test_clusters_are_named_by_most_of_their_documents() -> None:
    """Three heaps far apart, one of them without labels: it gets the commonest class."""
    rng = np.random.default_rng(0)
    heaps = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    points = np.concatenate([heap + rng.normal(size=(30, 2)) for heap in heaps])
    labels = np.array([1] * 18 + [0] * 12 + [0] * 29 + [1] + [2] * 30)
    labelled = np.flatnonzero(labels < 2)
    task: Any = SimpleNamespace(
        report=unheard,
        label_names=["a", "b", "c"],
        documents=None,
        train_on="original",
        test_on="original",
    )
    keys = ClustersKeys(seeds=[1], encoder=None, K=3)
    classifier = ClustersClassifier(keys, task)
    classifier.public = points, points
    train = Labelled(points[labelled], labels[labelled])
    run, _ = classifier.fit(train, train, 1, lambda share, seen: None)
    assert classifier.predict(heaps).tolist() == [1, 0, 0]
    assert run.validation_accuracy == pytest.approx(47 / 60)
    with pytest.raises(TrlapError, match=r"classifier.K=91: there are 90 documents"):
        ClustersClassifier(ClustersKeys(seeds=[1], encoder=None, K=91), task).fit(
            Labelled(points, labels), train, 1, lambda share, seen: None
        )


def test_what_words_taught_is_carried_over_to_documents() -> None:
    """Private rows have one noisy coordinate; read as a whole, documents have a clear one."""
    rng = np.random.default_rng(1)
    classes = rng.integers(0, 2, size=(3, 2000))
    weak = [(0.5 * y + rng.normal(size=2000))[:, None] for y in classes]
    clear = [np.stack([y + 0.1 * rng.normal(size=2000), rng.normal(size=2000)], 1) for y in classes]
    private, public, test = range(3)
    task: Any = SimpleNamespace(
        report=unheard, label_names=["a", "b"], train_on="private", test_on="original"
    )
    keys = RidgeKeys(seeds=[1], encoder="minilm", penalty=2.0, rounds=5, match=True)
    accuracies = {}
    for bridged in (True, False):
        classifier = RidgeClassifier(keys, task)
        classifier.bridged = bridged
        classifier.public = weak[public], clear[public] if bridged else weak[public]
        train = Labelled(weak[private], classes[private])
        classifier.fit(train, train, 1, lambda share, seen: None)
        form = clear[test] if bridged else weak[test]
        accuracies[bridged] = float((classifier.predict(form) == classes[test]).mean())
    assert accuracies[True] > 0.95 and accuracies[False] < 0.65
