"""python scripts/figure_downstream.py [outputs …]    what classifiers learn from private text

Reads finished runs; writes results/downstream.csv, docs/downstream.svg in the style of the paper's Figure 4
with accuracy against the exact ε below it, and docs/debias.svg. Of several sample sizes each panel draws
the one with the most cells; the table has all.
"""

import csv
import math
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from trlap.report.figures import STYLES
from trlap.report.results import read
from trlap.report.tables import load_published

PUBLISHED = Path("results/published/figures.csv")
NAMED = {"glove840b": "glove"}  # the paper's embedding that ours is to be compared with
COLOURS = {name: colour for name, (colour, _, _) in STYLES.items() if name != "none"}
DEBIAS = {"none": ":", "unbiased": "--", "posterior": "-"}
Row = dict[str, Any]


def table(results: Iterable[dict[str, Any]]) -> list[Row]:
    """One row a classified run: what was run, the accuracy, and the privacy that was really given."""
    rows = []
    for result in results:
        found = result["details"].get("classify") or {}
        if "accuracy" not in found:
            continue
        exact, config = result["guarantee"]["exact"], result["provenance"]["config"]
        low, high = found["interval"]
        rows.append(
            {
                **{key: result[key] for key in ("protocol", "dataset", "embedding", "mechanism")},
                "epsilon": float(result["epsilon"]),
                **found["inputs"],
                "classifier": config["classifier"]["name"],
                "lr": config["classifier"]["lr"],
                "train": result["details"]["sizes"]["train"],
                "seeds": len(found["runs"]),
                "accuracy": round(found["accuracy"], 4),
                "low": round(low, 4),
                "high": round(high, 4),
                "deviation": None if found["deviation"] is None else round(found["deviation"], 4),
                "macro_f1": round(found["macro_f1"], 4),
                "majority": round(found["majority"], 4),
                "exact_epsilon_at_delta_1e6": exact["epsilon_at_delta_1e6"],
                "exact_delta": exact["delta"],
                "claim_holds": result["guarantee"]["holds"],
                "run": result["name"],
            }
        )
    published = {
        tuple(row[key] for key in ("dataset", "embedding", "mechanism", "epsilon")): row["value"]
        for row in load_published(PUBLISHED)
        if row["figure"] == "figure4"
    }
    for row in rows:
        named = NAMED.get(row["embedding"], row["embedding"])
        key = (row["dataset"], named, row["mechanism"], row["epsilon"])
        row["paper_figure4"] = published.get(key)
    return sorted(rows, key=lambda row: [str(value) for value in row.values()])


def commonest(rows: list[Row]) -> list[Row]:
    """The rows of the sample size and number of seeds that most have."""
    sizes = Counter((row["train"], row["seeds"]) for row in rows)
    most = max(sizes, key=lambda size: (sizes[size], size), default=None)
    return [row for row in rows if (row["train"], row["seeds"]) == most]


def draw(axes: Any, rows: list[Row], x: str, style: str = "-") -> None:
    """A line a mechanism, with its intervals."""
    for mechanism, colour in COLOURS.items():
        own = [row for row in rows if row["mechanism"] == mechanism and row[x] is not None]
        points = sorted((float(row[x]), row["accuracy"], row["low"], row["high"]) for row in own)
        points = [point for point in points if 0 < point[0] < math.inf]
        if points:
            at, accuracy, low, high = zip(*points, strict=True)
            axes.plot(
                at, accuracy, style, marker="o", ms=3.5, lw=1.5, color=colour, label=mechanism
            )
            axes.vlines(at, low, high, color=colour, lw=0.8)


def levels(axes: Any, rows: list[Row]) -> None:
    """What there is without noise, and what naming always the commonest class reaches."""
    for row in rows:
        if row["mechanism"] == "none":
            axes.axhline(row["accuracy"], color="black", lw=1, label="no noise")
    if rows:
        axes.axhline(rows[0]["majority"], color="grey", lw=1, ls="--", label="majority class")


def finish(figure: Any, grid: Any, path: Path) -> None:
    entries: dict[str, Any] = {}
    for axes in grid.flat:
        axes.set(xscale="log")
        axes.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    for axes in grid[:, 0]:
        axes.set_ylabel("accuracy")
    figure.legend(entries.values(), entries.keys(), loc="outside right center", frameon=False)
    figure.savefig(path, metadata={"Date": None})


def downstream(rows: list[Row], path: Path) -> None:
    """Figure 4's panels; below them the same accuracies at the ε that is really kept at δ = 10⁻⁶."""
    plain = {"protocol": "paper", "train_on": "private", "test_on": "private", "debias": "none"}
    rows = [row for row in rows if all(row[key] == value for key, value in plain.items())]
    panels = sorted({(row["dataset"], row["embedding"]) for row in rows})
    if not panels:
        return
    size = (3.2 * len(panels) + 1.6, 6)
    figure, grid = plt.subplots(2, len(panels), figsize=size, layout="constrained", squeeze=False)
    for (upper, lower), panel in zip(grid.T, panels, strict=True):
        own = commonest([row for row in rows if (row["dataset"], row["embedding"]) == panel])
        sentences = f"{own[0]['train']:,} sentences"
        upper.set_title(f"{panel[0]}, {panel[1]}, {sentences}", fontsize=10)
        upper.set_xlabel("ε of a word, as claimed")
        lower.set_xlabel("ε of a word at δ = 10⁻⁶, exact")
        for axes, x in ((upper, "epsilon"), (lower, "exact_epsilon_at_delta_1e6")):
            draw(axes, own, x)
            levels(axes, own)
    finish(figure, grid, path)


def debias(rows: list[Row], path: Path) -> None:
    """Trained on private words, tested on original ones: with and without what is known of the noise."""
    inputs = {"protocol": "paper", "train_on": "private", "test_on": "original"}
    rows = [row for row in rows if all(row[key] == value for key, value in inputs.items())]
    rows = [row for row in rows if row["mechanism"] in ("krr", "srr", "crr")]
    panels = sorted({row["dataset"] for row in rows})
    if not panels:
        return
    size = (4.2 * len(panels) + 1.6, 3.6)
    figure, grid = plt.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)
    for axes, dataset in zip(grid.flat, panels, strict=True):
        own = commonest([row for row in rows if row["dataset"] == dataset])
        axes.set_title(f"{dataset}, {own[0]['train']:,} sentences", fontsize=10)
        axes.set_xlabel("ε of a word (holds, δ = 0)")
        for how, style in DEBIAS.items():
            draw(axes, [row for row in own if row["debias"] == how], "epsilon", style)
        levels(axes, own)
    for how, style in DEBIAS.items():
        grid.flat[0].plot([], [], style, color="black", label=f"debias {how}")
    finish(figure, grid, path)


def main() -> None:
    plt.rcParams |= {"font.size": 9, "svg.hashsalt": "trlap", "svg.fonttype": "none"}
    rows = table(read(sys.argv[1:] or ["outputs"]))
    if not rows:
        sys.exit("no finished run with stage classify; python run.py -m experiment=downstream")
    with Path("results/downstream.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    downstream(rows, Path("docs/downstream.svg"))
    debias(rows, Path("docs/debias.svg"))


if __name__ == "__main__":
    main()
