"""Every number of the paper's Tables 1–3 and 5 with ours beside it.

A `Cell` is one number of the paper and ours under each protocol. Everything the report says of these
tables (Markdown, LaTeX, CSV, the curves, the page) is read from the same list of cells.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trlap.config.protocols import PROTOCOLS as KNOWN
from trlap.report import published
from trlap.report.published import PROTOCOLS, Number
from trlap.report.results import noisy
from trlap.runs.records import Json
from trlap.runs.result import Scores

if TYPE_CHECKING:
    import pandas as pd

# mechanism and ε
Column = tuple[str, float]


@dataclass
class Ours:
    """The runs of one protocol that stand for one number: one for each seed."""

    values: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    intervals: list[tuple[float, float] | None] = field(default_factory=list)
    # what the authors' code computes of the same texts, where the protocol is theirs
    released: list[float] = field(default_factory=list)

    @property
    def released_mean(self) -> float | None:
        return statistics.fmean(self.released) if self.released else None

    @property
    def mean(self) -> float | None:
        return statistics.fmean(self.values) if self.values else None

    @property
    def compared(self) -> float | None:
        """What stands beside the paper's number: by the authors' code where that is known, else by ours."""
        return self.mean if self.released_mean is None else self.released_mean

    @property
    def deviation(self) -> float | None:
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval over test sentences; with several seeds, what all of them cover together."""
        known = [interval for interval in self.intervals if interval is not None]
        if not known or len(known) < len(self.values):
            return None
        return min(low for low, _ in known), max(high for _, high in known)


@dataclass(frozen=True)
class Exact:
    """log₁₀ of the exact δ at the nominal ε, and the exact ε at δ = 10⁻⁶, where known."""

    log10_delta: float | None = None
    epsilon_1e6: float | None = None


@dataclass(frozen=True)
class Cell:
    """`ours` and `exact` are by protocol."""

    printed: Number
    ours: dict[str, Ours]
    exact: dict[str, Exact]

    @property
    def column(self) -> Column:
        return self.printed.mechanism, self.printed.epsilon

    def difference(self, protocol: str) -> float | None:
        """Ours minus the paper's, where both are on one scale."""
        mean = self.ours[protocol].mean
        if mean is None or self.printed.metric in published.OTHER_SCALE:
            return None
        return mean - self.printed.value

    def released_difference(self, protocol: str) -> float | None:
        """What the authors' code computes of our texts, minus what they printed: one metric, one scale."""
        mean = self.ours[protocol].released_mean
        return None if mean is None else mean - self.printed.value

    def fill(self, protocol: str) -> str:
        """The command that makes this cell."""
        number = self.printed
        keys = published.fill_keys(
            number.place,
            protocol,
            number.dataset,
            number.embedding,
            [number.mechanism],
            {number.epsilon} - {math.inf},
        )
        return f"python run.py {keys}"


def comparable(results: "pd.DataFrame") -> "pd.DataFrame":
    """Cells with the settings of the paper's tables: its noise, its δ, the protocol's own C."""
    if results.empty:
        return results
    # where vectors are not clipped, C is the protocol's own
    unclipped = results.protocol.map(lambda name: KNOWN[name].released).astype(bool)
    usual_clip = (results["clip"] == 1.0) | unclipped
    usual = (results.calibration == "published") & (results.delta == "paper") & usual_clip
    return results[~noisy(results) | (usual & (results.projection == "clipped"))]


def table_cells(results: "pd.DataFrame", numbers: Sequence[Number]) -> list[Cell]:
    """Every published number with ours beside it.

    For each dataset and protocol the setup (sizes of data and model) that has most cells; where seeds
    differ, all of them. Exact values are the noisy vector's, which no data enters: any run with that noise gives them.
    """
    usable = comparable(results)
    exact = _exact(usable)
    panels: dict[tuple[str, str], dict[Column, list[dict[str, Json]]]] = {}
    cells = []
    for number in numbers:
        panel = (number.dataset, number.embedding)
        if panel not in panels:
            panels[panel] = _by_column(_rows(usable, number.dataset, number.embedding))
        ours = {protocol: Ours() for protocol in PROTOCOLS}
        for row in panels[panel].get((number.mechanism, number.epsilon), []):
            value = row[number.metric]
            if value is not None and not math.isnan(value):
                _add(ours[row["protocol"]], row, number.metric)
        known = {
            protocol: exact.get((protocol, number.mechanism, number.epsilon), Exact())
            for protocol in PROTOCOLS
        }
        cells.append(Cell(number, ours, known))
    return cells


def _add(ours: Ours, row: dict[str, Json], metric: str) -> None:
    scores: Scores = row["result"].metrics
    ours.values.append(row[metric])
    ours.names.append(row["name"])
    ours.intervals.append(scores.interval(metric))
    released = scores.as_released.get(metric)
    ours.released += [] if released is None else [released]


def _by_column(rows: "pd.DataFrame") -> dict[Column, list[dict[str, Json]]]:
    columns: dict[Column, list[dict[str, Json]]] = {}
    for row in rows.to_dict("records"):
        columns.setdefault((row["mechanism"], row["epsilon"]), []).append(row)
    return columns


def _exact(usable: "pd.DataFrame") -> dict[tuple[str, str, float], Exact]:
    """By protocol, mechanism and ε, for vectors of the paper's dimension."""
    return {
        (row["protocol"], row["mechanism"], row["epsilon"]): Exact(
            row["log10_delta"], row["epsilon_1e6"]
        )
        for row in usable.to_dict("records")
        if row["result"].settings.embedding.dimension == published.DIMENSION
    }


def _rows(usable: "pd.DataFrame", dataset: str, embedding: str) -> "pd.DataFrame":
    """The rewritten cells of a dataset; those of a protocol all have one setup."""
    if usable.empty:
        return usable
    rewritten = usable.result.map(lambda result: result.details.rewrite is not None).astype(bool)
    rows = usable[(usable.dataset == dataset) & rewritten]
    for name in published.our_embeddings(embedding):
        ours = rows[rows.embedding == name]
        if not ours.empty:
            usual = ours.groupby("protocol").setup.agg(lambda each: each.value_counts().idxmax())
            return ours[ours.setup == ours.protocol.map(usual)]
    return rows.iloc[:0]
