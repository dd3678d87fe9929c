"""The paper's figures from the results at hand, and the one it does not have: utility against true privacy.

Every mechanism has one colour, one marker and one dash throughout, so that figures also read in grey.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trlap.metrics.registry import named
from trlap.report import downstream, published
from trlap.report.frontier import PANELS
from trlap.report.looks import appearance, in_order
from trlap.report.published import MECHANISMS, Number
from trlap.report.tables import Cell

if TYPE_CHECKING:
    import pandas as pd

FLOOR = (0, (1, 3))
# what a line is made from, beside the two columns that it shows
DRAWN = ("mechanism", "calibration", "noise", "epsilon", "low", "high")
# ours in the curves: dash and whether marks are filled
OURS = {"release": ("-", True), "paper": (":", False)}
DEBIAS_DASHES = {"none": ":", "unbiased": "--", "posterior": "-"}
DEBIAS_NAMES = {"none": "plain", "unbiased": "unbiased", "posterior": "posterior"}
NOMINAL, EXACT = "nominal ε of a word", "exact ε of a word at δ = 10⁻⁶"
plt.rcParams |= {
    "font.size": 10,
    "svg.hashsalt": "trlap",
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "figure.dpi": 110,
}


def save(figure: Figure, folder: Path, name: str) -> None:
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    # The layout is found once: it takes half the time of drawing. And `savefig` would draw twice.
    figure.set_layout_engine("none")
    figure.set_dpi(160)
    FigureCanvasAgg(figure).print_png(folder / f"{name}.png")
    plt.close(figure)


# --------------------------------------------------------------------------------- Figures 2, 3 and 5


def curves(
    cells: Sequence[Cell], dataset: str, metrics: Sequence[str], title: str
) -> Figure | None:
    """Metrics against the nominal ε: Figures 2, 3 and 5. Published values lie faintly behind ours."""
    shown = [
        cell
        for cell in cells
        if cell.printed.dataset == dataset and cell.printed.place in ("table2", "table3")
    ]
    if not any(ours.values for cell in shown for ours in cell.ours.values()):
        return None
    figure, grid = _grid(1, len(metrics), 4.6, 3.6)
    for axes, metric in zip(grid[0], metrics, strict=True):
        of_metric = [cell for cell in shown if cell.printed.metric == metric]
        for mechanism in MECHANISMS:
            line = [cell for cell in of_metric if cell.printed.mechanism == mechanism]
            _curve(axes, mechanism, sorted(line, key=lambda cell: cell.printed.epsilon))
        for protocol, (dash, _) in OURS.items():
            plain = [c.ours[protocol].mean for c in of_metric if c.column == published.ORIGINAL]
            if plain and plain[0] is not None:
                axes.axhline(plain[0], color="black", ls=dash, lw=1, zorder=0)
        axes.set(xscale="log", xlabel=NOMINAL, ylabel=named(metric).label)
    keys = [_key(mechanism) for mechanism in MECHANISMS]
    keys += [
        Line2D([], [], color="grey", lw=5, alpha=0.3, label="published"),
        Line2D([], [], color="grey", ls="-", marker="o", label="ours, release"),
        Line2D([], [], color="grey", ls=":", marker="o", mfc="white", label="ours, paper"),
        Line2D([], [], color="black", lw=1, label="ours, non-private"),
    ]
    _legend(figure, keys, 7 if len(metrics) > 1 else 3)
    figure.suptitle(title)
    return figure


def _curve(axes: Axes, mechanism: str, line: Sequence[Cell]) -> None:
    """One mechanism: published, and ours under both protocols."""
    look = appearance(mechanism)
    epsilons = [cell.printed.epsilon for cell in line]
    printed = [cell.printed.value for cell in line]
    axes.plot(epsilons, printed, color=look.colour, alpha=0.25, lw=5, zorder=1)
    for protocol, (dash, filled) in OURS.items():
        known = {
            cell.printed.epsilon: mean
            for cell in line
            if (mean := cell.ours[protocol].mean) is not None
        }
        if known:
            axes.plot(
                list(known),
                list(known.values()),
                color=look.colour,
                marker=look.marker,
                ls=dash,
                markerfacecolor=look.colour if filled else "white",
                zorder=2,
            )


# ------------------------------------------------------------------------------- what classifiers learn


def figure4(rows: "pd.DataFrame", numbers: Sequence[Number]) -> Figure | None:
    """Accuracy against the nominal ε, a panel for each dataset and embedding, published values faintly
    behind; below, the same accuracies against the ε that is really kept at δ = 10⁻⁶.
    """
    panels = downstream.figure4(rows)
    if not panels:
        return None
    figure, grid = _grid(2, len(panels), max(3.7, 7 / len(panels)), 3.5)
    used: set[str] = set()
    for (upper, lower), ((dataset, embedding), cells) in zip(grid.T, panels.items(), strict=True):
        noisy = cells[cells.noisy.astype(bool)]
        printed = [
            number
            for number in numbers
            if number.dataset == dataset
            and number.embedding == published.their_embedding(embedding)
        ]
        for mechanism in sorted(set(noisy.mechanism)):
            _printed(upper, mechanism, printed)
        _lines(upper, noisy, "epsilon", "accuracy")
        _lines(lower, cells, "exact_epsilon_at_delta_1e6", "accuracy")
        used |= set(noisy.mechanism)
        for axes in (upper, lower):
            _floor(axes, cells.majority)
            for level in cells[~cells.noisy.astype(bool)].accuracy:
                axes.axhline(level, color="black", lw=1)
        upper.set_title(f"{dataset}, {embedding}, {cells.train.iloc[0]:,} sentences", fontsize=10)
        upper.set(xlabel=NOMINAL)
        lower.set(xlabel=EXACT)
    for axes in grid[:, 0]:
        axes.set_ylabel(named("accuracy").label)
    keys = [_key(mechanism) for mechanism in in_order(used)]
    keys += [
        Line2D([], [], color="grey", lw=4, alpha=0.3, label="published"),
        Line2D([], [], color="black", lw=1, label="no noise"),
        _floor_key("majority class"),
    ]
    _legend(figure, keys, {1: 3, 2: 6}.get(len(panels), 8))
    return figure


def _printed(axes: Axes, mechanism: str, printed: Iterable[Number]) -> None:
    """The paper's own values of a mechanism, faintly."""
    points = sorted((n.epsilon, n.value) for n in printed if n.mechanism == mechanism)
    if points:
        x, y = zip(*points, strict=True)
        axes.plot(x, y, color=appearance(mechanism).colour, alpha=0.2, lw=4, zorder=1)


