"""The report, from made-up results whose every number is known."""

import json
import math
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trlap import load_results
from trlap.report import build, changes
from trlap.report.claims import check_claims
from trlap.report.downstream import classified, debias_table, debiased, figure4, whole_table
from trlap.report.figures import frontier_points
from trlap.report.results import collect, read
from trlap.report.tables import best, load_published, missing, table_cells

ROOT = Path(__file__).parent.parent.parent
PUBLISHED = ROOT / "results" / "published"
CONFIG = {
    "dataset": {
        **{"name": "yelp", "path": "/home/me/corpora/yelp", "max_words": 10, "seed": 0},
        **{"split": {"train": 95, "validation": None}, "limit": {"train": None}},
    },
    "embedding": {"name": "glove840b", "path": "/home/me/vectors.txt", "dimension": 300},
    "model": {"name": "bilstm_small", "epochs": 15, "layers": 1, "word_noise": {}},
    "classifier": {"name": "average", "model": None, "lr": 1e-4, "seeds": [42]},
    "classify": {"train_on": "private", "test_on": "private", "debias": "none"},
    **{"mechanism": {}, "calibration": "published", "delta": "paper", "projection": "clipped"},
    **{"stages": ["privatize", "rewrite"], "outputs": "/home/me/outputs"},
}


def result(
    mechanism: str, epsilon: float, rouge1: float, protocol: str = "release", **keys: Any
) -> dict[str, Any]:
    metrics = {"loss": 50 - rouge1 / 2, "rouge1": rouge1, "bleu": 1.0, "n_w": rouge1 / 100}
    metrics |= {"bertscore": 0.5, "accuracy": None}
    return {
        "status": "ok",
        "protocol": protocol,
        "dataset": "yelp",
        "embedding": "glove840b",
        "mechanism": mechanism,
        "epsilon": "inf" if math.isinf(epsilon) else epsilon,
        "seed": 42,
        "metrics": metrics,
        "private_metrics": {"n_w": 0.1, "rouge1": 10.0, "cosine": 0.2},
        "intervals": {"metrics": {"rouge1": [rouge1 - 0.4, rouge1 + 0.4]}},
        "details": {
            "rewrite": {"history": [{"seconds": 2.0}, {"seconds": 4.0}, {"seconds": 3.0}]},
            "sizes": {"train": 90, "validation": 5, "test": 20},
            "privatize": {"test": {"sentences": 20, "tokens": 150}},
            "private_metrics": {"cosine_best_constant": 0.05},
            "examples": [
                {"original": "good soup", "private": "good fork", "rewritten": "a </b> soup"}
            ],
        },
        "guarantee": {
            "claimed": {"log10_delta": -180.6},
            "exact": {"log10_delta": -0.005, "epsilon_at_delta_1e6": "inf"},
            "holds": False,
        },
        "seconds": {"rewrite": 9.0},
        "provenance": {
            "config": CONFIG | {"clip": 0.005 if protocol == "release" else 1.0},
            "command": f"python run.py mechanism={mechanism} epsilon={epsilon:g}",
            "dataset": {"source": {"files": {"train": "592e8c6c" * 8}}},
        },
        "versions": {"torch": "2"},
        **keys,
    }


PATTERN = [
    result("none", math.inf, 68.0),
    result("trlap", 0.05, 67.5),
    result("gaussian", 0.05, 30.0),
    result("laplace", 0.05, 24.0),
    result("none", math.inf, 68.0, "paper"),
    result("trlap", 0.05, 20.0, "paper"),
]


