"""What classifiers learn, the frontier, and the sentences that a report shows."""

import math
from dataclasses import replace
from pathlib import Path

from report_helpers import LEARNED, PUBLISHED, classified_rows, decoded, learned, rewritten

from trlap.report.downstream import chosen, debias_table, debiased, figure4, whole_table
from trlap.report.examples import begin_with, changes, offered, sentences
from trlap.report.frontier import frontier_points
from trlap.report.published import load_published
from trlap.report.render import markdown
from trlap.runs.result import RunResult
from trlap.runs.settings import MechanismSettings


def test_figure_4_has_one_sample_of_the_data_and_the_authors_noise(tmp_path: Path) -> None:
    _, rows = classified_rows(LEARNED, tmp_path)
    ((panel, cells),) = figure4(rows).items()
    assert panel == ("sst2", "glove840b")
    assert set(cells.train) == {8000} and set(cells.seeds) == {1} and set(cells.lr) == {1e-4}
    assert sorted(cells[cells.mechanism == "gaussian"].accuracy) == [0.56] * 3
    # with the other crr, which the figure leaves out
    assert len(cells) == 1 + 3 + 4 + 3


def test_downstream_rows_say_what_was_read_and_what_the_paper_has(tmp_path: Path) -> None:
    _, rows = classified_rows(LEARNED, tmp_path)
    assert len(rows) == len(LEARNED)
    (row,) = rows[(rows.mechanism == "trlap") & (rows.epsilon == 0.01)].to_dict("records")
    assert (row["train_on"], row["test_on"], row["debias"]) == ("private", "private", "none")
    assert row["validation_accuracy"] == 0.5 and row["epochs"] == 10
    (printed,) = (
        number.value
        for number in load_published(PUBLISHED / "figures.csv")
        if (number.dataset, number.embedding) == ("sst2", "glove")
        and (number.mechanism, number.epsilon) == ("trlap", 0.01)
    )
    assert row["paper_figure4"] == printed


def test_accuracy_with_all_the_data_is_a_table_of_its_own(tmp_path: Path) -> None:
    _, rows = classified_rows(LEARNED, tmp_path)
    table = whole_table(rows)
    assert [line[2:8] for line in table.rows] == [
        ["none", "∞", "∞", "0.830 ± 0.004", "0.550", "50,000"],
        ["trlap", "1", "2", "0.820 ± 0.004", "0.550", "50,000"],
    ]
    line = "| sst2 | glove840b | trlap | 1 | 2 | 0.820 ± 0.004 |"
    assert line in markdown.text_table(table)


def test_decoded_cells_are_compared_with_the_level_of_their_own_classifier(
    tmp_path: Path,
) -> None:
    _, rows = classified_rows(LEARNED, tmp_path)
    (panel,) = debiased(rows)
    assert {how: list(cells.accuracy) for how, cells in panel.clean.items()} == {
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


def test_whose_noise_can_be_undone_is_what_the_rows_show(tmp_path: Path) -> None:
    """A mechanism that nobody here has heard of is shown as soon as one run has undone its noise."""
    before = [decoded("mine", 5.0, 0.70), decoded("crr", 5.0, 0.74, "posterior")]
    _, rows = classified_rows(before, tmp_path / "before")
    assert {line[2] for line in debias_table(rows).rows} == {"crr"}
    _, rows = classified_rows([*before, decoded("mine", 1.0, 0.6, "unbiased")], tmp_path / "after")
    assert {line[2] for line in debias_table(rows).rows} == {"crr", "mine"}


def test_a_size_that_somebody_chose_is_said() -> None:
    assert chosen(MechanismSettings("crr", {"name": "crr", "K": 148})) == "K=148"
    assert chosen(MechanismSettings("crr", {"name": "crr", "K": "auto"})) == ""
    keys = {"name": "pte", "m": None, "beta": 0.5, "seed": 0}
    assert chosen(MechanismSettings("pte", keys)) == ""


def on_yelp(cell: RunResult) -> RunResult:
    """The same of another corpus, without a classifier."""
    return replace(cell, dataset="yelp", details=replace(cell.details, classify=None))


def test_a_line_of_the_frontier_is_one_mechanism_calibration_and_sample(tmp_path: Path) -> None:
    yelp = [
        *(learned("gaussian", e, 0.6, calibration="exact", exact=e) for e in (1.0, 5.0)),
        learned("gaussian", 1.0, 0.7),
        *(learned("crr", float(epsilon), 0.9) for epsilon in range(1, 20)),
        learned("crr", 30.0, 0.9, limit=10),
        learned("crr", 31.0, 0.9, centres=2),
        replace(learned("crr", 32.0, 0.9), protocol="release"),
        replace(learned("crr", 33.0, 0.9), embedding="random"),
    ]
    frame, rows = classified_rows([*LEARNED, *map(on_yelp, yelp)], tmp_path)
    points = frontier_points(frame, rows)
    assert set(points[points.panel != "accuracy"].dataset) == {"yelp"}
    words = points[points.panel == "private_n_w"]
    gaussian = words[words.mechanism == "gaussian"]
    lines = {key: list(line.epsilon_1e6) for key, line in gaussian.groupby("calibration")}
    assert lines == {"exact": [1.0, 5.0], "published": [2.0]}
    crr = words[words.mechanism == "crr"]
    assert list(crr.epsilon) == list(range(1, 20)) and set(crr.value.round(9)) == {0.4}
    assert set(words.floor) == {0.04}
    accuracy = points[points.panel == "accuracy"]
    assert set(accuracy.dataset) == {"sst2"} and set(accuracy.floor) == {0.55}
    assert list(accuracy[accuracy.mechanism == "crr"].value) == [0.60, 0.68, 0.75]
    assert list(accuracy[accuracy.mechanism == "none"].value) == [0.80]


def test_words_that_changed() -> None:
    assert [word.changed for word in changes("good soup .", "good fork . !")] == [
        False,
        True,
        False,
        True,
    ]


def test_one_sentence_is_shown_under_each_mechanism_at_each_epsilon_offered(tmp_path: Path) -> None:
    cells = [
        learned("crr", 10.0, 0.7),
        learned("crr", 5.0, 0.7),
        learned("none", math.inf, 0.8),
        learned("crr", 0.2, 0.6),
        learned("alone", 5.0, 0.6),
        # another sentence's runs, at none of these
        rewritten("trlap", 0.05, 20.0, "paper"),
    ]
    frame, _ = classified_rows(cells, tmp_path)
    (example,) = sentences(frame)
    assert example.title == "sst2, glove840b, protocol paper"
    # ε as numbers: 5 before 10; 0.2 is not offered
    assert [(b.text, [(ln.label, ln.rewritten) for ln in b.lines]) for b in example.budgets] == [
        ("5", [("crr", False), ("crr", True), ("alone", False), ("alone", True)]),
        ("10", [("crr", False), ("crr", True)]),
    ]
    assert begin_with([example]) == 5.0 and [b.epsilon for b in offered([example])] == [5.0, 10.0]
