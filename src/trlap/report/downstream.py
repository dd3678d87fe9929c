"""What classifiers learn from private text: the cells behind Figure 4, what undoing the noise adds, tables.

Cells are compared only where data, seeds and the classifier's settings are the same. Of several such groups
a figure shows the one with most cells; downstream.csv has all.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Protocol

from trlap.report import groups, published
from trlap.report.numbers import UNKNOWN, show_epsilon
from trlap.report.published import Number
from trlap.report.tables import TextTable
from trlap.runs.result import Classified, RunResult
from trlap.runs.settings import MechanismSettings

if TYPE_CHECKING:
    import pandas as pd

DEBIAS = ("none", "unbiased", "posterior")
# what the size of the data comes to, and what else the classifiers of one line share
SIZE = ["train", "seeds", "classifier"]
GROUP = [*SIZE, "lr", "learning"]


@dataclass(frozen=True)
class Learned:
    """A classified run: what was run, the accuracy, and the privacy that was really given.

    `chosen` is what somebody chose of the mechanism's sizes, `paper_figure4` the paper's accuracy.
    `validation_accuracy` and `epochs` are means over seeds. What stands below `run` is for the figures and
    not in downstream.csv: `data`, `noise` and `learning` stand for what was read, the mechanism's settings
    but ε, and the classifier's; `limited`, whether the training data is a sample; `noisy`, whether there was
    a mechanism at all.
    """

    protocol: str
    dataset: str
    embedding: str
    mechanism: str
    calibration: str | None
    epsilon: float
    chosen: str
    train_on: str
    test_on: str
    debias: str
    classifier: str | None
    lr: float | None
    patience: int | None
    train: int
    seeds: int
    accuracy: float
    low: float | None
    high: float | None
    deviation: float | None
    macro_f1: float | None
    majority: float | None
    validation_accuracy: float | None
    epochs: float | None
    exact_epsilon_at_delta_1e6: float | None
    exact_delta: float | None
    claim_holds: bool | None
    paper_figure4: float | None
    run: str
    data: str
    noise: str
    learning: str
    limited: bool
    noisy: bool


EVERY = [item.name for item in fields(Learned)]
COLUMNS = EVERY[: EVERY.index("run") + 1]


def classified(results: "pd.DataFrame", numbers: Sequence[Number]) -> "pd.DataFrame":
    """One row a classified run, with the fields of `Learned` as columns."""
    import pandas as pd

    printed = {(n.dataset, n.embedding, n.mechanism, n.epsilon): n.value for n in numbers}
    rows = []
    for row in [] if results.empty else results.to_dict("records"):
        result: RunResult = row["result"]
        if result.details.classify is not None:
            name = published.their_embedding(result.embedding)
            place = (result.dataset, name, result.mechanism, result.epsilon)
            learned = _learned(result, result.details.classify, row["calibration"])
            rows.append(replace(learned, paper_figure4=printed.get(place)))
    frame = pd.DataFrame(rows, columns=EVERY)
    keys = ["protocol", "dataset", "embedding", "mechanism", "epsilon", "run"]
    return frame.sort_values(keys, ignore_index=True)


def _learned(result: RunResult, classified: Classified, calibration: str | None) -> Learned:
    settings, exact, runs = result.settings, result.guarantee.exact, classified.runs
    low, high = result.metrics.interval("accuracy") or (None, None)
    classifier = settings.classifier
    return Learned(
        protocol=result.protocol,
        dataset=result.dataset,
        embedding=result.embedding,
        mechanism=result.mechanism,
        calibration=calibration,
        epsilon=result.epsilon,
        chosen=chosen(settings.mechanism),
        train_on=classified.inputs.train_on,
        test_on=classified.inputs.test_on,
        debias=classified.inputs.debias,
        classifier=classifier.name if classifier else None,
        lr=classifier.lr if classifier else None,
        patience=classifier.patience if classifier else None,
        train=result.details.sizes["train"],
        seeds=len(runs),
        accuracy=classified.accuracy,
        low=low,
        high=high,
        deviation=classified.deviation,
        macro_f1=classified.macro_f1,
        majority=classified.majority,
        validation_accuracy=_mean([run.validation_accuracy for run in runs]),
        epochs=_mean([run.epochs for run in runs]),
        exact_epsilon_at_delta_1e6=exact.epsilon_at_delta_1e6,
        exact_delta=exact.delta,
        claim_holds=result.guarantee.holds,
        paper_figure4=None,
        run=result.name,
        data=groups.data(result),
        noise=groups.noise(result),
        learning=groups.learning(result),
        limited=settings.dataset.limit.train is not None,
        noisy=result.noisy,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def chosen(mechanism: MechanismSettings) -> str:
    """Sizes that somebody chose (neighbourhoods, centres, dimensions): "K=148", else "".

    Where nobody did, they are `auto` or null. A seed is a whole number too, and no size.
    """
    return ", ".join(
        f"{key}={value}"
        for key, value in mechanism.keys.items()
        if type(value) is int and key != "seed"
    )


def write_csv(rows: "pd.DataFrame", file: Path) -> None:
    rows[COLUMNS].to_csv(file, index=False, float_format="%.6g", lineterminator="\n")


def commonest(rows: "pd.DataFrame", keys: Sequence[str]) -> "pd.DataFrame":
    """The rows with the values of `keys` that most have; of two alike, the larger."""
    if rows.empty:
        return rows
    values = list(zip(*(rows[key] for key in keys), strict=True))
    counts = Counter(values)
    most = max(counts, key=lambda value: (counts[value], value))
    return rows[[value == most for value in values]]


def _reading(rows: "pd.DataFrame", test_on: str) -> "pd.DataFrame":
    """Trained on private texts, as the paper's protocol writes them."""
    wanted = (rows.protocol == "paper") & (rows.train_on == "private") & (rows.test_on == test_on)
    return rows[wanted]