def learned(
    mechanism: str,
    epsilon: float,
    accuracy: float,
    *,
    lr: float = 1e-4,
    seeds: int = 1,
    **keys: Any,
) -> dict[str, Any]:
    """A classified cell on a sample of SST-2; `keys` also has inputs, settings and the exact ε."""
    found = result(mechanism, epsilon, 0.0, "paper", dataset="sst2")
    inputs = {"train_on": "private", "test_on": keys.get("test_on", "private")}
    inputs["debias"] = keys.get("debias", "none")
    found["metrics"] = {"accuracy": accuracy, "loss": None}
    found["private_metrics"] = {"n_w": accuracy - 0.5, "rouge1": 30.0, "cosine": 0.2}
    found["intervals"] = {"metrics": {"accuracy": [accuracy - 0.01, accuracy + 0.01]}}
    found["guarantee"]["exact"]["epsilon_at_delta_1e6"] = keys.get("exact", 2 * epsilon)
    if math.isinf(epsilon):
        found["guarantee"]["exact"]["epsilon_at_delta_1e6"] = "inf"
    runs = [{"seed": i, "epochs": 10 + i, "validation_accuracy": 0.5} for i in range(seeds)]
    found["details"] |= {
        "rewrite": {},
        "classify": {"accuracy": accuracy, "macro_f1": 0.5, "majority": 0.55}
        | {"deviation": 0.004 if seeds > 1 else None, "inputs": inputs, "runs": runs},
        "private_metrics": {"cosine_best_constant": 0.05, "n_w_best_constant": 0.04},
    }
    limit = keys.get("limit", 8000)
    found["details"]["sizes"] = {"train": limit or 50000, "validation": 1000, "test": 2000}
    config = found["provenance"]["config"]
    found["provenance"]["config"] = config | {
        "stages": ["privatize", "classify"],
        "dataset": {"name": "sst2", "max_words": None, "limit": {"train": limit}, "seed": 0},
        "classifier": {
            **{"name": "average", "lr": lr, "seeds": list(range(seeds))},
            **{"patience": keys.get("patience", 10), "model": None},
        },
        "classify": inputs,
        "calibration": keys.get("calibration", "published"),
        "mechanism": {"name": mechanism, "K": keys.get("K")},
    }
    return found


ORIGINAL = {"test_on": "original", "limit": None, "seeds": 5}
LEARNED = [
    learned("none", math.inf, 0.80),
    *(learned("trlap", e, 0.551, exact="inf") for e in (0.01, 0.1, 1.0)),
    *(learned("crr", e, a) for e, a in ((1.0, 0.60), (5.0, 0.68), (10.0, 0.75))),
    *(learned("gaussian", e, 0.56) for e in (0.1, 1.0, 10.0)),
    # not the same thing, and not to be taken for it
    learned("gaussian", 1.0, 0.61, calibration="exact", exact=1.0),
    learned("gaussian", 10.0, 0.66, calibration="exact", exact=10.0),
    learned("crr", 7.0, 0.99, K=3),
    learned("trlap", 0.5, 0.60, test_on="original"),
    learned("trlap", 1.0, 0.82, limit=None, seeds=5),
    learned("none", math.inf, 0.83, limit=None, seeds=5),
    learned("crr", 5.0, 0.70, **ORIGINAL),
    learned("crr", 5.0, 0.72, debias="unbiased", lr=1e-3, **ORIGINAL),
    learned("crr", 5.0, 0.74, debias="posterior", lr=1e-3, **ORIGINAL),
    learned("crr", 10.0, 0.76, debias="posterior", lr=1e-3, **ORIGINAL),
    learned("crr", 5.0, 0.77, debias="posterior", lr=1e-3, K=148, **ORIGINAL),
    learned("crr", 8.0, 0.99, debias="posterior", lr=1e-3, patience=5, **ORIGINAL),
    learned("none", math.inf, 0.84, lr=1e-3, **ORIGINAL),
    learned("none", math.inf, 0.99, lr=1e-3, patience=5, **ORIGINAL),
]


