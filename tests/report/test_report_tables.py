"""The paper's tables: every published number with ours beside it."""

import csv
import math
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from omegaconf import DictConfig
from report_helpers import MODEL, PATTERN, PUBLISHED, rewritten, with_config, write_runs

from trlap import load_results
from trlap.report.cells import Ours, table_cells
from trlap.report.material import Material
from trlap.report.numbers import power, show_delta, show_epsilon
from trlap.report.published import TABLES, load_published
from trlap.report.render.latex import escaped
from trlap.report.render.markdown import text_table
from trlap.report.tables import best, blocks, missing, side_by_side, write_csv
from trlap.runs.result import Exact

NUMBERS = load_published(PUBLISHED / "tables.csv")


def test_published_numbers_stand_beside_ours(tmp_path: Path) -> None:
    twice = [*PATTERN, rewritten("trlap", 0.05, 66.5, seed=43)]
    cells = table_cells(load_results(write_runs(twice, tmp_path)), NUMBERS)
    assert len(cells) == 435
    (cell,) = (
        cell
        for cell in cells
        if (cell.printed.place, cell.printed.dataset, cell.printed.metric)
        == ("table2", "yelp", "rouge1")
        and cell.column == ("trlap", 0.05)
    )
    assert cell.printed.value == 89.45
    assert cell.ours["release"].mean == 67.0
    assert cell.ours["release"].deviation == pytest.approx(math.sqrt(0.5))
    assert cell.difference("release") == pytest.approx(67.0 - 89.45)
    assert cell.ours["paper"].mean == 20.0
    assert "protocol=paper dataset=yelp" in cell.fill("paper")


def test_protocols_stand_side_by_side(tmp_path: Path) -> None:
    results = load_results(write_runs(PATTERN, tmp_path))
    cells = table_cells(results, NUMBERS)
    made = {table.title: table for table in side_by_side(cells, {})}
    assert list(made) == [
        f"Tables 2 and 3 side by side: Yelp, {metric}"
        for metric in ("Loss", "Rouge1", "BLEU", "N_w", "BERT-S")
    ]
    table = made["Tables 2 and 3 side by side: Yelp, Rouge1"]
    assert table.heads == ["mechanism", "ε", "published", "`tables`", "`release`", "`paper`"]
    rows = {(row[0], row[1]): row[2:] for row in table.rows}
    assert rows["trlap", "0.05"] == ["89.45", "not run", "67.50 (-21.95)", "20.00 (-69.45)"]
    # what was run nowhere is named, and nothing is both
    (gaps,) = (note for note in table.notes if note.startswith("not run: "))
    assert ("trlap", "0.1") not in rows and "trlap 0.1, " in gaps
    assert "`release`, `paper`: our metric" in table.notes


def test_the_document_has_the_tables_of_the_committed_rows() -> None:
    """Where this fails, copy them from outputs/report-results/report.md."""
    root = PUBLISHED.parent.parent
    document = (root / "docs" / "reproduction.md").read_text(encoding="utf-8")
    material = Material(load_results(root / "results"), PUBLISHED)
    made = {table.title: table for table in side_by_side(material.cells, material.sizes)}
    yelp = [f"Yelp, {metric}" for metric in ("Loss", "Rouge1", "BLEU", "N_w")]
    for end in (*yelp, "Yahoo, Rouge1", "Yahoo, N_w"):
        assert text_table(made[f"Tables 2 and 3 side by side: {end}"]) in document


def test_bleu_is_shown_and_not_compared(tmp_path: Path) -> None:
    cells = table_cells(load_results(write_runs(PATTERN, tmp_path)), NUMBERS)
    compared = {cell.printed.metric for cell in cells if cell.difference("release") is not None}
    assert compared == {"loss", "rouge1", "n_w", "bertscore", "epoch_seconds"}
    yahoo, yelp = blocks(TABLES[1], cells, {})
    labels = [line.label for line in yelp.lines]
    assert "BLEU, ours `release`" in labels and "BLEU, difference `release`" not in labels
    assert labels[:5] == [
        "Loss, published",
        "Loss, ours `tables`",
        "Loss, ours `release`",
        "Loss, difference `release`",
        "Loss, ours `paper`",
    ]
    assert not any(line.kind == "difference" for line in yahoo.lines)
    assert [line.kind for line in yelp.lines[-6:]] == ["exact"] * 6


