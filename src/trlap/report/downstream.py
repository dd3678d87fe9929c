"""What classifiers learn from private text: the cells behind Figure 4, what undoing the noise adds, tables.

Cells are compared only where data, seeds and the classifier's settings are the same. Of several such groups
a figure shows the one with most cells; downstream.csv has all.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from trlap.report.tables import Plain, show_epsilon
from trlap.runs.cache import digest

if TYPE_CHECKING:
    import pandas as pd

NAMED = {"glove840b": "glove"}  # the paper's embedding that ours is to be compared with
FIGURE4 = ("sst2", "agnews")
DEBIAS = ("none", "unbiased", "posterior")
RESPONSES = ("krr", "srr", "crr")  # whose noise is known word by word
GROUP = ["train", "seeds", "classifier", "lr", "learning"]
COLUMNS = (
    *("protocol", "dataset", "embedding", "mechanism", "calibration", "epsilon", "chosen"),
    *("train_on", "test_on", "debias", "classifier", "lr", "patience", "train", "seeds"),
    *("accuracy", "low", "high", "deviation", "macro_f1", "majority"),
    *("validation_accuracy", "epochs"),
    *("exact_epsilon_at_delta_1e6", "exact_delta", "claim_holds", "paper_figure4", "run"),
)


def classified(results: "pd.DataFrame", published: Sequence[dict[str, Any]]) -> "pd.DataFrame":
    """One row a classified run: what was run, the accuracy, and the privacy that was really given.

    Beside COLUMNS: `data`, `noise` and `learning` stand for what was read, the mechanism's settings but ε,
    and the classifier's; `limited`, whether the training data is a sample. `validation_accuracy` and
    `epochs` are means over seeds.
    """
    import pandas as pd

    printed = {
        tuple(row[key] for key in ("dataset", "embedding", "mechanism", "epsilon")): row["value"]
        for row in published
    }
    known = results[results.accuracy.notna()].to_dict("records") if len(results) else []
    rows = []
    for row in known:
        result, config = row["result"], row["result"]["provenance"]["config"]
        found, exact = result["details"]["classify"], result["guarantee"]["exact"]
        low, high = result["intervals"]["metrics"]["accuracy"]
        named = NAMED.get(row["embedding"], row["embedding"])
        rows.append(
            {key: row[key] for key in (*COLUMNS[:6], "accuracy", "data", "noise")}
            | found["inputs"]
            | {key: found.get(key) for key in ("deviation", "macro_f1", "majority")}
            | {
                "chosen": chosen(config["mechanism"]),
                "classifier": config["classifier"]["name"],
                **{key: config["classifier"].get(key) for key in ("lr", "patience")},
                "learning": digest(
                    {k: v for k, v in config["classifier"].items() if v is not None}
                ),
                "train": result["details"]["sizes"]["train"],
                "limited": config["dataset"]["limit"].get("train") is not None,
                "seeds": len(found["runs"]),
                "low": low,
                "high": high,
                "validation_accuracy": fmean(r["validation_accuracy"] for r in found["runs"]),
                "epochs": fmean(r["epochs"] for r in found["runs"]),
                "exact_epsilon_at_delta_1e6": row["epsilon_1e6"],
                "exact_delta": exact.get("delta"),
                "claim_holds": row["holds"],
                "paper_figure4": printed.get(
                    (row["dataset"], named, row["mechanism"], row["epsilon"])
                ),
                "run": row["name"],
            }
        )
    frame = pd.DataFrame(rows, columns=[*COLUMNS, "data", "noise", "learning", "limited"])
    return frame.sort_values([*COLUMNS[:4], "epsilon", "run"], ignore_index=True)


def chosen(mechanism: dict[str, Any]) -> str:
    """The size of neighbourhoods or the number of centres where somebody chose it: "K=148", else ""."""
    return ", ".join(
        f"{key}={mechanism[key]}" for key in ("K", "m") if isinstance(mechanism.get(key), int)
    )


def write(rows: "pd.DataFrame", to: Path) -> None:
    rows[list(COLUMNS)].to_csv(to, index=False, float_format="%.6g", lineterminator="\n")


def commonest(rows: "pd.DataFrame", keys: Sequence[str]) -> "pd.DataFrame":
    """The rows with the values of `keys` that most have; of two alike, the larger."""
    if rows.empty:
        return rows
    values = list(zip(*(rows[key] for key in keys), strict=True))
    counts = Counter(values)
    most = max(counts, key=lambda value: (counts[value], value))
    return rows[[value == most for value in values]]


def plain(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Training and test texts private, read as they are: what Figure 4 is about."""
    inputs = {"protocol": "paper", "train_on": "private", "test_on": "private", "debias": "none"}
    return rows[(rows[list(inputs)] == list(inputs.values())).all(axis=1)]