def write(results: list[dict[str, Any]], to: Path) -> Path:
    for i, found in enumerate(results):
        folder = to / f"yelp-glove840b-{found['mechanism']}-{i}"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(found))
    return to


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of all made-up runs, beside them."""
    outputs = write(PATTERN + LEARNED, tmp_path_factory.mktemp("runs") / "outputs")
    build([outputs], outputs / "report", PUBLISHED)
    return outputs / "report"


def classify_rows(results: list[dict[str, Any]], to: Path) -> Any:
    frame = load_results(write(results, to))
    return frame, classified(frame, load_published(PUBLISHED / "figures.csv"))


def verdicts(results: list[dict[str, Any]], to: Path) -> dict[tuple[str, str], str]:
    found = check_claims(load_results(write(results, to)))
    return {(v.claim, v.protocol): v.verdict for v in found}


WITHIN = "TrLap stays within one point of the non-private model at every ε"
COLLAPSE = "Gaussian and Laplacian noise destroy the text for ε < 1"
PRIVATE = "TrLap is (ε, δ)-differentially private for δ = 4⁻ᵈ (Theorem 1)"
STABLE = "Downstream accuracy with TrLap is stable down to ε = 0.01"
VARIANCE = "TrLap has lower variance than Gaussian and Laplacian noise (Theorem 2)"


def test_results_become_rows_and_collected_rows_the_same_results(tmp_path: Path) -> None:
    outputs = write(PATTERN, tmp_path / "outputs")
    frame = load_results(outputs)
    assert len(frame) == 6 and frame.setup.nunique() == 1
    row = frame[(frame.mechanism == "trlap") & (frame.protocol == "paper")].iloc[0]
    assert (row.rouge1, row.epoch_seconds, row.epsilon_1e6) == (20.0, 3.0, math.inf)
    assert row["size"] == "90 / 5 / 20, ≤ 10 words, bilstm_small, 15 epochs"
    assert collect(read([outputs]), tmp_path / "rows" / "study.jsonl") == 6
    again = load_results(tmp_path / "rows")
    assert again.drop(columns="result").equals(frame.drop(columns="result"))
    assert len(load_results(outputs, tmp_path / "rows")) == 6  # each cell once


def test_the_report_of_collected_rows_is_that_of_the_runs(report: Path, tmp_path: Path) -> None:
    collect(read([report.parent]), tmp_path / "rows" / "study.jsonl")
    build([tmp_path / "rows"], tmp_path / "again", PUBLISHED)
    names = sorted(path.name for path in report.iterdir())
    assert names == sorted(path.name for path in (tmp_path / "again").iterdir())
    for name in names:
        if name != "index.html":  # links to the folders of runs
            assert (report / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


def test_collected_rows_name_no_place_of_a_machine(tmp_path: Path) -> None:
    found = result("trlap", 0.05, 67.5)
    found["provenance"]["command"] += (
        " embedding.path=/home/me/vectors.txt 'dataset.path=~/a b.txt'"
    )
    collect([{**found, "name": "run"}], tmp_path / "study.jsonl")
    text = (tmp_path / "study.jsonl").read_text()
    row = json.loads(text)
    assert "/home" not in text and "~" not in text and "592e8c6c592e8" not in text
    assert row["provenance"]["command"] == (
        "python run.py mechanism=trlap epsilon=0.05 embedding.path=vectors.txt 'dataset.path=a b.txt'"
    )
    assert row["provenance"]["config"]["model"]["epochs"] == 15  # what ran is still there
    assert "classifier" not in row["provenance"]["config"]  # what did not is not


def test_unfinished_runs_do_not_count(tmp_path: Path) -> None:
    outputs = write([{**PATTERN[0], "status": "failed"}], tmp_path)
    assert load_results(outputs).empty


def test_published_numbers_stand_beside_ours(tmp_path: Path) -> None:
    twice = [*PATTERN, {**result("trlap", 0.05, 66.5), "seed": 43}]
    cells = table_cells(
        load_results(write(twice, tmp_path)), load_published(PUBLISHED / "tables.csv")
    )
    assert len(cells) == 435
    (cell,) = (
        c
        for c in cells
        if (c.table, c.dataset, c.mechanism, c.epsilon, c.metric)
        == ("table2", "yelp", "trlap", 0.05, "rouge1")
    )
    assert cell.published == 89.45
    assert cell.ours["release"].mean == 67.0
    assert cell.ours["release"].deviation == pytest.approx(math.sqrt(0.5))
    assert cell.ours["paper"].mean == 20.0
    assert "protocol=paper dataset=yelp" in cell.fill("paper")


def test_the_line_beside_a_missing_cell_fills_it(configure: Any) -> None:
    """The same data and model as the experiment's other cells, or it would be a cell of another table."""
    published = load_published(PUBLISHED / "tables.csv")
    cells = table_cells(load_results(PUBLISHED), published)
    assert {cell.table for cell in cells} == {"table1", "table2", "table3", "table5"}
    for cell in cells[::50]:
        (line,) = (
            line
            for line in missing(cell.table, cells)
            if f"protocol=paper dataset={cell.dataset} " in line
        )
        assert f"experiment={cell.table} " in line
        python, script, *keys = shlex.split(cell.fill("paper"))
        assert (python, script) == ("python", "run.py")
        cfg = configure(*keys)
        assert (cfg.dataset.limit.train, cfg.model.name) == (4000, "bilstm_small")
        assert cfg.model.epochs == 15
        assert (cfg.dataset.name, cfg.mechanism.name) == (cell.dataset, cell.mechanism)


