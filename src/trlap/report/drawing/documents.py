"""Accuracy against the ε of a whole text, and what needs no budget as lines across."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trlap.metrics.registry import named
from trlap.report.documents import ANSWERS, EVERY, SOME, WHOLE, Line, Panel, Point
from trlap.report.drawing import style
from trlap.report.drawing.axis import EpsilonAxis
from trlap.report.looks import appearance, in_order

DASHES = {WHOLE: "-", SOME: "--", EVERY: ":"}
LABEL = "ε of a whole text"
# of the panel's height, between two names in the margin
APART = 0.036


def documents(panels: Sequence[Panel]) -> Figure | None:
    """A panel for each dataset with private answers."""
    panels = [panel for panel in panels if panel.budgets]
    if not panels:
        return None
    figure, grid = style.grid(1, len(panels), 7.0, 5.4)
    for axes, panel in zip(grid[0], panels, strict=True):
        axis = EpsilonAxis.of(point.epsilon for line in panel.budgets for point in _drawn(line))
        for line in panel.budgets:
            _budget(axes, axis, line)
        style.floor(axes, panel.majority)
        axis.draw(axes, LABEL)
        axes.set_title(panel.dataset)
        _levels(axes, panel.levels)
    grid[0, 0].set_ylabel(named("accuracy").label)
    used = {line.mechanism for panel in panels for line in panel.budgets if _drawn(line)}
    kinds = {line.answers for panel in panels for line in panel.budgets}
    keys = [style.mark(mechanism) for mechanism in in_order(used)]
    keys += [
        Line2D([], [], color=style.SOFT, ls=DASHES[kind], label=f"{kind} answers")
        for kind in ANSWERS
        if kind in kinds
    ]
    if any("labels too" in line.name for panel in panels for line in panel.budgets):
        keys.append(
            Line2D(
                [],
                [],
                color=style.SOFT,
                marker="o",
                ls="",
                markerfacecolor=style.PAPER,
                label="labels covered too",
            )
        )
    keys += [
        Line2D([], [], color=style.INK, lw=0.8, label="no private answers"),
        style.floor_key("majority class"),
    ]
    style.legend(figure, keys, 6)
    return figure


def _budget(axes: Axes, axis: EpsilonAxis, line: Line) -> None:
    look = appearance(line.mechanism)
    points = _drawn(line)
    places = [axis.place(point.epsilon) for point in points]
    axes.vlines(
        places,
        [point.low for point in points],
        [point.high for point in points],
        color=look.colour,
        lw=0.8,
        alpha=0.6,
    )
    filled = style.PAPER if "labels too" in line.name else look.colour
    axes.plot(
        places,
        [point.mean for point in points],
        color=look.colour,
        marker=look.marker,
        ls=DASHES[line.answers or WHOLE],
        ms=5,
        lw=1.6 if line.answers == WHOLE else 1.1,
        zorder=3,
        markerfacecolor=filled,
    )


def _drawn(line: Line) -> list[Point]:
    """What has a budget: at 0 nothing is told, and ∞ is none."""
    return [point for point in line.points if 0 < point.epsilon < math.inf]


def _levels(axes: Axes, levels: Sequence[Line]) -> None:
    """Lines across, with their names in the margin, moved apart where they are near one another."""
    low, high = axes.get_ylim()
    bottom = math.inf
    for line in levels:
        mean = line.points[0].mean
        axes.axhline(mean, color=style.INK, lw=0.8, zorder=1)
        place = min((mean - low) / (high - low), bottom - APART)
        bottom = place
        axes.annotate(
            f"{line.name} {mean:.3f}".replace(" labels", ""),
            (1.0, mean),
            (1.05, place),
            xycoords=("axes fraction", "data"),
            textcoords="axes fraction",
            fontsize=8,
            va="center",
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": style.SOFT, "relpos": (0, 0.5)},
        )
