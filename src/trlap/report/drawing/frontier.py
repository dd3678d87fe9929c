"""Utility against the ε that is really kept, all mechanisms on one axis, each named beside its line."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trlap.report import downstream
from trlap.report.drawing import style
from trlap.report.drawing.axis import EXACT, EpsilonAxis
from trlap.report.drawing.labels import Labels, Named, Points
from trlap.report.frontier import PANELS, Panel
from trlap.report.looks import appearance, in_order
from trlap.runs.numbers import show_number

if TYPE_CHECKING:
    import pandas as pd

# lines that win nothing, and what is said of them
GREY = "#a3a6ad"
# letters of a line of small text
WIDTH = 34
# runs of the reader that have their names in any case
MOST_OWN = 4
# pixels between marks that a reader takes for one
SAME = 4.0
# pixels of the ring around a run of the reader
RING = 5.0
# of the way up: where lines of winners lie apart
RISING = (0.15, 0.55)


@dataclass(frozen=True)
class Curve:
    """One mechanism with one noise, means over seeds: nominal ε, exact ε and value, by rising exact ε.

    `wins`: somewhere it gets more than half of the way from knowing nothing to the text without noise.
    """

    mechanism: str
    hollow: bool
    epsilon: list[float]
    x: list[float]
    y: list[float]
    wins: bool

    @property
    def plain(self) -> bool:
        """Whether it is the text without noise."""
        return min(self.epsilon) == math.inf

    @property
    def colour(self) -> str:
        return appearance(self.mechanism).colour if self.wins else GREY

    def line(self, axis: EpsilonAxis) -> Points:
        """What has a finite ε, as places of the axes."""
        pairs = zip(self.x, self.y, strict=True)
        known = [(axis.place(x), y) for x, y in pairs if 0 < x < math.inf]
        return np.array(known, dtype=float).reshape(-1, 2)

    def joined(self, axis: EpsilonAxis, every: Sequence[float]) -> list[Points]:
        """The parts of its line: nothing joins what was not run at neighbouring ε."""
        finite = [0 < x < math.inf for x in self.x]
        epsilons = [e for e, known in zip(self.epsilon, finite, strict=True) if known]
        line = self.line(axis)
        parts = style.runs_of_neighbours(epsilons, every)
        return [np.array([line[epsilons.index(e)] for e in part]) for part in parts]

    def ends(self, axis: EpsilonAxis) -> Points:
        """What stands in the lanes."""
        pairs = zip(self.x, self.y, strict=True)
        known = [(axis.place(x), y) for x, y in pairs if not 0 < x < math.inf]
        return np.array(known, dtype=float).reshape(-1, 2)


def frontier(points: "pd.DataFrame") -> Figure | None:
    """A panel for each metric that any run has. What gives no finite ε stands in a lane at the right, what
    gives nothing away in one at the left.
    """
    panels = [panel for panel in PANELS if (points.panel == panel.name).any()]
    if not panels:
        return None
    columns = min(2, len(panels))
    lines = math.ceil(len(panels) / columns)
    figure, grid = style.grid(lines, columns, 5.6, 3.7)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    drawn = []
    every = sorted(set(points.epsilon))
    for axes, panel in zip(grid.flat, panels, strict=False):
        rows = points[points.panel == panel.name]
        of_study = rows[~rows.yours.astype(bool)]
        shown = of_study if len(of_study) else rows
        own = rows[rows.yours.astype(bool)] if len(of_study) else rows[:0]
        drawn.append((axes, _panel(axes, panel, shown, own, every), panel))
    style.settle(figure)
    for axes, (shown_lines, axis, level, own), panel in drawn:
        _name(axes, shown_lines, axis, level, own, panel, every)
    return figure


def curves(rows: "pd.DataFrame") -> list[Curve]:
    """The lines of one panel, in the order of legends."""
    level = floor(rows)
    plain = rows[rows.epsilon == math.inf].value
    top = plain.max() if len(plain) else rows.value.max()
    bottom = rows.value.min() if level is None else level
    lines = []
    for name in in_order(rows.mechanism):
        of_mechanism = rows[rows.mechanism == name].fillna({"calibration": "none"})
        for calibration, line in of_mechanism.groupby("calibration", sort=False):
            if "noise" in line:
                line = downstream.commonest(line, ["noise"])
            means = line.groupby("epsilon")[["epsilon_1e6", "value"]].mean()
            means = means.sort_values("epsilon_1e6")
            finite = means[means.epsilon_1e6 < math.inf].value
            wins = bool((finite > (top + bottom) / 2).any())
            hollow = calibration == "published"
            lines.append(
                Curve(
                    name,
                    hollow,
                    list(means.index),
                    list(means.epsilon_1e6),
                    list(means.value),
                    wins,
                )
            )
    return lines


def floor(rows: "pd.DataFrame") -> float | None:
    known = rows.floor[rows.floor.notna()]
    return float(known.max()) if len(known) else None


Drawn = tuple[list[Curve], EpsilonAxis, float | None, "pd.DataFrame"]


def _panel(
    axes: Axes,
    panel: Panel,
    rows: "pd.DataFrame",
    yours: "pd.DataFrame",
    every: Sequence[float],
) -> Drawn:
    axis = EpsilonAxis.of([*rows.epsilon_1e6, *yours.epsilon_1e6])
    lines, level = curves(rows), floor(rows)
    for curve in sorted(lines, key=lambda curve: curve.wins):
        look = appearance(curve.mechanism)
        marks: dict[str, Any] = {
            "color": style.INK if curve.plain else curve.colour,
            "marker": look.marker,
            "mfc": style.PAPER if curve.hollow else curve.colour,
            "zorder": 3 if curve.wins else 2,
        }
        ends = curve.ends(axis)
        for part in curve.joined(axis, every):
            width, size = (1.6, 5) if curve.wins else (1, 3.5)
            axes.plot(*part.T, lw=width, ls=look.dash, ms=size, **marks)
        axes.plot(*ends.T, ls="", ms=7, mew=2 if look.marker == "_" else 1, **marks)
    for x, y in zip(yours.epsilon_1e6, yours.value, strict=True):
        axes.plot(axis.place(x), y, "o", ms=11, mfc="none", mec=style.INK, mew=1.6, zorder=4)
    style.floor(axes, level)
    axis.draw(axes, EXACT)
    # room for the names of the reader's runs
    axes.margins(y=0.14 if len(yours) else 0.07)
    title = panel.axis[0].upper() + panel.axis[1:]
    axes.set_title(f"{title} · {rows.dataset.iloc[0]}, {rows.embedding.iloc[0]}")
    return lines, axis, level, yours


def _name(
    axes: Axes,
    lines: list[Curve],
    axis: EpsilonAxis,
    level: float | None,
    yours: "pd.DataFrame",
    panel: Panel,
    every: Sequence[float],
) -> None:
    """Winners have their names in their colours, then what stands in a lane; of the others those for
    whose names there is room at their ends, and the rest share one name.
    """
    obstacles = [
        points
        for curve in lines
        for points in (
            *curve.joined(axis, every),
            *np.split(curve.ends(axis), len(curve.ends(axis)) or 1),
        )
    ]
    left, right = axes.get_xlim()
    if level is not None:
        obstacles.append(np.array([(left, level), (right, level)]))
    labels = Labels(axes, obstacles)
    _name_own(labels, axis, yours)
    named = set()
    for curve in lines:
        ends = curve.ends(axis)
        if len(ends) and math.inf in curve.x:
            named.add(curve.mechanism)
            name = "no noise" if curve.plain else curve.mechanism
            colour = style.INK if curve.plain else style.SOFT
            labels.place(Named(name, colour, ends[-1:], 8.5))
    if level is not None:
        text = "best constant answer" if panel.of_private_words else "majority class"
        places = np.array([(left + (right - left) * share, level) for share in (0.12, 0.3)])
        labels.place(Named(text, style.SOFT, places, 8))
    for names, colour, line in _winners(axes, lines, axis, level, every):
        labels.place(Named(names, colour, line, 9.5, "bold"))
    _name_losers(labels, [c for c in lines if not c.wins and c.mechanism not in named], axis)


def _name_own(labels: Labels, axis: EpsilonAxis, yours: "pd.DataFrame") -> None:
    for number, row in enumerate(yours.itertuples()):
        place = np.array([(axis.place(row.epsilon_1e6), row.value)])
        name = f"yours: {row.mechanism}, {row.dataset}, ε = {show_number(row.epsilon)}"
        labels.place(Named(name, style.INK, place, 8.5, "bold", RING), must=number < MOST_OWN)


def _winners(
    axes: Axes,
    lines: Sequence[Curve],
    axis: EpsilonAxis,
    level: float | None,
    every: Sequence[float],
) -> list[tuple[str, str, Points]]:
    """Names, colour and the part of the line that rises, where winners differ. Those whose marks lie upon
    each other have one name.
    """
    winners: list[tuple[list[str], str, Points]] = []
    for curve in lines:
        base = level or 0.0
        height = max(curve.y) - base
        parts = curve.joined(axis, every)
        line = np.concatenate([*map(_dense, parts), np.empty((0, 2))])
        share = (line[:, 1] - base) / (height or 1.0)
        rising = line[(share > RISING[0]) & (share < RISING[1])]
        if not len(rising):
            rising = line[share > RISING[0]]
        if not curve.wins or not len(rising):
            continue
        pixels = axes.transData.transform(rising)
        for names, _, other in winners:
            same = axes.transData.transform(other)
            if same.shape == pixels.shape and np.abs(same - pixels).max() < SAME:
                names.append(curve.mechanism)
                break
        else:
            winners.append(([curve.mechanism], curve.colour, rising))
    return [(", ".join(names), colour, line) for names, colour, line in winners]


def _dense(line: Points) -> Points:
    """The same line with places between its points."""
    steps = np.arange(0, len(line) - 1 + 0.01, 0.05)
    every = np.arange(len(line))
    return np.column_stack([np.interp(steps, every, line[:, column]) for column in (0, 1)])


def _name_losers(labels: Labels, lines: Sequence[Curve], axis: EpsilonAxis) -> None:
    """Each once, at the end of its best line."""
    best: dict[str, Curve] = {}
    for curve in sorted(lines, key=lambda curve: -curve.y[-1]):
        if len(curve.line(axis)):
            best.setdefault(curve.mechanism, curve)
    nameless = []
    for name, curve in best.items():
        label = Named(name, style.SOFT, curve.line(axis)[-1:], 8)
        if not labels.place(label, must=False):
            nameless.append(name)
    if nameless:
        text = textwrap.fill(f"grey: {', '.join(in_order(nameless))}", WIDTH)
        corners = [(x, y / 20) for y in range(2, 19) for x in (0.12, 0.3, 0.5)]
        labels.write_free(Named(text, style.SOFT, np.empty((0, 2)), 8), corners)