def test_exact_values_come_from_any_run_with_that_noise(tmp_path: Path) -> None:
    demo = result("laplace", 0.2, 1.0, "paper", dataset="demo")
    demo["guarantee"]["exact"] = {"log10_delta": "-inf", "epsilon_at_delta_1e6": 0.039}
    short_vectors = result("laplace", 0.5, 1.0, "paper", dataset="demo")
    short_vectors["provenance"]["config"]["embedding"] = {"name": "random", "dimension": 50}
    cells = table_cells(
        load_results(write([demo, short_vectors], tmp_path)),
        load_published(PUBLISHED / "tables.csv"),
    )
    (known,) = {
        (c.log10_delta["paper"], c.epsilon_1e6["paper"])
        for c in cells
        if (c.mechanism, c.epsilon) == ("laplace", 0.2)
    }
    assert known == (-math.inf, 0.039)
    assert not any(c.ours["paper"].values for c in cells)
    assert all(c.epsilon_1e6["paper"] is None for c in cells if c.epsilon != 0.2)


def test_a_calibrated_run_is_not_taken_for_the_papers(tmp_path: Path) -> None:
    exact = result("trlap", 0.05, 99.0)
    exact["provenance"]["config"] = {**exact["provenance"]["config"], "calibration": "exact"}
    cells = table_cells(
        load_results(write([exact], tmp_path)), load_published(PUBLISHED / "tables.csv")
    )
    assert not any(ours.values for cell in cells for ours in cell.ours.values())


def test_the_best_mechanism_at_each_epsilon_is_bold() -> None:
    columns = [
        ("none", math.inf),
        ("gaussian", 1.0),
        ("gaussian", 5.0),
        ("trlap", 1.0),
        ("trlap", 5.0),
    ]
    assert best([9.0, 1.0, 4.0, 2.0, 3.0], columns, more=True) == {2, 3}
    assert best([9.0, 1.0, 4.0, 2.0, 3.0], columns, more=False) == {1, 4}
    assert best([9.0, 1.0, None, 2.0, 3.0], columns, more=True) == {3}


def test_claims_are_computed(tmp_path: Path) -> None:
    found = verdicts(PATTERN, tmp_path / "a")
    assert found[WITHIN, "release"] == "confirmed"
    assert found[WITHIN, "paper"] == "refuted"
    assert found[COLLAPSE, "release"] == "confirmed"
    assert found[COLLAPSE, "paper"] == "not yet run"
    assert found[PRIVATE, "paper"] == "refuted"
    assert found[VARIANCE, "both"] == "confirmed"
    changed = [*PATTERN[:1], result("trlap", 0.05, 60.0), *PATTERN[2:]]
    assert verdicts(changed, tmp_path / "b")[WITHIN, "release"] == "refuted"
    unsure = [*PATTERN[:1], result("trlap", 0.05, 66.5), *PATTERN[2:]]  # intervals are ± 0.4
    assert verdicts(unsure, tmp_path / "c")[WITHIN, "release"] == "undecided"
    no_interval = result("trlap", 0.05, 60.0, intervals={"metrics": {}})
    unsure = [*PATTERN[:1], no_interval, *PATTERN[2:]]
    assert verdicts(unsure, tmp_path / "d")[WITHIN, "release"] == "undecided"


def test_a_changed_number_changes_table_figure_and_claim(report: Path, tmp_path: Path) -> None:
    stable = [learned("trlap", e, 0.795, exact="inf") for e in (0.01, 0.1, 1.0)]
    changed = [PATTERN[0], result("trlap", 0.05, 60.0), *PATTERN[2:]]
    changed += [LEARNED[0], *stable, *LEARNED[4:]]
    after = tmp_path / "after"
    build([write(changed, tmp_path / "runs")], after, PUBLISHED)
    for name in (
        *("tables.csv", "tables.tex", "report.md", "figure2.svg", "claims.json", "index.html"),
        *("downstream.csv", "figure4.svg", "frontier.csv", "frontier.svg"),
    ):
        assert (report / name).read_bytes() != (after / name).read_bytes(), name
    assert (report / "debias.svg").read_bytes() == (after / "debias.svg").read_bytes()
    assert "| **67.50** |" in (report / "report.md").read_text()
    assert "missing" in (report / "report.md").read_text()
    assert r"\</b>" in (report / "report.md").read_text()  # a word, not a tag
    verdicts = [
        {(v["claim"], v["protocol"]): v["verdict"] for v in json.loads(path.read_text())}
        for path in (report / "claims.json", after / "claims.json")
    ]
    assert [found[WITHIN, "release"] for found in verdicts] == ["confirmed", "refuted"]
    assert [found[STABLE, "paper"] for found in verdicts] == ["refuted", "confirmed"]


