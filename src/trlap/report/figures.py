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
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trlap.report import downstream
from trlap.report.tables import Cell

if TYPE_CHECKING:
    import pandas as pd

# Okabe and Ito's palette, told apart by colour-blind readers, and what tells them apart in grey
STYLES = {
    "none": ("#000000", "_", "-"),
    "gaussian": ("#0072b2", "o", "-"),
    "laplace": ("#e69f00", "s", "--"),
    "trlap": ("#d55e00", "^", "-."),
    "cmp": ("#009e73", "D", ":"),
    "mahalanobis": ("#56b4e9", "v", ":"),
    "pte": ("#cc79a7", "P", ":"),
    "vickrey": ("#7f7f7f", "<", ":"),
    "tem": ("#8c6d31", ">", "--"),
    "santext": ("#6b4c9a", "p", "--"),
    "krr": ("#117733", "X", "-"),
    "srr": ("#882255", "h", "-"),
    "crr": ("#332288", "*", "-"),
}
NAMES = {
    "loss": "Loss",
    "rouge1": "Rouge1",
    "bertscore": "BERTScore",
    "n_w": "N_w",
    "accuracy": "accuracy",
    "private_n_w": "N_w: share of words kept",
    "private_rouge1": "Rouge1",
    "private_cosine": "cosine of replacements, centred",
}
FLOOR = (0, (1, 3))
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


def save(figure: Figure, to: Path, name: str) -> str:
    figure.savefig(to / f"{name}.svg", metadata={"Date": None})
    figure.set_layout_engine("none")  # found once: it takes half the time of drawing
    figure.savefig(to / f"{name}.png", dpi=160)
    plt.close(figure)
    return name


def curves(
    cells: Sequence[Cell], dataset: str, metrics: Sequence[str], title: str
) -> Figure | None:
    """Metrics against the nominal ε: Figures 2, 3 and 5. Published values lie faintly behind ours."""
    own = [c for c in cells if c.dataset == dataset and c.table in ("table2", "table3")]
    if not any(ours.values for c in own for ours in c.ours.values()):
        return None
    figure, grid = _grid(1, len(metrics), 4.6, 3.6)
    for axes, metric in zip(grid[0], metrics, strict=True):
        for mechanism in ("gaussian", "laplace", "trlap"):
            line = sorted(
                (c for c in own if (c.mechanism, c.metric) == (mechanism, metric)),
                key=lambda c: c.epsilon,
            )
            colour, marker, _ = STYLES[mechanism]
            published = [c.published for c in line]
            axes.plot(
                [c.epsilon for c in line], published, color=colour, alpha=0.25, lw=5, zorder=1
            )
            for protocol, dash, fill in (("release", "-", colour), ("paper", ":", "white")):
                known = [(c.epsilon, m) for c in line if (m := c.ours[protocol].mean) is not None]
                if known:
                    axes.plot(
                        *zip(*known, strict=True),
                        color=colour,
                        marker=marker,
                        ls=dash,
                        markerfacecolor=fill,
                        zorder=2,
                    )
        for protocol, dash in (("release", "-"), ("paper", ":")):
            plain = [
                c.ours[protocol].mean for c in own if (c.mechanism, c.metric) == ("none", metric)
            ]
            if plain and plain[0] is not None:
                axes.axhline(plain[0], color="black", ls=dash, lw=1, zorder=0)
        axes.set(xscale="log", xlabel="nominal ε of a word", ylabel=NAMES[metric])
    keys = [_key(m, m) for m in ("gaussian", "laplace", "trlap")]
    keys += [
        Line2D([], [], color="grey", lw=5, alpha=0.3, label="published"),
        Line2D([], [], color="grey", ls="-", marker="o", label="ours, release"),
        Line2D([], [], color="grey", ls=":", marker="o", mfc="white", label="ours, paper"),
        Line2D([], [], color="black", lw=1, label="ours, non-private"),
    ]
    _legend(figure, keys, 7 if len(metrics) > 1 else 3)
    figure.suptitle(title)
    return figure