def figure4(rows: "pd.DataFrame") -> dict[tuple[str, str], "pd.DataFrame"]:
    """For each dataset and embedding the cells of its panel, with the authors' noise."""
    own = plain(rows)
    own = own[own.dataset.isin(FIGURE4) & (own.calibration != "exact")]
    return {panel: commonest(part, GROUP) for panel, part in own.groupby(["dataset", "embedding"])}


@dataclass
class Debiased:
    """Cells of one dataset: `cells` and the level without noise, `clean`, by what was undone. `others`
    are decoded too, with another number of centres than the mechanism's own choice.

    Decoded vectors are learned from with other settings, so each way has a level of its own.
    """

    dataset: str
    embedding: str
    cells: dict[str, "pd.DataFrame"]
    clean: dict[str, "pd.DataFrame"]
    others: dict[str, "pd.DataFrame"]

    @property
    def any_row(self) -> Any:
        return next(own.iloc[0] for own in self.cells.values() if len(own))


def debiased(rows: "pd.DataFrame") -> list[Debiased]:
    """Trained on private words, tested on original ones."""
    inputs = {"protocol": "paper", "train_on": "private", "test_on": "original"}
    read = rows[(rows[list(inputs)] == list(inputs.values())).all(axis=1)]
    read = read[read.mechanism.isin(RESPONSES)]
    size = GROUP[:3]
    found = []
    for (dataset, embedding), part in read.groupby(["dataset", "embedding"]):
        part = commonest(part, size)
        every = {how: commonest(part[part.debias == how], GROUP) for how in DEBIAS}
        cells = {how: own[own.chosen == ""] for how, own in every.items()}
        others = {how: own[own.chosen != ""] for how, own in every.items()}
        # without noise private words are the originals: whichever the classifier was to read
        same = (rows[size] == list(part.iloc[0][size])).all(axis=1) & (rows.protocol == "paper")
        same &= (rows.dataset == dataset) & (rows.embedding == embedding)
        none = rows[same & (rows.mechanism == "none")]
        clean = {how: none[none.learning.isin(own.learning)] for how, own in cells.items()}
        found.append(Debiased(dataset, embedding, cells, clean, others))
    return found


def whole_table(rows: "pd.DataFrame") -> Plain:
    """Figure 4 with all the data and several seeds."""
    own = plain(rows)
    own = own[~own.limited.astype(bool) & (own.seeds > 1)]
    own = own.sort_values(["dataset", "embedding", "train", "lr", "mechanism", "epsilon"])
    return Plain(
        "Accuracy with all the data, several seeds",
        [
            *("dataset", "vectors", "mechanism", "ε", "exact ε at δ = 10⁻⁶"),
            *("accuracy ± sd", "majority", "sentences", "seeds"),
        ],
        [
            [
                *(r.dataset, r.embedding, _mechanism(r), show_epsilon(r.epsilon)),
                *(show_epsilon(r.exact_epsilon_at_delta_1e6), _accuracy(r), f"{r.majority:.3f}"),
                *(f"{r.train:,}", str(r.seeds)),
            ]
            for r in own.itertuples()
        ],
        ["Training and test texts are private. `python run.py -m experiment=downstream_full`"],
    )


def debias_table(rows: "pd.DataFrame") -> Plain:
    """What is gained by reading each private word as what it says about the original."""
    lines = []
    for panel in debiased(rows):
        parts = (panel.clean, panel.cells, panel.others)
        own = {how: [r for part in parts for r in part[how].itertuples()] for how in DEBIAS}
        every = {_line(r) for rows in own.values() for r in rows}
        for line in sorted(every, key=lambda line: (line[0] != "none", line)):
            found = {how: [r for r in own[how] if _line(r) == line] for how in DEBIAS}
            texts = [_accuracy(rows[0]) if rows else "–" for rows in found.values()]
            mechanism, epsilon, size = line
            label = f"{mechanism}, {size}" if size else mechanism
            names = [panel.dataset, panel.embedding, label, show_epsilon(epsilon)]
            lines.append([*names, *texts, f"{panel.any_row.majority:.3f}"])
    return Plain(
        "Undoing the known noise: trained on private words, tested on original ones",
        ["dataset", "vectors", "mechanism", "ε", "plain", "unbiased", "posterior", "majority"],
        lines,
        [
            "Accuracy ± sd over seeds. Only the training texts are protected; for these mechanisms ε holds "
            "with δ = 0. Decoded vectors are learned from with other settings, so that each column "
            "has its own level without noise (`none`). `python run.py -m experiment=debias`"
        ],
    )


def _line(row: Any) -> tuple[str, float, str]:
    return row.mechanism, row.epsilon, row.chosen


def _mechanism(row: Any) -> str:
    return f"{row.mechanism}, exact" if row.calibration == "exact" else str(row.mechanism)


def _accuracy(row: Any) -> str:
    known = row.deviation is not None and row.deviation == row.deviation
    return f"{row.accuracy:.3f}" + (f" ± {row.deviation:.3f}" if known else "")
