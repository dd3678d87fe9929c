"""What every metric must say of itself, and that asking costs nothing."""

import json
import subprocess
import sys

import numpy as np
import pytest
from text_metric_helpers import WORDS, config, corpus, install, make_tiny_bert

from trlap.data.vocabulary import Vocabulary
from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.files import jsonable
from trlap.metrics import Scene, TextMetric, Texts
from trlap.metrics.registry import METRICS, in_block, in_order, named, ordered, text_metrics
from trlap.runs.result import Scores


@pytest.mark.parametrize("name", METRICS.names)
def test_what_a_metric_says(name: str) -> None:
    metric = METRICS.find(name)()
    assert metric.name == name
    assert metric.label and metric.heading and metric.meaning
    assert "\n" not in metric.meaning and len(metric.meaning) < 60
    assert 0 <= metric.summary_digits <= metric.digits <= 4
    low, high = metric.range
    assert low < high
    assert metric.stage in ("metrics", "rewrite", "classify")
    assert metric.texts and set(metric.texts) <= {"private", "rewritten"}
    assert type(metric).__doc__
    assert metric.note(Scores()) is None
    if metric.stage != "metrics":
        assert metric.taken(None, None) is None


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """All that our metrics may ask for."""
    model = make_tiny_bert(tmp_path_factory.mktemp("contract") / "bert")
    prior = np.full(len(WORDS), 1 / len(WORDS))
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)
    return Scene(
        config(model=str(model), num_layers=2),
        vocabulary=Vocabulary(WORDS, prior, public=True),
        space=Space(WORDS, vectors, prior),
    )


@pytest.mark.parametrize("metric", text_metrics("private"), ids=lambda metric: metric.name)
def test_what_a_text_metric_measures(metric: TextMetric, scene: Scene) -> None:
    originals, noisy = corpus(60, 0.3)
    low, high = metric.range
    values = []
    for candidates in (noisy, originals):
        measured = metric.measure(Texts("private", originals, candidates), scene)
        assert len(measured.rows) == 60
        assert low <= measured.whole <= high + 1e-9
        json.dumps(jsonable([measured.details, measured.provenance]), allow_nan=False)
        # a text twice is worth what it is worth once: the value is a mean, or a ratio of sums
        twice = metric.measure(Texts("private", originals * 2, candidates * 2), scene)
        assert twice.whole == pytest.approx(measured.whole)
        values.append(measured.whole)
    assert (values[1] > values[0]) == metric.higher_is_better


def test_the_order_in_which_metrics_are_shown() -> None:
    shown = ["loss", "rouge1", "bleu", "n_w", "bertscore", "cosine", "accuracy"]
    assert [metric.name for metric in ordered()] == shown
    some = in_order(["n_w", "mine", "loss", "n_w"])
    assert [metric.name for metric in some] == ["loss", "n_w", "mine"]
    assert [metric.name for metric in in_block("private_metrics")] == shown[1:6]
    assert [metric.name for metric in in_block("metrics")] == [*shown[:5], "accuracy"]
    assert len({metric.order for metric in ordered()}) == len(shown)


def test_labels_and_digits_of_the_papers_tables() -> None:
    assert [(m.heading, m.digits, m.higher_is_better) for m in ordered()[:5]] == [
        ("Loss", 2, False),
        ("Rouge1", 2, True),
        ("BLEU", 2, True),
        ("N_w", 3, True),
        ("BERT-S", 3, True),
    ]
    assert [(m.label, m.summary_digits) for m in ordered()] == [
        ("Loss", 1),
        ("Rouge1", 1),
        ("BLEU", 1),
        ("N_w", 3),
        ("BERTScore", 3),
        ("cosine", 3),
        ("accuracy", 3),
    ]


def test_a_metric_whose_package_is_missing_is_described_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("strange", "gone"):
        metric = named(name)
        assert (metric.name, metric.label, metric.heading, metric.meaning) == (name,) * 4
        assert metric.digits == 3
    install(monkeypatch, "broken", "no_such_package:Broken")
    assert named("broken").label == "broken"
    with pytest.raises(TrlapError, match="metrics.names=broken: the package"):
        text_metrics("private", ["broken"])
    install(monkeypatch, "longer", "text_metric_helpers:Longer")
    assert named("longer").label == "Longer"
    # it would like to be the first
    assert [metric.name for metric in in_order(["longer", "accuracy"])] == ["accuracy", "longer"]


def test_asking_a_metric_imports_nothing_heavy() -> None:
    code = (
        "import sys; from trlap.metrics.registry import ordered; ordered(); "
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "torch",
        "numpy",
        "sacrebleu",
        "bert_score",
        "transformers",
        "rouge_score",
        "omegaconf",
    }
    assert not heavy & set(done.stdout.split())