def figure4(rows: "pd.DataFrame", published: Sequence[dict[str, Any]]) -> Figure | None:
    """Accuracy against the nominal ε, a panel for each dataset and embedding, published values faintly
    behind; below, the same accuracies against the ε that is really kept at δ = 10⁻⁶.
    """
    panels = downstream.figure4(rows)
    if not panels:
        return None
    figure, grid = _grid(2, len(panels), max(3.7, 7 / len(panels)), 3.5)
    used: set[str] = set()
    for (upper, lower), ((dataset, embedding), own) in zip(grid.T, panels.items(), strict=True):
        named = downstream.NAMED.get(embedding, embedding)
        for mechanism in sorted(set(own.mechanism) - {"none"}):
            points = [
                (p["epsilon"], p["value"])
                for p in published
                if (p["dataset"], p["embedding"], p["mechanism"]) == (dataset, named, mechanism)
            ]
            for x, y in [zip(*sorted(points), strict=True)] if points else []:
                colour = STYLES[mechanism][0]
                upper.plot(x, y, color=colour, alpha=0.2, lw=4, zorder=1)
        used |= _lines(upper, own[own.mechanism != "none"], "epsilon", "accuracy")
        used |= _lines(lower, own, "exact_epsilon_at_delta_1e6", "accuracy")
        for axes in (upper, lower):
            _floor(axes, own.majority)
            for level in own[own.mechanism == "none"].accuracy:
                axes.axhline(level, color="black", lw=1)
        upper.set_title(f"{dataset}, {embedding}, {own.train.iloc[0]:,} sentences", fontsize=10)
        upper.set(xlabel="nominal ε of a word")
        lower.set(xlabel="exact ε of a word at δ = 10⁻⁶")
    for axes in grid[:, 0]:
        axes.set_ylabel("accuracy")
    keys = [_key(m, m) for m in STYLES if m in used - {"none"}]
    keys += [
        Line2D([], [], color="grey", lw=4, alpha=0.3, label="published"),
        Line2D([], [], color="black", lw=1, label="no noise"),
        _floor_key("majority class"),
    ]
    _legend(figure, keys, 3 if len(panels) == 1 else 6 if len(panels) == 2 else 8)
    return figure


DEBIAS_DASHES = {"none": ":", "unbiased": "--", "posterior": "-"}


def debias(rows: "pd.DataFrame") -> Figure | None:
    """Trained on private words, tested on original ones: with and without what is known of the noise."""
    panels = downstream.debiased(rows)
    if not panels:
        return None
    figure, grid = _grid(1, len(panels), max(4.6, 7 / len(panels)), 4.4)
    used: set[str] = set()
    for axes, panel in zip(grid[0], panels, strict=True):
        for how, dash in DEBIAS_DASHES.items():
            used |= _lines(axes, panel.cells[how], "epsilon", "accuracy", dash)
            if how != "unbiased":  # learned as posterior is: the same level
                for level in panel.clean[how].accuracy:
                    axes.axhline(level, color="black", lw=1, ls=dash)
        some = panel.any_row
        _floor(axes, [some.majority])
        axes.set_title(f"{panel.dataset}, {panel.embedding}, {some.train:,} sentences", fontsize=10)
        every = sorted({e for own in panel.cells.values() for e in own.epsilon})
        axes.set(xscale="linear", xlabel="ε of a word (holds, δ = 0)", xticks=every)
    grid[0, 0].set_ylabel("accuracy")
    keys = [Line2D([], [], color=STYLES[m][0], marker=STYLES[m][1], label=m) for m in sorted(used)]
    names = {"none": "plain", "unbiased": "unbiased", "posterior": "posterior"}
    keys += [Line2D([], [], color="grey", ls=DEBIAS_DASHES[h], label=n) for h, n in names.items()]
    keys += [Line2D([], [], color="black", lw=1, label="no noise, learned alike")]
    keys += [_floor_key("majority class")]
    _legend(figure, keys, 4)
    return figure


FRONTIER = ("private_n_w", "private_rouge1", "private_cosine", "accuracy")


def frontier_points(results: "pd.DataFrame", classified: "pd.DataFrame") -> "pd.DataFrame":
    """The frontier's points: panel, data, mechanism, calibration, ε, exact ε at δ = 10⁻⁶, value, floor.

    A line is one mechanism with one calibration on one dataset, one embedding and one sample of the data;
    a panel has the dataset, embedding and sample with most cells. Only protocol=paper: under release
    nothing is protected.
    """
    import pandas as pd

    parts = []
    own = results[results.protocol == "paper"] if len(results) else results
    embeddings = set(classified.embedding)
    if len(own):
        own = own[own.private_n_w.notna() & own.epsilon_1e6.notna()]
        own = downstream.commonest(own, ["dataset", "embedding", "data"])
        embeddings &= set(own.embedding)
        for metric in FRONTIER[:3]:
            name = metric.removeprefix("private_") + "_best_constant"
            floors = [r["details"]["private_metrics"].get(name) for r in own.result]
            parts.append(own.assign(panel=metric, value=own[metric], floor=floors))
    learned = downstream.plain(classified)
    learned = learned[learned.embedding.isin(embeddings or set(learned.embedding))]
    learned = downstream.commonest(learned, ["dataset", "embedding", "data", *downstream.GROUP])
    parts.append(
        learned.assign(panel="accuracy", value=learned.accuracy, floor=learned.majority).rename(
            columns={"exact_epsilon_at_delta_1e6": "epsilon_1e6"}
        )
    )
    keys = ["panel", "dataset", "embedding", "mechanism", "calibration"]
    values = ["epsilon", "epsilon_1e6", "value", "floor"]
    points = pd.concat([part[[*keys, "noise", *values]] for part in parts if len(part)] or parts)
    points = points[points.value.notna() & points.epsilon_1e6.notna()]
    lines = [
        downstream.commonest(line, ["noise"]).groupby([*keys, "epsilon"], dropna=False)
        for _, line in points.groupby(keys, dropna=False, sort=False)
    ]
    if not lines:
        return points[[*keys, *values]]
    means = [line[values[1:]].mean().reset_index() for line in lines]
    return pd.concat(means, ignore_index=True)  # means over seeds


