"""Made-up results whose every number is known, built by the records that runs themselves write."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from trlap import load_results
from trlap.report.downstream import classified
from trlap.report.published import load_published
from trlap.runs.records import Json
from trlap.runs.result import (
    Claimed,
    Classified,
    ClassifierRun,
    Counts,
    Details,
    Epoch,
    Exact,
    Example,
    Guarantee,
    Inputs,
    Provenance,
    RunResult,
    Scores,
    Trained,
    write,
)

ROOT = Path(__file__).parent.parent.parent
PUBLISHED = ROOT / "results" / "published"
# two of the paper's claims
WITHIN = "TrLap stays within one point of the non-private model at every ε"
STABLE = "Downstream accuracy with TrLap is stable down to ε = 0.01"
MODEL: dict[str, Json] = {
    "kind": "bilstm",
    "name": "bilstm_small",
    "epochs": 15,
    "layers": 1,
    "word_noise": {},
}
CONFIG: dict[str, Json] = {
    "dataset": {
        "name": "yelp",
        "path": "/home/me/corpora/yelp",
        "max_words": 10,
        "seed": 0,
        "split": {"train": 95, "validation": None},
        "limit": {"train": None},
    },
    "embedding": {"name": "glove840b", "path": "/home/me/vectors.txt", "dimension": 300},
    "model": MODEL,
    "classifier": {"name": "average", "model": None, "lr": 1e-4, "seeds": [42]},
    "classify": {"train_on": "private", "test_on": "private", "debias": "none"},
    "calibration": "published",
    "delta": "paper",
    "projection": "clipped",
    "stages": ["privatize", "rewrite", "metrics"],
    "outputs": "/home/me/outputs",
}


def guarantee(epsilon: float, exact_epsilon: float = math.inf) -> Guarantee:
    """Of a mechanism whose claim does not hold; without noise nothing is claimed."""
    exact = Exact(log10_delta=-0.005, epsilon_at_delta_1e6=exact_epsilon)
    if math.isinf(epsilon):
        return Guarantee(Claimed("none", math.inf, 0.0), exact)
    return Guarantee(Claimed("(ε, δ)-DP", epsilon, -180.6), exact, holds=False)


def rewritten(
    mechanism: str,
    epsilon: float,
    rouge1: float,
    protocol: str = "release",
    *,
    dataset: str = "yelp",
    seed: int = 42,
    interval: bool = True,
) -> RunResult:
    """A rewritten cell of Yelp, with the interval of its Rouge1: ± 0.4."""
    clip = 1.0 if protocol == "paper" else 0.005
    return RunResult(
        name="",
        protocol=protocol,
        dataset=dataset,
        embedding="glove840b",
        mechanism=mechanism,
        epsilon=epsilon,
        seed=seed,
        guarantee=guarantee(epsilon),
        metrics=Scores(
            values={
                "loss": 50 - rouge1 / 2,
                "rouge1": rouge1,
                "bleu": 1.0,
                "n_w": rouge1 / 100,
                "bertscore": 0.5,
                "accuracy": None,
            },
            intervals={"rouge1": (rouge1 - 0.4, rouge1 + 0.4)} if interval else {},
            reasons={"accuracy": "stage classify did not run"},
        ),
        private_metrics=Scores(
            values={"n_w": 0.1, "rouge1": 10.0, "cosine": 0.2},
            details={"cosine_best_constant": 0.05},
        ),
        details=Details(
            sizes={"train": 90, "validation": 5, "test": 20},
            examples=[Example("good soup", "good fork", "a </b> soup")],
            privatize={"test": Counts(sentences=20, tokens=150, unknown=0, leaked=0)},
            rewrite=Trained(
                precision="32-true", history=[Epoch(seconds=s) for s in (2.0, 4.0, 3.0)]
            ),
        ),
        seconds={"rewrite": 9.0},
        versions={"torch": "2"},
        provenance=Provenance(
            command=f"python run.py mechanism={mechanism} epsilon={epsilon:g}",
            dataset={"source": {"files": {"train": "592e8c6c" * 8}}},
            config=CONFIG | {"clip": clip, "mechanism": {"name": mechanism}},
        ),
    )


def with_config(result: RunResult, **groups: Json) -> RunResult:
    """The same with other settings."""
    provenance = replace(result.provenance, config=result.provenance.config | groups)
    return replace(result, provenance=provenance)


def learned(
    mechanism: str,
    epsilon: float,
    accuracy: float,
    *,
    lr: float = 1e-4,
    seeds: int = 1,
    test_on: str = "private",
    debias: str = "none",
    exact: float | None = None,
    limit: int | None = 8000,
    patience: int = 10,
    calibration: str = "published",
    centres: int | str = "auto",
) -> RunResult:
    """A classified cell on a sample of SST-2; its exact ε is twice the nominal one unless given."""
    cell = rewritten(mechanism, epsilon, 0.0, "paper", dataset="sst2")
    inputs = Inputs("private", test_on, debias)
    runs = [ClassifierRun(seed=i, epochs=10 + i, validation_accuracy=0.5) for i in range(seeds)]
    cell = with_config(
        cell,
        stages=["privatize", "classify", "metrics"],
        dataset={"name": "sst2", "max_words": None, "limit": {"train": limit}, "seed": 0},
        classifier={
            "name": "average",
            "lr": lr,
            "seeds": list(range(seeds)),
            "patience": patience,
            "model": None,
        },
        classify={"train_on": "private", "test_on": test_on, "debias": debias},
        calibration=calibration,
        mechanism={"name": mechanism, "K": centres},
    )
    return replace(
        cell,
        metrics=Scores(
            values={"accuracy": accuracy, "loss": None},
            intervals={"accuracy": (accuracy - 0.01, accuracy + 0.01)},
        ),
        private_metrics=Scores(
            values={"n_w": accuracy - 0.5, "rouge1": 30.0, "cosine": 0.2},
            details={"cosine_best_constant": 0.05, "n_w_best_constant": 0.04},
        ),
        guarantee=guarantee(epsilon, 2 * epsilon if exact is None else exact),
        details=replace(
            cell.details,
            sizes={"train": limit or 50000, "validation": 1000, "test": 2000},
            rewrite=None,
            classify=Classified(
                accuracy=accuracy,
                inputs=inputs,
                deviation=0.004 if seeds > 1 else None,
                macro_f1=0.5,
                majority=0.55,
                runs=runs,
            ),
        ),
    )


def decoded(
    mechanism: str,
    epsilon: float,
    accuracy: float,
    debias: str = "none",
    *,
    lr: float = 1e-3,
    patience: int = 10,
    centres: int | str = "auto",
) -> RunResult:
    """Trained on private words, tested on original ones, with all the data and five seeds."""
    return learned(
        mechanism,
        epsilon,
        accuracy,
        lr=lr,
        seeds=5,
        test_on="original",
        debias=debias,
        limit=None,
        patience=patience,
        centres=centres,
    )


PATTERN = [
    rewritten("none", math.inf, 68.0),
    rewritten("trlap", 0.05, 67.5),
    rewritten("gaussian", 0.05, 30.0),
    rewritten("laplace", 0.05, 24.0),
    rewritten("none", math.inf, 68.0, "paper"),
    rewritten("trlap", 0.05, 20.0, "paper"),
]
LEARNED = [
    learned("none", math.inf, 0.80),
    *(learned("trlap", epsilon, 0.551, exact=math.inf) for epsilon in (0.01, 0.1, 1.0)),
    learned("crr", 1.0, 0.60),
    learned("crr", 5.0, 0.68),
    learned("crr", 10.0, 0.75),
    *(learned("gaussian", epsilon, 0.56) for epsilon in (0.1, 1.0, 10.0)),
    # not the same thing, and not to be taken for it
    learned("gaussian", 1.0, 0.61, calibration="exact", exact=1.0),
    learned("gaussian", 10.0, 0.66, calibration="exact", exact=10.0),
    learned("crr", 7.0, 0.99, centres=3),
    learned("trlap", 0.5, 0.60, test_on="original"),
    learned("trlap", 1.0, 0.82, limit=None, seeds=5),
    learned("none", math.inf, 0.83, limit=None, seeds=5),
    decoded("crr", 5.0, 0.70, lr=1e-4),
    decoded("crr", 5.0, 0.72, "unbiased"),
    decoded("crr", 5.0, 0.74, "posterior"),
    decoded("crr", 10.0, 0.76, "posterior"),
    decoded("crr", 5.0, 0.77, "posterior", centres=148),
    decoded("crr", 8.0, 0.99, "posterior", patience=5),
    decoded("none", math.inf, 0.84),
    decoded("none", math.inf, 0.99, patience=5),
]


def write_runs(results: Sequence[RunResult], outputs: Path) -> Path:
    """A folder for each, as a sweep leaves them."""
    for place, result in enumerate(results):
        name = f"yelp-glove840b-{result.mechanism}-{place}"
        write(replace(result, name=name), outputs / name / "result.json")
    return outputs


def classified_rows(
    results: Sequence[RunResult], outputs: Path
) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """All rows, and those of classifiers."""
    frame = load_results(write_runs(results, outputs))
    return frame, classified(frame, load_published(PUBLISHED / "figures.csv"))