def test_figure_4_has_one_sample_of_the_data_and_the_authors_noise(tmp_path: Path) -> None:
    _, rows = classify_rows(LEARNED, tmp_path)
    ((panel, own),) = figure4(rows).items()
    assert panel == ("sst2", "glove840b")
    assert set(own.train) == {8000} and set(own.seeds) == {1} and set(own.lr) == {1e-4}
    assert sorted(own[own.mechanism == "gaussian"].accuracy) == [0.56] * 3
    assert len(own) == 1 + 3 + 4 + 3  # with the other crr, which _lines leaves out


def test_downstream_rows_say_what_was_read_and_what_the_paper_has(tmp_path: Path) -> None:
    _, rows = classify_rows(LEARNED, tmp_path)
    assert len(rows) == len(LEARNED)
    (row,) = rows[(rows.mechanism == "trlap") & (rows.epsilon == 0.01)].to_dict("records")
    assert (row["train_on"], row["test_on"], row["debias"]) == ("private", "private", "none")
    assert row["validation_accuracy"] == 0.5 and row["epochs"] == 10
    (printed,) = (
        p["value"]
        for p in load_published(PUBLISHED / "figures.csv")
        if (p["dataset"], p["embedding"], p["mechanism"], p["epsilon"])
        == ("sst2", "glove", "trlap", 0.01)
    )
    assert row["paper_figure4"] == printed


def test_accuracy_with_all_the_data_is_a_table_of_its_own(tmp_path: Path) -> None:
    _, rows = classify_rows(LEARNED, tmp_path)
    table = whole_table(rows)
    assert [line[2:8] for line in table.rows] == [
        ["none", "∞", "∞", "0.830 ± 0.004", "0.550", "50,000"],
        ["trlap", "1", "2", "0.820 ± 0.004", "0.550", "50,000"],
    ]
    assert "| sst2 | glove840b | trlap | 1 | 2 | 0.820 ± 0.004 |" in table.markdown()


def test_decoded_cells_are_compared_with_the_level_of_their_own_classifier(
    tmp_path: Path,
) -> None:
    _, rows = classify_rows(LEARNED, tmp_path)
    (panel,) = debiased(rows)
    assert {how: list(own.accuracy) for how, own in panel.clean.items()} == {
        "none": [0.83],
        "unbiased": [0.84],
        "posterior": [0.84],
    }
    assert [line[2:7] for line in debias_table(rows).rows] == [
        ["none", "∞", "0.830 ± 0.004", "0.840 ± 0.004", "0.840 ± 0.004"],
        ["crr", "5", "0.700 ± 0.004", "0.720 ± 0.004", "0.740 ± 0.004"],
        ["crr, K=148", "5", "–", "–", "0.770 ± 0.004"],
        ["crr", "10", "–", "–", "0.760 ± 0.004"],
    ]


def test_a_line_of_the_frontier_is_one_mechanism_calibration_and_sample(tmp_path: Path) -> None:
    exact = [learned("gaussian", e, 0.6, calibration="exact", exact=e) for e in (1.0, 5.0)]
    yelp = [
        *({**cell, "dataset": "yelp", "metrics": {}} for cell in exact),
        {**learned("gaussian", 1.0, 0.7), "dataset": "yelp", "metrics": {}},
        *({**learned("crr", e, 0.9), "dataset": "yelp", "metrics": {}} for e in range(1, 20)),
        {**learned("crr", 30.0, 0.9, limit=10), "dataset": "yelp", "metrics": {}},
        {**learned("crr", 31.0, 0.9, K=2), "dataset": "yelp", "metrics": {}},
        {**learned("crr", 32.0, 0.9), "dataset": "yelp", "metrics": {}, "protocol": "release"},
        {**learned("crr", 33.0, 0.9), "dataset": "yelp", "metrics": {}, "embedding": "random"},
    ]
    points = frontier_points(*classify_rows(LEARNED + yelp, tmp_path))
    assert set(points[points.panel != "accuracy"].dataset) == {"yelp"}
    words = points[points.panel == "private_n_w"]
    gaussian = words[words.mechanism == "gaussian"]
    lines = {key: list(own.epsilon_1e6) for key, own in gaussian.groupby("calibration")}
    assert lines == {"exact": [1.0, 5.0], "published": [2.0]}
    crr = words[words.mechanism == "crr"]
    assert list(crr.epsilon) == list(range(1, 20)) and set(crr.value.round(9)) == {0.4}
    assert set(words.floor) == {0.04}
    accuracy = points[points.panel == "accuracy"]
    assert set(accuracy.dataset) == {"sst2"} and set(accuracy.floor) == {0.55}
    assert list(accuracy[accuracy.mechanism == "crr"].value) == [0.60, 0.68, 0.75]
    assert list(accuracy[accuracy.mechanism == "none"].value) == [0.80]