def frontier(points: "pd.DataFrame") -> Figure | None:
    """Utility against the exact ε at δ = 10⁻⁶ of one word, all mechanisms on one axis.

    What gives no finite ε stands at the right end, what gives nothing away at the left.
    """
    panels = [metric for metric in FRONTIER if (points.panel == metric).any()]
    if not panels:
        return None
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    figure, grid = _grid(lines, columns, 5.2, 3.9 + 0.8 / lines)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    used: set[str] = set()
    for axes, metric in zip(grid.flat, panels, strict=False):
        own = points[points.panel == metric]
        used |= _lines(axes, own, "epsilon_1e6", "value", hollow="published")
        _floor(axes, own.floor)
        axes.set(xlabel="exact ε of a word at δ = 10⁻⁶", ylabel=NAMES[metric])
        axes.set_title(f"{own.dataset.iloc[0]}, {own.embedding.iloc[0]}", fontsize=10)
    keys = [_key(m, m) for m in STYLES if m in used]
    if (points.calibration == "published").any():
        look = {"color": "grey", "marker": "o", "mfc": "white", "ls": ""}
        keys.append(Line2D([], [], label="hollow: the authors' noise", **look))  # type: ignore[arg-type]
    keys.append(_floor_key("best constant, majority class"))
    _legend(figure, keys, 6)
    return figure


def _grid(lines: int, columns: int, width: float, height: float) -> tuple[Figure, Any]:
    """Panels of that size."""
    size = (columns * width, lines * height)
    return plt.subplots(lines, columns, figsize=size, layout="constrained", squeeze=False)


def _legend(figure: Figure, keys: list[Line2D], columns: int) -> None:
    """One for all panels, below them."""
    look: dict[str, Any] = {"ncols": columns, "frameon": False, "fontsize": 9}
    figure.legend(handles=keys, loc="outside lower center", **look)


def _lines(
    axes: Axes,
    rows: "pd.DataFrame",
    x: str,
    y: str,
    dash: str | None = None,
    hollow: str | None = None,
) -> set[str]:
    """A line for each mechanism and calibration, with intervals if the rows have them; marks of the
    calibration `hollow` are. Points at ε = 0 and ε = ∞ stand on lines of their own at the ends.
    """
    rows = rows.fillna({"calibration": "none"})
    finite = rows[(rows[x] > 0) & (rows[x] < math.inf)][x]
    low, high = min(finite, default=0.1), max(finite, default=10.0)
    gap = max(high / low, 10) ** 0.12
    ends = {0.0: low / gap, math.inf: high * gap}
    for (mechanism, calibration), line in rows.groupby(["mechanism", "calibration"], sort=False):
        colour, marker, own_dash = STYLES[mechanism]
        if "noise" in line:
            line = downstream.commonest(line, ["noise"])
        names = [name for name in (y, "low", "high") if name in line]
        means = line.assign(at=line[x]).groupby("epsilon")[["at", *names]].mean()  # over seeds
        means = means.sort_values("at")
        look: dict[str, Any] = {"color": colour, "marker": marker, "ms": 5, "lw": 1.4}
        look["mfc"] = "white" if calibration == hollow else colour
        inside, outside = means[~means["at"].isin(ends)], means[means["at"].isin(ends)]
        axes.plot(inside["at"], inside[y], ls=dash or own_dash, **look)
        axes.plot(outside["at"].map(ends), outside[y], **look | {"ls": "", "ms": 6})
        if "low" in line:
            places = means["at"].replace(ends)
            axes.vlines(places, means.low, means.high, color=colour, lw=0.8, alpha=0.6)
    axes.set_xscale("log")
    for end, name in ((0.0, "0"), (math.inf, "∞")):
        if (rows[x] == end).any():
            axes.axvline(ends[end], color="black", lw=0.6, alpha=0.4)
            above = ("data", "axes fraction")
            axes.annotate(name, (ends[end], 1.0), xycoords=above, ha="center", va="bottom")
    return set(rows.mechanism)


def _floor(axes: Axes, values: Iterable[float | None]) -> None:
    known = [value for value in values if value is not None]
    if known:
        axes.axhline(max(known), color="black", lw=1, ls=FLOOR)


def _floor_key(label: str) -> Line2D:
    return Line2D([], [], color="black", lw=1, ls=FLOOR, label=label)


def _key(mechanism: str, label: str) -> Line2D:
    colour, marker, dash = STYLES[mechanism]
    return Line2D([], [], color=colour, marker=marker, ls=dash, label=label)
