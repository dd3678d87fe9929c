"""What classifiers learn: Figure 4 with every run to be seen, and what undoing the known noise adds."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trlap.metrics.registry import named
from trlap.report import downstream, published
from trlap.report.drawing import style
from trlap.report.drawing.axis import EXACT, NOMINAL, EpsilonAxis
from trlap.report.drawing.labels import Labels, Named
from trlap.report.looks import appearance, in_order
from trlap.report.numbers import show_epsilon
from trlap.report.published import Number

if TYPE_CHECKING:
    import pandas as pd

DEBIAS_NAMES = {"none": "plain", "unbiased": "unbiased", "posterior": "posterior"}
DEBIAS_DASHES = {"none": ":", "unbiased": "--", "posterior": "-"}
DEBIAS_FILLS = {"none": "full", "unbiased": "left", "posterior": "full"}
# the part of a place that its marks take, side by side
SHARE = 0.84


def figure4(rows: "pd.DataFrame", numbers: Sequence[Number]) -> Figure | None:
    """Accuracy against the nominal ε, mechanisms side by side, and against the ε that is really kept.

    A line for each dataset and embedding. No lines join points: nothing was run between them.
    """
    panels = downstream.figure4(rows)
    if not panels:
        return None
    figure, grid = style.grid(len(panels), 2, 6.2, 2.7, sharey=True)
    used: set[str] = set()
    later = []
    for (left, right), ((dataset, embedding), cells) in zip(grid, panels.items(), strict=True):
        noisy = cells[cells.noisy.astype(bool)]
        printed = [
            number
            for number in numbers
            if number.dataset == dataset
            and number.embedding == published.their_embedding(embedding)
        ]
        _side_by_side(left, noisy, printed)
        axis = EpsilonAxis.of(noisy.exact_epsilon_at_delta_1e6.dropna())
        later.append((right, axis, _kept(right, noisy, axis), cells))
        used |= set(noisy.mechanism)
        for axes in (left, right):
            for level in cells[~cells.noisy.astype(bool)].accuracy:
                axes.axhline(level, color=style.INK, lw=1, zorder=1)
            style.floor(axes, _highest(cells.majority))
        left.set_title(f"{dataset}, {embedding}, {cells.train.iloc[0]:,} sentences")
        left.set_ylabel(named("accuracy").label)
    for axes in grid[:-1].flat:
        axes.set_xlabel("")
    keys = [style.mark(mechanism) for mechanism in in_order(used)]
    keys += [
        Line2D([], [], color=style.SOFT, lw=4, alpha=0.4, label="published"),
        Line2D([], [], color=style.INK, lw=1, label="no noise"),
        style.floor_key("majority class"),
    ]
    style.legend(figure, keys, 8)
    style.settle(figure)
    for axes, axis, points, cells in later:
        _name_learners(axes, axis, points, cells)
    return figure


def _highest(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return max(known, default=None)


def _side_by_side(axes: Axes, rows: "pd.DataFrame", printed: Sequence[Number]) -> None:
    """Every ε has its place, and in it every mechanism: none hides another."""
    mechanisms = in_order(rows.mechanism)
    epsilons = sorted({*rows.epsilon})
    step = SHARE / max(1, len(mechanisms))
    values = {(n.mechanism, n.epsilon): n.value for n in printed}
    for column, mechanism in enumerate(mechanisms):
        look = appearance(mechanism)
        aside = (column - (len(mechanisms) - 1) / 2) * step
        means = _means(rows[rows.mechanism == mechanism], "epsilon")
        places = [epsilons.index(epsilon) + aside for epsilon in means.index]
        _marks(axes, places, means, look.colour, look.marker)
        for place, epsilon in enumerate(epsilons):
            value = values.get((mechanism, epsilon))
            if value is not None:
                ends = [place + aside - step / 2, place + aside + step / 2]
                axes.plot(ends, [value] * 2, color=look.colour, alpha=0.4, lw=4, zorder=1)
    for place in range(1, len(epsilons)):
        axes.axvline(place - 0.5, color="#c8cace", lw=0.5, zorder=0)
    axes.grid(visible=False, axis="x")
    axes.set_xticks(range(len(epsilons)), [show_epsilon(epsilon) for epsilon in epsilons])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, max(1, len(epsilons)) - 0.5)
    axes.set_xlabel(NOMINAL)


def _kept(
    axes: Axes, rows: "pd.DataFrame", axis: EpsilonAxis
) -> dict[tuple[float, float], list[str]]:
    """Points at their exact ε; returned are the mechanisms at each point."""
    points: dict[tuple[float, float], list[str]] = {}
    for mechanism in in_order(rows.mechanism):
        look = appearance(mechanism)
        line = rows[(rows.mechanism == mechanism) & rows.exact_epsilon_at_delta_1e6.notna()]
        means = _means(line, "epsilon")
        places = [axis.place(value) for value in means.exact_epsilon_at_delta_1e6]
        _marks(axes, places, means, look.colour, look.marker)
        for place, value in zip(places, means.accuracy, strict=True):
            points.setdefault((place, value), []).append(mechanism)
    axis.draw(axes, EXACT)
    return points


def _means(rows: "pd.DataFrame", key: str) -> "pd.DataFrame":
    """Of one mechanism, with its commonest noise: means over seeds."""
    names = ["accuracy", "low", "high", "exact_epsilon_at_delta_1e6"]
    rows = downstream.commonest(rows, ["noise"])
    return rows.astype(dict.fromkeys(names, float)).groupby(key)[names].mean()


def _marks(
    axes: Axes, places: Sequence[float], means: "pd.DataFrame", colour: str, marker: str
) -> None:
    axes.vlines(places, means.low, means.high, color=colour, lw=0.8, alpha=0.7, zorder=2)
    axes.plot(places, means.accuracy, ls="", color=colour, marker=marker, ms=4, zorder=3)


def _name_learners(
    axes: Axes,
    axis: EpsilonAxis,
    points: dict[tuple[float, float], list[str]],
    cells: "pd.DataFrame",
) -> None:
    """Names beside points above the majority class's interval; those at one place are named together."""
    majority = _highest(cells.majority) or 0.0
    margin = float((cells.high - cells.low).astype(float).max() or 0.0)
    threshold = majority + (margin if margin == margin else 0.0)
    groups: list[tuple[tuple[float, float], list[str]]] = []
    for (x, y), names in sorted(points.items()):
        if y <= threshold:
            continue
        for (other_x, other_y), others in groups:
            if abs(x - other_x) < 0.03 * axis.span and abs(y - other_y) < 0.012:
                others += names
                break
        else:
            groups.append(((x, y), list(names)))
    labels = Labels(axes, [np.array([point]) for point in points])
    for (x, y), names in groups:
        together = in_order(names)
        colour = appearance(together[0]).colour if len(together) == 1 else style.INK
        labels.place(Named(", ".join(together), colour, np.array([(x, y)]), 8.5))


