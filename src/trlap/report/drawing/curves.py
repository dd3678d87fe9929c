"""Figures 2, 3 and 5: metrics of the rewritten text against the nominal ε, ours before the published ones.

Ours are by the authors' metrics where a protocol has them, else by our own.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trlap.metrics.registry import named
from trlap.report.cells import Cell
from trlap.report.drawing import style
from trlap.report.drawing.axis import NOMINAL
from trlap.report.looks import appearance
from trlap.report.published import HIGH, LOW, MECHANISMS, ORIGINAL
from trlap.runs.numbers import show_number

EPSILONS = LOW + HIGH
# ours: dash, and how much of a mark is filled
OURS = {"tables": ("-", "full"), "release": ("-.", "left"), "paper": (":", "none")}
# marks at one ε stand side by side: by what each is moved on the logarithmic axis
ASIDE = 1.13
PLAIN: dict[str, Any] = {"color": style.INK, "ls": (0, (5, 2)), "lw": 1.1}
FAINT: dict[str, Any] = {"alpha": 0.25, "lw": 5, "zorder": 1, "solid_capstyle": "butt"}


def curves(cells: Sequence[Cell], dataset: str, metrics: Sequence[str]) -> Figure | None:
    """A panel for each metric. Lines join what was run at neighbouring ε of the paper's, and nothing else."""
    shown = [
        cell
        for cell in cells
        if cell.printed.dataset == dataset and cell.printed.place in ("table2", "table3")
    ]
    drawn = [name for name in OURS if any(cell.ours[name].values for cell in shown)]
    if not drawn:
        return None
    figure, grid = style.grid(1, len(metrics), 4.6 if len(metrics) > 1 else 6.8, 4.1)
    for axes, metric in zip(grid[0], metrics, strict=True):
        of_metric = [cell for cell in shown if cell.printed.metric == metric]
        for place, mechanism in enumerate(MECHANISMS):
            line = [cell for cell in of_metric if cell.printed.mechanism == mechanism]
            aside = ASIDE ** (place - (len(MECHANISMS) - 1) / 2)
            _curve(axes, mechanism, sorted(line, key=lambda cell: cell.printed.epsilon), aside)
        _without_noise(axes, [cell for cell in of_metric if cell.column == ORIGINAL])
        direction = "" if named(metric).higher_is_better else ", lower is better"
        axes.set_title(f"{named(metric).label} · {dataset}{direction}")
        axes.set(xscale="log", xlabel=NOMINAL)
        axes.set_xticks(EPSILONS, [show_number(epsilon) for epsilon in EPSILONS])
        axes.minorticks_off()
    style.legend(figure, _keys(drawn), 5 if len(metrics) > 1 else 3)
    return figure


def _curve(axes: Axes, mechanism: str, line: Sequence[Cell], aside: float) -> None:
    """One mechanism: published, and ours under each protocol."""
    look = appearance(mechanism)
    printed = {cell.printed.epsilon: cell.printed.value for cell in line}
    axes.plot(list(printed), list(printed.values()), color=look.colour, **FAINT)
    for protocol, (dash, filled) in OURS.items():
        known = {
            cell.printed.epsilon: mean
            for cell in line
            if (mean := cell.ours[protocol].compared) is not None
        }
        for part in style.runs_of_neighbours(list(known), EPSILONS):
            axes.plot(
                [epsilon * aside for epsilon in part],
                [known[epsilon] for epsilon in part],
                marker=look.marker,
                ls=dash,
                zorder=3,
                **_filled(look.colour, filled),
            )


def _filled(colour: str, part: str) -> dict[str, Any]:
    """A mark of which that part has the colour, and the rest the paper's."""
    inside = style.PAPER if part == "none" else colour
    kind = "full" if part == "none" else part
    return {"color": colour, "fillstyle": kind, "mfc": inside, "mfcalt": style.PAPER}


def _without_noise(axes: Axes, cells: Sequence[Cell]) -> None:
    for cell in cells:
        axes.axhline(cell.printed.value, zorder=2, **PLAIN)
        for protocol, (dash, _) in OURS.items():
            mean = cell.ours[protocol].compared
            if mean is not None:
                axes.axhline(mean, color=style.INK, ls=dash, lw=1.1, zorder=2)


def _keys(protocols: Sequence[str]) -> list[Line2D]:
    """All that is drawn: who, and how each protocol and the published numbers are shown."""
    keys = [style.mark(mechanism) for mechanism in MECHANISMS]
    for name in protocols:
        dash, filled = OURS[name]
        look = _filled(style.SOFT, filled)
        keys.append(Line2D([], [], ls=dash, marker="o", label=f"ours, {name}", **look))
    keys.append(Line2D([], [], color=style.SOFT, lw=5, alpha=0.4, label="published"))
    for name in protocols:
        plain: dict[str, Any] = {"color": style.INK, "lw": 1.1, "ls": OURS[name][0]}
        keys.append(Line2D([], [], label=f"no noise, ours, {name}", **plain))
    keys.append(Line2D([], [], label="no noise, published", **PLAIN))
    return keys
