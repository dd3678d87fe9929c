"""What documents teach: which runs are compared, means over splits, levels, the figure."""

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from report_helpers import LEARNED, PUBLISHED, ROOT, decoded, learned, with_config, write_runs

from trlap import load_results
from trlap.report import documents
from trlap.report.drawing.documents import documents as drawn
from trlap.report.material import Material
from trlap.report.render import markdown
from trlap.report.results import collect, read
from trlap.runs.result import (
    Composed,
    DocumentGuarantee,
    Documents,
    Exact,
    Inputs,
    RunResult,
)


def document(
    mechanism: str,
    epsilon: float,
    accuracy: float,
    split: int = 0,
    *,
    unit: str = "document",
    train_on: str = "private",
    labels: int | None = None,
    composed: float = math.inf,
    K: int | str = "auto",
    **groups: object,
) -> RunResult:
    cell = decoded(mechanism, epsilon, accuracy, "posterior")
    classified = cell.details.classify
    assert classified is not None
    own = {"encoder": "minilm"} if mechanism == "drr" else {}
    cell = with_config(
        cell,
        dataset={"name": "sst2", "seed": split},
        mechanism={"name": mechanism, "K": K, **own},
        classifier={"name": "ridge", "seeds": [42]},
        classify={"train_on": train_on, "public_labels": labels},
        public={"always": unit == "word", "share": 0.5},
        unit=unit,
        words=1,
        **groups,
    )
    median = DocumentGuarantee(43, 43, loss_distribution=Composed(composed, -6.0, "summed"))
    return replace(
        cell,
        unit=unit,
        guarantee=replace(
            cell.guarantee,
            exact=Exact(epsilon=epsilon, log10_delta=-math.inf, epsilon_at_delta_1e6=epsilon),
            document=Documents(median, median, 1),
        ),
        details=replace(
            cell.details,
            classify=replace(classified, inputs=Inputs(train_on, "original", "posterior")),
        ),
    )


ROWS = [
    *(document("drr", 1.0, accuracy, split) for split, accuracy in enumerate((0.70, 0.74, 0.78))),
    document("drr", 4.0, 0.80),
    document("drr", 1.0, 0.66, label="private"),
    document("crr", 2.0, 0.6),
    document("crr", 3.0, 0.65, unit="word", composed=126.0),
    document("none", math.inf, 0.84),
    document("none", math.inf, 0.83, train_on="public"),
    document("none", math.inf, 0.77, train_on="public", labels=100),
    # chosen by hand, or tested on private text: not among them
    document("drr", 1.0, 0.99, K=7),
    learned("crr", 1.0, 0.99, test_on="original"),
]


def panels(rows: Iterable[RunResult], folder: Path) -> list[documents.Panel]:
    return documents.panels(documents.taught(load_results(write_runs(list(rows), folder))))


def test_lines_have_means_and_ranges_over_splits(tmp_path: Path) -> None:
    (panel,) = panels(ROWS, tmp_path)
    assert panel.dataset == "sst2" and panel.majority == 0.55
    assert [line.name for line in panel.budgets] == [
        "drr",
        "drr, labels too",
        "crr, one word",
        "crr, every word",
    ]
    first, last = panel.budgets[0].points
    assert (first.epsilon, first.splits) == (1.0, 3) and (last.epsilon, last.splits) == (4.0, 1)
    assert (first.mean, first.low, first.high) == pytest.approx((0.74, 0.70, 0.78))
    (words,) = panel.budgets[-1].points
    assert (words.asked, words.epsilon) == (3.0, 126.0)
    assert [(line.name, line.points[0].epsilon) for line in panel.levels] == [
        ("private half as it is", math.inf),
        ("public half, all labels", 0.0),
        ("public half, 100 labels", 0.0),
    ]


def test_each_table_says_whose_budget_it_is(tmp_path: Path) -> None:
    levels, budgets, words = documents.tables(panels(ROWS, tmp_path))
    assert levels.rows == [
        ["sst2", "private half as it is", "∞", "0.840"],
        ["sst2", "public half, all labels", "0", "0.830"],
        ["sst2", "public half, 100 labels", "0", "0.770"],
    ]
    assert budgets.heads[2:] == ["ε = 1", "ε = 2", "ε = 4"]
    assert budgets.rows == [
        ["sst2", "drr", "0.740 (0.700 to 0.780)", "–", "0.800"],
        ["sst2", "drr, labels too", "0.660", "–", "–"],
        ["sst2", "crr, one word", "–", "0.600", "–"],
    ]
    assert words.rows == [["sst2", "crr, every word", "3", "126", "0.650"]]
    assert documents.tables([]) == []


def test_the_document_has_the_tables_of_the_committed_rows() -> None:
    material = Material(load_results(ROOT / "results"), PUBLISHED)
    made = "\n".join(
        markdown.text_table(table) for table in documents.tables(material.of_documents)
    )
    document = (ROOT / "docs" / "document.md").read_text(encoding="utf-8")
    begin, end = "<!-- from the rows: begin -->", "<!-- from the rows: end -->"
    assert document.split(begin)[1].split(end)[0].strip() == made.strip()


def test_collected_rows_say_the_same_and_stand_in_no_other_figure(tmp_path: Path) -> None:
    folder = write_runs([*LEARNED, *ROWS], tmp_path / "runs")
    collect(read([folder]), tmp_path / "rows.jsonl")
    short = Material(load_results(tmp_path / "rows.jsonl"), PUBLISHED)
    whole = Material(load_results(folder), PUBLISHED)
    alone = Material(load_results(write_runs(LEARNED, tmp_path / "alone")), PUBLISHED)
    assert short.of_documents == whole.of_documents == panels(ROWS, tmp_path / "again")
    assert len(whole.classified) == len(alone.classified) + 1
    assert not any(documents.of_documents(result) for result in whole.of_words.result)


def test_the_figure_has_a_panel_for_each_dataset(tmp_path: Path) -> None:
    figure = drawn(panels(ROWS, tmp_path))
    assert figure is not None
    (axes,) = figure.axes
    names = [text.get_text() for text in axes.texts]
    assert names == [
        "private half as it is 0.840",
        "public half, all 0.830",
        "public half, 100 0.770",
    ]
    heights = [text.xyann[1] for text in axes.texts if hasattr(text, "xyann")]
    assert all(upper - lower > 0.03 for upper, lower in pairwise(heights))
    assert drawn([]) is None
    assert drawn(panels([document("none", math.inf, 0.8)], tmp_path / "level")) is None