def plain(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Training and test texts private, read as they are: what Figure 4 is about."""
    private = _reading(rows, "private")
    return private[private.debias == "none"]


def figure4(rows: "pd.DataFrame") -> dict[tuple[str, str], "pd.DataFrame"]:
    """For each dataset and embedding the cells of its panel, with the authors' noise."""
    shown = plain(rows)
    shown = shown[shown.dataset.isin(published.CLASSIFIED) & (shown.calibration != "exact")]
    panels = shown.groupby(["dataset", "embedding"])
    return {panel: commonest(part, GROUP) for panel, part in panels}


# -------------------------------------------------------------------------------- undoing known noise


class Row(Protocol):
    """A row of classified runs, as `itertuples` gives it."""

    mechanism: str
    calibration: str | None
    epsilon: float
    chosen: str
    noisy: bool
    train: int
    accuracy: float
    deviation: float | None
    majority: float | None


@dataclass(frozen=True)
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
    def drawn(self) -> bool:
        """Whether there are cells for a figure."""
        return any(len(cells) for cells in self.cells.values())

    @property
    def any_row(self) -> Row:
        parts = [*self.cells.values(), *self.others.values()]
        return next(cells.iloc[0] for cells in parts if len(cells))


def debiased(rows: "pd.DataFrame") -> list[Debiased]:
    """Trained on private words, tested on original ones: mechanisms whose noise was undone in any run."""
    undone = set(rows[rows.noisy.astype(bool) & (rows.debias != "none")].mechanism)
    read = _reading(rows, "original")
    read = read[read.mechanism.isin(undone)]
    panels = []
    for (dataset, embedding), part in read.groupby(["dataset", "embedding"]):
        part = commonest(part, SIZE)
        every = {how: commonest(part[part.debias == how], GROUP) for how in DEBIAS}
        cells = {how: runs[runs.chosen == ""] for how, runs in every.items()}
        others = {how: runs[runs.chosen != ""] for how, runs in every.items()}
        # without noise private words are the originals: whichever the classifier was to read
        same = (rows[SIZE] == list(part.iloc[0][SIZE])).all(axis=1) & (rows.protocol == "paper")
        same &= (rows.dataset == dataset) & (rows.embedding == embedding)
        without = rows[same & ~rows.noisy.astype(bool)]
        clean = {how: without[without.learning.isin(c.learning)] for how, c in cells.items()}
        panels.append(Debiased(dataset, embedding, cells, clean, others))
    return panels


# --------------------------------------------------------------------------------------------- tables


def whole_table(rows: "pd.DataFrame") -> TextTable:
    """Figure 4 with all the data and several seeds."""
    shown = plain(rows)
    shown = shown[~shown.limited.astype(bool) & (shown.seeds > 1)]
    shown = shown.sort_values(["dataset", "embedding", "train", "lr", "mechanism", "epsilon"])
    return TextTable(
        "Accuracy with all the data, several seeds",
        [
            "dataset",
            "vectors",
            "mechanism",
            "ε",
            "exact ε at δ = 10⁻⁶",
            "accuracy ± sd",
            "majority",
            "sentences",
            "seeds",
        ],
        [
            [
                row.dataset,
                row.embedding,
                _mechanism(row),
                show_epsilon(row.epsilon),
                show_epsilon(row.exact_epsilon_at_delta_1e6),
                _accuracy(row),
                _share(row.majority),
                f"{row.train:,}",
                str(row.seeds),
            ]
            for row in shown.itertuples()
        ],
        ["Training and test texts are private. `python run.py -m experiment=downstream_full`"],
    )


def debias_table(rows: "pd.DataFrame") -> TextTable:
    """What is gained by reading each private word as what it says about the original."""
    return TextTable(
        "Undoing the known noise: trained on private words, tested on original ones",
        ["dataset", "vectors", "mechanism", "ε", "plain", "unbiased", "posterior", "majority"],
        [line for panel in debiased(rows) for line in _debias_lines(panel)],
        [
            "Accuracy ± sd over seeds. Only the training texts are protected; for these mechanisms ε holds "
            "with δ = 0. Decoded vectors are learned from with other settings, so that each column "
            "has its own level without noise (`none`). `python run.py -m experiment=debias`"
        ],
    )


def _debias_lines(panel: Debiased) -> list[list[str]]:
    """A line for each mechanism, ε and size; first those without noise."""
    accuracies: dict[tuple[bool, str, float, str], dict[str, str]] = {}
    for part in (panel.clean, panel.cells, panel.others):
        for how in DEBIAS:
            for row in part[how].itertuples():
                key = (row.noisy, row.mechanism, row.epsilon, row.chosen)
                accuracies.setdefault(key, {}).setdefault(how, _accuracy(row))
    lines = []
    for (_, mechanism, epsilon, size), texts in sorted(accuracies.items()):
        label = f"{mechanism}, {size}" if size else mechanism
        line = [panel.dataset, panel.embedding, label, show_epsilon(epsilon)]
        line += [texts.get(how, UNKNOWN) for how in DEBIAS]
        lines.append([*line, _share(panel.any_row.majority)])
    return lines


def _mechanism(row: Row) -> str:
    return f"{row.mechanism}, exact" if row.calibration == "exact" else row.mechanism


def _accuracy(row: Row) -> str:
    deviation = _share(row.deviation)
    return _share(row.accuracy) + (f" ± {deviation}" if deviation != UNKNOWN else "")


def _share(value: float | None) -> str:
    """pandas writes NaN where a column has no value."""
    return UNKNOWN if value is None or math.isnan(value) else f"{value:.3f}"
