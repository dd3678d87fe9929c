"""The paper's tables: every published number with ours beside it."""

import math
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from omegaconf import DictConfig
from report_helpers import PATTERN, PUBLISHED, rewritten, with_config, write_runs

from trlap import load_results
from trlap.report.published import TABLES, load_published
from trlap.report.tables import best, blocks, missing, table_cells
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


def test_bleu_is_shown_and_not_compared(tmp_path: Path) -> None:
    cells = table_cells(load_results(write_runs(PATTERN, tmp_path)), NUMBERS)
    compared = {cell.printed.metric for cell in cells if cell.difference("release") is not None}
    assert compared == {"loss", "rouge1", "n_w", "bertscore", "epoch_seconds"}
    yahoo, yelp = blocks(TABLES[1], cells, {})
    labels = [line.label for line in yelp.lines]
    assert "BLEU, ours `release`" in labels and "BLEU, difference `release`" not in labels
    assert labels[:4] == [
        "Loss, published",
        "Loss, ours `release`",
        "Loss, difference `release`",
        "Loss, ours `paper`",
    ]
    assert not any(line.kind == "difference" for line in yahoo.lines)
    assert [line.kind for line in yelp.lines[-4:]] == ["exact"] * 4


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
