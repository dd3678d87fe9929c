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
    figure, grid = plt.subplots(
        1, len(metrics), figsize=(4.6 * len(metrics), 3.6), layout="constrained", squeeze=False
    )
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
    figure.legend(
        handles=keys,
        loc="outside lower center",
        ncols=7 if len(metrics) > 1 else 3,
        frameon=False,
        fontsize=9,
    )
    figure.suptitle(title)
    return figure


def accuracy(results: "pd.DataFrame", published: Sequence[dict[str, Any]]) -> Figure | None:
    """Figure 4: accuracy against the nominal ε, a panel for each dataset and embedding."""
    if results.empty or not results.accuracy.notna().any():
        return None
    rows = results[results.accuracy.notna() & (results.calibration == "published")]
    panels = sorted({(r.dataset, r.embedding) for r in rows.itertuples()})
    figure, grid = plt.subplots(
        1, len(panels), figsize=(4.4 * len(panels), 3.8), layout="constrained", squeeze=False
    )
    used = set()
    for axes, (dataset, embedding) in zip(grid[0], panels, strict=True):
        own = rows[(rows.dataset == dataset) & (rows.embedding == embedding)]
        own = own[own.setup == own.setup.value_counts().idxmax()]
        for mechanism in (m for m in STYLES if m != "none"):
            line = own[own.mechanism == mechanism].groupby("epsilon").accuracy.mean()
            colour, marker, dash = STYLES[mechanism]
            if len(line):
                axes.plot(line.index, line.values, color=colour, marker=marker, ls=dash, ms=5)
                used.add(mechanism)
            theirs = [
                (p["epsilon"], p["value"])
                for p in published
                if p["dataset"] == dataset
                and p["mechanism"] == mechanism
                and p["embedding"] == embedding.removesuffix("840b")
            ]
            if theirs:
                axes.plot(
                    *zip(*sorted(theirs), strict=True), color=colour, alpha=0.2, lw=4, zorder=1
                )
        plain = own[own.mechanism == "none"].accuracy
        if len(plain):
            axes.axhline(plain.mean(), color="black", lw=1)
        _floor(axes, _majority(own.result))
        axes.set(xscale="log", xlabel="nominal ε of a word", ylabel="accuracy")
        axes.set_title(f"{dataset}, {embedding}", fontsize=10)
    keys = [_key(m, m) for m in STYLES if m in used]
    keys += [
        Line2D([], [], color="grey", lw=4, alpha=0.3, label="published"),
        Line2D([], [], color="black", lw=1, label="non-private"),
        Line2D([], [], color="black", lw=1, ls=(0, (1, 3)), label="majority class"),
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=8, frameon=False, fontsize=8)
    return figure


FRONTIER = ("private_n_w", "private_rouge1", "private_cosine", "accuracy")


def frontier(results: "pd.DataFrame") -> Figure | None:
    """Utility against the exact ε at δ = 10⁻⁶ of one word, all mechanisms on one axis.

    What has no finite ε stands right of the axis's break. Points of one mechanism are joined in the
    order of their exact ε. Only protocol=paper: under release nothing is protected.
    """
    if results.empty:
        return None
    rows = results[(results.protocol == "paper") & results.epsilon_1e6.notna()]
    panels = [(metric, *_largest(rows, metric)) for metric in FRONTIER]
    panels = [panel for panel in panels if len(panel[2])]
    if not panels:
        return None
    figure, grid = plt.subplots(
        1, len(panels), figsize=(4.4 * len(panels), 4), layout="constrained", squeeze=False
    )
    used: set[str] = set()
    for axes, (metric, dataset, own) in zip(grid[0], panels, strict=True):
        used |= _frontier_panel(axes, metric, dataset, own)
    keys = [_key(m, m) for m in STYLES if m in used]
    keys += [
        Line2D(
            [],
            [],
            color="black",
            lw=1,
            ls=(0, (1, 3)),
            label="floor: best constant, majority class",
        )
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=9, frameon=False, fontsize=8)
    figure.suptitle("Utility against the privacy that is really given to a word")
    return figure


def _largest(rows: "pd.DataFrame", metric: str) -> tuple[str, "pd.DataFrame"]:
    """The dataset, embedding and setup with most cells that have this metric."""
    known = rows[rows[metric].notna()]
    if known.empty:
        return "", known
    keys = ["dataset", "embedding", *(["setup"] if metric == "accuracy" else [])]
    best = known.groupby(keys).size().idxmax()
    for key, value in zip(keys, best, strict=True):
        known = known[known[key] == value]
    return f"{best[0]}, {best[1]}", known


def _frontier_panel(axes: Axes, metric: str, title: str, own: "pd.DataFrame") -> set[str]:
    finite = own[(own.epsilon_1e6 < math.inf) & (own.epsilon_1e6 > 0)].epsilon_1e6
    low = min(finite, default=0.1)
    high = max(finite, default=10.0)
    edge = high * (high / low) ** 0.12  # where infinity stands
    used = set()
    for mechanism in STYLES:
        line = own[own.mechanism == mechanism].sort_values("epsilon_1e6")
        colour, marker, dash = STYLES[mechanism]
        if line.empty:
            continue
        used.add(mechanism)
        inside = line[line.epsilon_1e6 < math.inf]
        axes.plot(inside.epsilon_1e6, inside[metric], color=colour, marker=marker, ls=dash, ms=6)
        outside = line[line.epsilon_1e6 == math.inf]
        axes.plot(
            [edge] * len(outside),
            outside[metric],
            color=colour,
            marker=marker,
            ls="",
            ms=7,
            mfc="none",
        )
    floors = {"private_cosine": "cosine", "private_n_w": "n_w", "private_rouge1": "rouge1"}
    if metric == "accuracy":
        _floor(axes, _majority(own.result))
    else:
        name = f"{floors[metric]}_best_constant"
        _floor(axes, [r["details"]["private_metrics"].get(name) for r in own.result])
    axes.axvline(edge, color="black", lw=0.6, alpha=0.4)
    axes.set(xscale="log", xlabel="exact ε at δ = 10⁻⁶", ylabel=NAMES[metric])
    axes.annotate("∞", (edge, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom")
    axes.set_title(title, fontsize=10)
    return used


def _floor(axes: Axes, values: Iterable[float | None]) -> None:
    known = [value for value in values if value is not None]
    if known:
        axes.axhline(max(known), color="black", lw=1, ls=(0, (1, 3)))


def _majority(results: Iterable[dict[str, Any]]) -> list[float | None]:
    return [(r["details"].get("classify") or {}).get("majority") for r in results]


def _key(mechanism: str, label: str) -> Line2D:
    colour, marker, dash = STYLES[mechanism]
    return Line2D([], [], color=colour, marker=marker, ls=dash, label=label)