def debias(rows: "pd.DataFrame") -> Figure | None:
    """Trained on private words, tested on original ones: with and without what is known of the noise."""
    panels = [panel for panel in downstream.debiased(rows) if panel.drawn]
    if not panels:
        return None
    figure, grid = _grid(1, len(panels), max(4.6, 7 / len(panels)), 4.4)
    used: set[str] = set()
    for axes, panel in zip(grid[0], panels, strict=True):
        for how, dash in DEBIAS_DASHES.items():
            _lines(axes, panel.cells[how], "epsilon", "accuracy", dash)
            used |= set(panel.cells[how].mechanism)
            # unbiased is learned as posterior is: the same level
            for level in panel.clean[how].accuracy if how != "unbiased" else ():
                axes.axhline(level, color="black", lw=1, ls=dash)
        some = panel.any_row
        _floor(axes, [some.majority])
        axes.set_title(f"{panel.dataset}, {panel.embedding}, {some.train:,} sentences", fontsize=10)
        every = sorted({epsilon for cells in panel.cells.values() for epsilon in cells.epsilon})
        axes.set(xscale="linear", xlabel="ε of a word (holds, δ = 0)", xticks=every)
    grid[0, 0].set_ylabel(named("accuracy").label)
    keys = []
    for mechanism in sorted(used):
        look = appearance(mechanism)
        keys.append(Line2D([], [], color=look.colour, marker=look.marker, label=mechanism))
    for how, name in DEBIAS_NAMES.items():
        keys.append(Line2D([], [], color="grey", ls=DEBIAS_DASHES[how], label=name))
    keys += [Line2D([], [], color="black", lw=1, label="no noise, learned alike")]
    keys += [_floor_key("majority class")]
    _legend(figure, keys, 4)
    return figure


# ---------------------------------------------------------------------------------------- the frontier