# ---------------------------------------------------------------------------------- undoing known noise


def debias(rows: "pd.DataFrame") -> Figure | None:
    """Trained on private words, tested on original ones: with and without what is known of the noise."""
    panels = [panel for panel in downstream.debiased(rows) if panel.drawn]
    if not panels:
        return None
    figure, grid = style.grid(1, len(panels), max(5.2, 7 / len(panels)), 4.8, sharey=True)
    used: set[str] = set()
    for axes, panel in zip(grid[0], panels, strict=True):
        every = sorted({epsilon for cells in panel.cells.values() for epsilon in cells.epsilon})
        for how in DEBIAS_NAMES:
            cells = panel.cells[how]
            used |= set(cells.mechanism)
            for mechanism in in_order(cells.mechanism):
                _joined(
                    axes,
                    mechanism,
                    _means(cells[cells.mechanism == mechanism], "epsilon"),
                    how,
                    every,
                )
            # unbiased is learned as posterior is: the same level
            for level in panel.clean[how].accuracy if how != "unbiased" else ():
                axes.axhline(level, color=style.INK, lw=1, ls=DEBIAS_DASHES[how])
        some = panel.any_row
        style.floor(axes, _highest([some.majority]))
        axes.set_title(f"{panel.dataset}, {panel.embedding}, {some.train:,} sentences")
        axes.set(xlabel="ε of a word (holds, δ = 0)", xticks=every)
    grid[0, 0].set_ylabel(named("accuracy").label)
    keys = [style.mark(mechanism) for mechanism in in_order(used)]
    for how, name in DEBIAS_NAMES.items():
        look = _filled(how, style.SOFT)
        keys.append(Line2D([], [], color=style.SOFT, marker="o", label=name, **look))
    keys += [
        Line2D([], [], color=style.INK, lw=1, label="no noise, learned as posterior"),
        Line2D([], [], color=style.INK, lw=1, ls=":", label="no noise, learned as plain"),
        style.floor_key("majority class"),
    ]
    style.legend(figure, keys, 5)
    return figure


def _filled(how: str, colour: str) -> dict[str, Any]:
    """Hollow marks where the noise is not undone, half-filled and full ones where it is."""
    return {
        "ls": DEBIAS_DASHES[how],
        "fillstyle": DEBIAS_FILLS[how],
        "markerfacecolor": style.PAPER if how == "none" else colour,
        "markerfacecoloralt": style.PAPER,
    }


def _joined(
    axes: Axes, mechanism: str, means: "pd.DataFrame", how: str, every: Sequence[float]
) -> None:
    """A mechanism read in one way; lines join neighbouring ε alone."""
    look = appearance(mechanism)
    axes.vlines(means.index, means.low, means.high, color=look.colour, lw=0.8, alpha=0.6)
    for part in style.runs_of_neighbours(list(means.index), every):
        axes.plot(
            part,
            means.accuracy[part],
            color=look.colour,
            marker=look.marker,
            **_filled(how, look.colour),
            lw=1.4,
        )
