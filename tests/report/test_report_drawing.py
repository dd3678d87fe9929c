"""How figures are drawn: lanes for 0 and ∞, lines only where something was run, colours for dark pages."""

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt
from report_helpers import LEARNED, PUBLISHED, ROOT, classified_rows

from trlap.report.drawing import style
from trlap.report.drawing.axis import EpsilonAxis
from trlap.report.drawing.frontier import frontier
from trlap.report.drawing.learning import figure4
from trlap.report.frontier import frontier_points
from trlap.report.published import load_published


@pytest.mark.parametrize(
    "values",
    [[math.inf], [3.0, math.inf], [1.0, 1.1, math.inf], [0.0, 1e-4, 100.0, math.inf]],
    ids=["none finite", "one", "close", "wide"],
)
def test_infinity_stands_apart_from_the_axis_however_few_runs_there_are(
    values: list[float],
) -> None:
    axis = EpsilonAxis.of(values)
    figure, axes = plt.subplots()
    axis.draw(axes, "ε")
    _, end = axes.spines["bottom"].get_bounds()
    left, right = axes.get_xlim()
    width = right - left
    lane = axis.place(math.inf)
    assert end < lane < right and (lane - end) / width > 0.05
    assert all(axis.place(value) < end for value in values if 0 < value < math.inf)
    ticks = dict(zip(axes.get_xticks(), axes.get_xticklabels(), strict=True))
    assert ticks[lane].get_text() == "∞"
    assert [place for place in ticks if place > end] == [lane]
    assert (0.0 in values) == ("0" in [label.get_text() for label in ticks.values()])
    plt.close(figure)


def test_lines_join_neighbours_alone() -> None:
    every = [0.05, 0.1, 0.2, 0.5, 1.0]
    assert style.runs_of_neighbours([1.0, 0.05], every) == [[0.05], [1.0]]
    assert style.runs_of_neighbours([0.1, 0.05, 0.5, 1.0], every) == [[0.05, 0.1], [0.5, 1.0]]


def test_colours_of_a_dark_page_keep_their_hue_and_can_be_seen() -> None:
    svg = '<path style="fill: #ffffff; stroke: #332288"/><use xlink:href="#332288"/>'
    dark = style.dark(svg)
    ground, line = re.findall("(?:fill|stroke): (#[0-9a-f]{6})", dark)
    assert ground == style.GROUND
    assert style.contrast(line, style.GROUND) >= style.CONTRAST
    red, green, blue = (int(line[start : start + 2], 16) for start in (1, 3, 5))
    assert blue > red > green
    # a name is no colour
    assert 'xlink:href="#332288"' in dark
    assert style.dark(f"stroke: {style.INK}") == f"stroke: {style.LIGHT_INK}"


def test_figure_4_has_one_scale_and_shows_every_run_without_joining_them(tmp_path: Path) -> None:
    _, rows = classified_rows(LEARNED, tmp_path)
    figure = figure4(rows, load_published(PUBLISHED / "figures.csv"))
    assert figure is not None
    left, right = figure.axes
    assert left.get_ylim() == right.get_ylim()
    marks = [line for line in left.lines if line.get_marker() not in ("None", "", None)]
    assert all(line.get_linestyle() == "None" for line in marks)
    places = [x for line in marks for x in np.asarray(line.get_xdata(), dtype=float)]
    # trlap and gaussian are alike at 0.55 and 0.56, and each has a place of its own
    assert len(places) == len({round(x, 6) for x in places}) == 9
    plt.close(figure)


def test_the_frontier_names_its_lines_and_has_no_legend(tmp_path: Path) -> None:
    frame, rows = classified_rows(LEARNED, tmp_path)
    figure = frontier(frontier_points(frame, rows))
    assert figure is not None and not figure.legends
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()]
    assert len(set(titles)) == len(titles) == 4
    for axes in figure.axes:
        texts = {text.get_text(): text for text in axes.texts}
        assert axes.get_legend() is None and axes.get_ylabel() == ""
        assert {"no noise", "trlap"} <= set(texts)
        inside = axes.get_window_extent()
        for text in texts.values():
            assert inside.contains(*text.get_window_extent().get_points().mean(axis=0))
    plt.close(figure)


def test_the_figure_of_the_claim_is_the_committed_one(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "figure_claim.py"), "--to", str(tmp_path)]
    subprocess.run(command, check=True)
    for name in ("claim.svg", "claim-dark.svg"):
        drawn = (tmp_path / name).read_text(encoding="utf-8")
        assert re.findall(">[^<]+</text>", drawn) == re.findall(
            ">[^<]+</text>", (ROOT / "docs" / name).read_text(encoding="utf-8")
        )