def frontier(points: "pd.DataFrame") -> Figure | None:
    """Utility against the exact ε at δ = 10⁻⁶ of one word, all mechanisms on one axis.

    What gives no finite ε stands at the right end, what gives nothing away at the left.
    """
    panels = [panel for panel in PANELS if (points.panel == panel.name).any()]
    if not panels:
        return None
    columns = min(2, len(panels))
    lines = math.ceil(len(panels) / columns)
    figure, grid = _grid(lines, columns, 5.2, 3.9 + 0.8 / lines)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, panel in zip(grid.flat, panels, strict=False):
        shown = points[points.panel == panel.name]
        _lines(axes, shown, "epsilon_1e6", "value", hollow="published")
        _floor(axes, shown.floor)
        axes.set(xlabel=EXACT, ylabel=panel.axis)
        axes.set_title(f"{shown.dataset.iloc[0]}, {shown.embedding.iloc[0]}", fontsize=10)
    keys = [_key(mechanism) for mechanism in in_order(points.mechanism)]
    if (points.calibration == "published").any():
        label = "hollow: the authors' noise"
        keys.append(Line2D([], [], label=label, color="grey", marker="o", mfc="white", ls=""))
    keys.append(_floor_key("best constant, majority class"))
    _legend(figure, keys, 6)
    return figure


# ----------------------------------------------------------------------------------------- their parts


def _grid(lines: int, columns: int, width: float, height: float) -> tuple[Figure, Any]:
    """Panels of that size."""
    size = (columns * width, lines * height)
    return plt.subplots(lines, columns, figsize=size, layout="constrained", squeeze=False)


def _legend(figure: Figure, keys: list[Line2D], columns: int) -> None:
    """One for all panels, below them."""
    figure.legend(
        handles=keys, loc="outside lower center", ncols=columns, frameon=False, fontsize=9
    )


def _lines(
    axes: Axes,
    rows: "pd.DataFrame",
    x: str,
    y: str,
    dash: str | None = None,
    hollow: str | None = None,
) -> None:
    """A line for each mechanism and calibration, with intervals if the rows have them; marks of the
    calibration `hollow` are. Points at ε = 0 and ε = ∞ stand on lines of their own at the ends.
    """
    others = [name for name in DRAWN if name in rows]
    rows = rows[others].assign(x=rows[x], y=rows[y]).fillna({"calibration": "none"})
    finite = rows[(rows.x > 0) & (rows.x < math.inf)].x
    low, high = min(finite, default=0.1), max(finite, default=10.0)
    gap = max(high / low, 10) ** 0.12
    ends = {0.0: low / gap, math.inf: high * gap}
    for (mechanism, calibration), line in rows.groupby(["mechanism", "calibration"], sort=False):
        if "noise" in line:
            line = downstream.commonest(line, ["noise"])
        _line(axes, line, mechanism, dash, calibration == hollow, ends)
    axes.set_xscale("log")
    for end, name in ((0.0, "0"), (math.inf, "∞")):
        if (rows.x == end).any():
            axes.axvline(ends[end], color="black", lw=0.6, alpha=0.4)
            above = ("data", "axes fraction")
            axes.annotate(name, (ends[end], 1.0), xycoords=above, ha="center", va="bottom")


def _line(
    axes: Axes,
    line: "pd.DataFrame",
    mechanism: str,
    dash: str | None,
    hollow: bool,
    ends: dict[float, float],
) -> None:
    """One mechanism, at the columns `x` and `y`; several seeds are their mean."""
    look = appearance(mechanism)
    names = [name for name in ("x", "y", "low", "high") if name in line]
    means = line.groupby("epsilon")[names].mean().sort_values("x")
    fill = "white" if hollow else look.colour
    for at_an_end in (False, True):
        part = means[means.x.isin(ends) == at_an_end]
        axes.plot(
            part.x.replace(ends),
            part.y,
            color=look.colour,
            marker=look.marker,
            ms=6 if at_an_end else 5,
            lw=1.4,
            mfc=fill,
            ls="" if at_an_end else dash or look.dash,
        )
    if "low" in line:
        places = means.x.replace(ends)
        axes.vlines(places, means.low, means.high, color=look.colour, lw=0.8, alpha=0.6)


def _floor(axes: Axes, values: Iterable[float | None]) -> None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    if known:
        axes.axhline(max(known), color="black", lw=1, ls=FLOOR)


def _floor_key(label: str) -> Line2D:
    return Line2D([], [], color="black", lw=1, ls=FLOOR, label=label)


def _key(mechanism: str) -> Line2D:
    look = appearance(mechanism)
    return Line2D([], [], color=look.colour, marker=look.marker, ls=look.dash, label=mechanism)