def test_what_the_authors_computed_is_compared_and_ours_stands_beside(tmp_path: Path) -> None:
    cell = rewritten("none", math.inf, 80.0, "tables")
    scores = replace(cell.metrics, as_released={"rouge1": 78.0, "bleu": 8.9, "loss": 4.0})
    results = load_results(write_runs([replace(cell, metrics=scores), *PATTERN], tmp_path))
    cells = table_cells(results, NUMBERS)
    _, yelp = blocks(TABLES[1], cells, {})
    first = {line.label: line.texts[0] for line in yelp.lines}
    assert first["Rouge1, published"] == "89.40"
    assert first["Rouge1, as released `tables`"] == "78.00"
    assert first["Rouge1, difference `tables`"] == "-11.40"
    assert first["Rouge1, ours `tables`"] == "80.00"
    # theirs is on their scale
    assert first["BLEU, as released `tables`"] == "8.90"
    assert first["BLEU, difference `tables`"] == "-0.03"
    assert "BLEU, difference `release`" not in first
    # where theirs was not computed, ours is compared
    assert first["N_w, difference `tables`"] == "+0.094"
    assert "6.5 against an unrelated one" in TABLES[1].note
    write_csv(cells, tmp_path / "cells.csv")
    (row,) = (
        row
        for row in csv.DictReader((tmp_path / "cells.csv").open(encoding="utf-8"))
        if (row["table"], row["dataset"], row["mechanism"]) == ("table2", "yelp", "none")
        and row["metric"] == "rouge1"
    )
    assert (row["tables"], row["tables_as_released"]) == ("80.0", "78.0")
    assert float(row["tables_as_released_difference"]) == pytest.approx(78 - 89.4)
    assert row["release_as_released"] == ""


def test_no_line_mixes_sizes_and_each_says_its_own(tmp_path: Path) -> None:
    large = [
        with_config(rewritten(name, epsilon, 80.0, "tables"), model=MODEL | {"epochs": 12})
        for name, epsilon in (("none", math.inf), ("trlap", 0.05))
    ]
    odd = with_config(rewritten("laplace", 0.05, 1.0, "tables"), model=MODEL | {"epochs": 1})
    results = load_results(write_runs([*large, odd, *PATTERN], tmp_path))
    cells = table_cells(results, NUMBERS)
    table2 = [c for c in cells if (c.printed.place, c.printed.dataset) == ("table2", "yelp")]
    counts = {name: sum(len(c.ours[name].values) for c in table2) for name in table2[0].ours}
    assert counts == {"tables": 2 * 5, "release": 4 * 5, "paper": 2 * 5}
    sizes = dict(zip(results["name"], results["size"], strict=True))
    _, yelp = blocks(TABLES[1], cells, sizes)
    assert yelp.size is not None
    one, both = yelp.size.split("; ")
    assert one.endswith("12 epochs (tables)") and both.endswith("15 epochs (release, paper)")


def test_the_line_beside_a_missing_cell_fills_it(configure: Callable[..., DictConfig]) -> None:
    """The same data and model as the experiment's other cells, or it would be a cell of another table."""
    cells = table_cells(load_results(PUBLISHED), NUMBERS)
    assert {cell.printed.place for cell in cells} == {table.name for table in TABLES}
    for cell in cells[::50]:
        number = cell.printed
        (table,) = (table for table in TABLES if table.name == number.place)
        (line,) = (
            line
            for line in missing(table, cells)
            if f"protocol=paper dataset={number.dataset} " in line
        )
        assert f"experiment={number.place} " in line
        python, script, *keys = shlex.split(cell.fill("paper"))
        assert (python, script) == ("python", "run.py")
        cfg = configure(*keys)
        assert (cfg.dataset.limit.train, cfg.model.name) == (4000, "bilstm_small")
        assert cfg.model.epochs == 15
        assert (cfg.dataset.name, cfg.mechanism.name) == (number.dataset, number.mechanism)