def test_words_that_changed() -> None:
    assert [w["changed"] for w in changes("good soup .", "good fork . !")] == [
        False,
        True,
        False,
        True,
    ]


def shapes(folder: Path, name: str) -> tuple[str, list[float]]:
    """A figure without the names of its parts, which are made from all digits: its text, its numbers."""
    text = re.sub(r'id="\w+"|#\w+', "", (folder / f"{name}.svg").read_text())
    number = r"-?\d+\.?\d*(?:e-?\d+)?"
    return re.sub(number, "0", text), [float(found) for found in re.findall(number, text)]


def test_the_rows_of_the_study_fill_every_figure_and_decide_every_claim(tmp_path: Path) -> None:
    """Nothing but what is committed; figures and numbers of the documents come from these rows."""
    rows = build([ROOT / "results"], tmp_path, PUBLISHED)
    assert len(rows) == sum(1 for _ in (ROOT / "results" / "study.jsonl").open())
    committed = ROOT / "results" / "figures"
    names = {path.stem for path in tmp_path.glob("*.svg")}
    assert names == {path.stem for path in committed.glob("*.svg")}
    for name in names:
        drawn, kept = shapes(tmp_path, name), shapes(committed, name)
        assert drawn[0] == kept[0], f"results/figures/{name}.svg is not of these rows"
        assert drawn[1] == pytest.approx(kept[1], abs=0.01), name
        assert (tmp_path / f"{name}.png").stat().st_size > 0
    found = json.loads((tmp_path / "claims.json").read_text())
    assert {(v["claim"], v["protocol"]): v["verdict"] for v in found}[STABLE, "paper"] == "refuted"
    assert all(v["verdict"] != "not yet run" for v in found)


def test_with_nothing_to_show_it_says_what_to_run(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "report.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "python run.py -m experiment=high_privacy" in done.stderr


def test_latex_compiles_or_at_least_balances(report: Path, tmp_path: Path) -> None:
    body = (report / "tables.tex").read_text()
    assert body.count(r"\begin{") == body.count(r"\end{")
    assert body.count("{") == body.count("}")
    widths = {line.count(" & ") for line in body.splitlines() if line.startswith(("Loss", "N"))}
    assert widths == {13}  # thirteen numbers after the label
    assert body.isascii() or not set(body) & set("εδ±∞≤≥–⁻⁶")
    engine = shutil.which("pdflatex") or shutil.which("tectonic")
    if engine is None:
        return
    head = r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}"
    (tmp_path / "all.tex").write_text(head + body + r"\end{document}")
    options = ["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in engine else []
    command = [engine, *options, "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


def test_the_page_in_a_browser(browser: Any, report: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda r: r.url.startswith(("file:", "data:")) or problems.append(r.url))
    page.goto((report / "index.html").as_uri())
    rows, every = page.locator("#cells tbody tr"), len(PATTERN + LEARNED)
    assert rows.count() == every
    page.locator("#filter-protocol").select_option("release")
    assert rows.count() == 4
    assert page.locator("#count").inner_text() == f"4 of {every} runs"
    assert page.locator("#cells th[data-key=accuracy]").is_hidden()  # none of them has one
    page.locator("#filter-protocol").select_option("")
    assert page.locator("#cells th[data-key=accuracy]").is_visible()
    page.locator("#find").fill("mechanism=laplace")
    assert rows.count() == 1
    page.locator("#find").fill("")
    page.locator("#filter-dataset").select_option("yelp")
    header = page.locator("#cells th[data-key=rouge1]")
    header.locator("button").focus()
    page.keyboard.press("Enter")  # by the keyboard alone
    assert header.get_attribute("aria-sort") == "ascending"
    column = [t.strip() for t in page.locator("#cells td[data-key=rouge1]").all_inner_texts()]
    assert column == ["20.0", "24.0", "30.0", "67.5", "68.0", "68.0"]
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    rows.nth(5).locator("button").focus()
    page.keyboard.press("Enter")
    box = page.locator("#box")
    assert "python run.py mechanism=trlap epsilon=0.05" in box.inner_text()
    assert box.locator("mark").all_inner_texts()[0] == "fork"
    assert "</b>" in box.inner_text()  # text from runs is text, not markup
    page.keyboard.press("Escape")
    assert not box.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390  # nothing sticks out
    assert problems == []