def test_exact_values_come_from_any_run_with_that_noise(tmp_path: Path) -> None:
    demo = rewritten("laplace", 0.2, 1.0, "paper", dataset="demo")
    exact = Exact(log10_delta=-math.inf, epsilon_at_delta_1e6=0.039)
    demo = replace(demo, guarantee=replace(demo.guarantee, exact=exact))
    short_vectors = with_config(
        rewritten("laplace", 0.5, 1.0, "paper", dataset="demo"),
        embedding={"name": "random", "dimension": 50},
    )
    outputs = write_runs([demo, short_vectors], tmp_path)
    cells = table_cells(load_results(outputs), NUMBERS)
    (known,) = {cell.exact["paper"] for cell in cells if cell.column == ("laplace", 0.2)}
    assert (known.log10_delta, known.epsilon_1e6) == (-math.inf, 0.039)
    assert not any(cell.ours["paper"].values for cell in cells)
    assert all(
        cell.exact["paper"].epsilon_1e6 is None for cell in cells if cell.printed.epsilon != 0.2
    )


def test_a_calibrated_run_is_not_taken_for_the_papers(tmp_path: Path) -> None:
    exact = with_config(rewritten("trlap", 0.05, 99.0), calibration="exact")
    cells = table_cells(load_results(write_runs([exact], tmp_path)), NUMBERS)
    assert not any(ours.values for cell in cells for ours in cell.ours.values())


def test_what_is_better_by_its_whole_interval_is_bold() -> None:
    columns = [
        ("none", math.inf),
        ("gaussian", 1.0),
        ("gaussian", 5.0),
        ("trlap", 1.0),
        ("trlap", 5.0),
    ]
    apart = [(8.9, 9.1), (0.9, 1.1), (3.9, 4.1), (1.9, 2.1), (2.9, 3.1)]
    assert best(apart, columns, more=True) == {2, 3}
    assert best(apart, columns, more=False) == {1, 4}
    assert best([*apart[:2], None, *apart[3:]], columns, more=True) == {3}
    # at ε = 5 the intervals have 3.05 in common
    overlapping = [*apart[:2], (3.0, 5.0), *apart[3:]]
    assert best(overlapping, columns, more=True) == {3}
    assert best(overlapping, columns, more=False) == {1}


def test_with_several_seeds_the_interval_covers_all_of_them() -> None:
    both = Ours([1.0, 2.0], ["a", "b"], [(0.8, 1.2), (1.7, 2.3)])
    assert both.interval == (0.8, 2.3)
    assert Ours([1.0, 2.0], ["a", "b"], [(0.8, 1.2), None]).interval is None


def test_columns_that_were_not_run_stand_apart(tmp_path: Path) -> None:
    results = load_results(write_runs(PATTERN, tmp_path))
    cells = table_cells(results, NUMBERS)
    (table,) = (table for table in TABLES if table.name == "table2")
    yahoo, yelp = blocks(table, cells, {})
    assert yahoo.run == [] and len(yahoo.rest) == len(yahoo.columns) == 13
    assert [yelp.columns[place] for place in yelp.run] == [
        ("none", math.inf),
        *((mechanism, 0.05) for mechanism in ("gaussian", "laplace", "trlap")),
    ]
    part = yelp.part(yelp.run)
    (ours,) = (line for line in part.lines if line.label == "Rouge1, ours `release`")
    assert ours.texts == ["68.00", "30.00", "24.00", "67.50"] and ours.bold == {3}
    assert not any("ours" in line.label for line in yelp.part(yelp.rest).lines)


def test_powers_of_ten_are_written_in_one_way() -> None:
    assert show_delta(-180.6) == power(-180.6) == "10⁻¹⁸¹"
    assert show_delta(-math.inf) == "0" and show_delta(math.log10(0.5)) == "0.500"
    assert show_epsilon(5.02e-5) == "5.02·10⁻⁵" and show_epsilon(1e-7) == "10⁻⁷"
    assert show_epsilon(math.inf) == "∞" and show_epsilon(None) == "–"
    assert escaped("exact δ 10⁻¹⁸¹") == r"exact $\delta$ $10^{-181}$"
