"""Tables 1–3 and 5 in the paper's layout, side by side with ours, and as CSV, from the cells of
`trlap.report.cells`; Table 4 from the data.
"""

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trlap.metrics.base import Metric
from trlap.report import published
from trlap.report.cells import Cell, Column, Exact, Ours
from trlap.report.numbers import UNKNOWN, show_delta, show_epsilon
from trlap.report.published import MECHANISMS, ORIGINAL, PROTOCOLS, PaperTable

if TYPE_CHECKING:
    import pandas as pd

# what stands in a table where nothing was run
MISSING = "missing"


@dataclass(frozen=True)
class TextTable:
    """A table without the paper's layout, all text."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    notes: list[str]


# --------------------------------------------------------------------------------- the paper's layout


@dataclass(frozen=True)
class Line:
    """A row of a table: its texts, and which of them are bold.

    `kind`: published, released (what the authors' code computes of our texts), ours, difference, exact.
    """

    label: str
    kind: str
    texts: list[str]
    bold: set[int]


@dataclass(frozen=True)
class Block:
    """A part of a table with one dataset; `size` is what ours were made from, if there are any."""

    dataset: str
    columns: list[Column]
    lines: list[Line]
    size: str | None

    @property
    def span(self) -> int:
        """Columns of one mechanism."""
        return (len(self.columns) - 1) // len(MECHANISMS)

    @property
    def run(self) -> list[int]:
        """The places of columns in which anything was run."""
        ours = [line.texts for line in self.lines if line.kind == "ours"]
        return [
            place
            for place in range(len(self.columns))
            if any(texts[place] != MISSING for texts in ours)
        ]

    @property
    def rest(self) -> list[int]:
        """The places of all other columns."""
        return [place for place in range(len(self.columns)) if place not in self.run]

    def part(self, places: Sequence[int]) -> "Block":
        """These columns alone; rows that say nothing of them are left out."""
        lines = [
            Line(
                line.label,
                line.kind,
                [line.texts[place] for place in places],
                {new for new, place in enumerate(places) if place in line.bold},
            )
            for line in self.lines
        ]
        known = [line for line in lines if set(line.texts) - {MISSING, UNKNOWN}]
        return Block(self.dataset, [self.columns[place] for place in places], known, self.size)


def blocks(table: PaperTable, cells: Iterable[Cell], sizes: dict[str, str]) -> Iterator[Block]:
    """One block a dataset and regime. `sizes` says for each run what it was made from."""
    of_table = [cell for cell in cells if cell.printed.place == table.name]
    for dataset in table.datasets:
        by_metric: dict[str, dict[Column, Cell]] = {}
        for cell in of_table:
            if cell.printed.dataset == dataset:
                by_metric.setdefault(cell.printed.metric, {})[cell.column] = cell
        metrics = sorted(map(published.measure, by_metric), key=lambda metric: metric.order)
        for regime in table.regimes:
            columns = [ORIGINAL, *((m, epsilon) for m in MECHANISMS for epsilon in regime)]
            lines: list[Line] = []
            for metric in metrics:
                lines += _measured([by_metric[metric.name][c] for c in columns], metric)
            # what is exact is the same beside every metric
            first = [by_metric[metrics[0].name][column] for column in columns]
            for protocol in PROTOCOLS:
                lines += _guaranteed([cell.exact[protocol] for cell in first], protocol)
            yield Block(dataset, columns, lines, _size(first, sizes))


def _size(cells: Sequence[Cell], sizes: dict[str, str]) -> str | None:
    """What ours were made from; where protocols differ, which was made from what."""
    by_size: dict[str, list[str]] = {}
    for protocol in PROTOCOLS:
        names = [name for cell in cells for name in cell.ours[protocol].names]
        if names and names[0] in sizes:
            by_size.setdefault(sizes[names[0]], []).append(protocol)
    if len(by_size) < 2:
        return next(iter(by_size), None)
    return "; ".join(f"{size} ({', '.join(names)})" for size, names in by_size.items())


def _measured(cells: Sequence[Cell], metric: Metric) -> Iterator[Line]:
    """Published, then ours under each protocol and how far that is from published.

    Where a protocol has the metric as the authors' code computes it, that is what is compared.
    """
    columns = [cell.column for cell in cells]
    digits, more = metric.digits, metric.higher_is_better
    yield Line(
        f"{metric.heading}, published",
        "published",
        [f"{cell.printed.value:.{digits}f}" for cell in cells],
        # the paper prints no intervals
        set(),
    )
    for protocol in PROTOCOLS:
        ours = [cell.ours[protocol] for cell in cells]
        released = any(entry.released for entry in ours)
        if released:
            means = [entry.released_mean for entry in ours]
            yield Line(
                f"{metric.heading}, as released `{protocol}`",
                "released",
                [MISSING if mean is None else f"{mean:.{digits}f}" for mean in means],
                set(),
            )
            apart = [cell.released_difference(protocol) for cell in cells]
            yield _difference(f"{metric.heading}, difference `{protocol}`", apart, digits)
        yield Line(
            f"{metric.heading}, ours `{protocol}`",
            "ours",
            [_mean(entry, digits) for entry in ours],
            best([entry.interval for entry in ours], columns, more),
        )
        differences = [cell.difference(protocol) for cell in cells]
        if not released and any(difference is not None for difference in differences):
            yield _difference(f"{metric.heading}, difference `{protocol}`", differences, digits)


def _difference(label: str, differences: Sequence[float | None], digits: int) -> Line:
    texts = ["–" if d is None else f"{d:+.{digits}f}" for d in differences]
    return Line(label, "difference", texts, set())


def _guaranteed(exact: Sequence[Exact], protocol: str) -> list[Line]:
    deltas = [show_delta(entry.log10_delta) for entry in exact]
    epsilons = [show_epsilon(entry.epsilon_1e6) for entry in exact]
    return [
        Line(f"exact δ at ε, {protocol}", "exact", deltas, set()),
        Line(f"exact ε at δ = 10⁻⁶, {protocol}", "exact", epsilons, set()),
    ]


def best(
    intervals: Sequence[tuple[float, float] | None], columns: Sequence[Column], more: bool
) -> set[int]:
    """Which column is bold: at each ε the mechanism whose whole interval is better than all others'.

    None is where intervals overlap, or where one is missing.
    """
    bold = set()
    for epsilon in {e for _, e in columns if e != math.inf}:
        places = [i for i, (_, e) in enumerate(columns) if e == epsilon]
        known = {i: interval for i in places if (interval := intervals[i]) is not None}
        if len(known) < max(2, len(places)):
            continue
        for place, (low, high) in known.items():
            others = [interval for i, interval in known.items() if i != place]
            if all(low > top if more else high < bottom for bottom, top in others):
                bold.add(place)
    return bold


def _mean(ours: Ours, digits: int) -> str:
    if ours.mean is None:
        return MISSING
    spread = "" if ours.deviation is None else f" ± {ours.deviation:.{digits}f}"
    return f"{ours.mean:.{digits}f}{spread}"


def missing(table: PaperTable, cells: Iterable[Cell]) -> list[str]:
    """One line a protocol and dataset that fills every gap."""
    gaps: dict[tuple[str, str, str], set[Column]] = {}
    for cell in cells:
        for protocol in PROTOCOLS:
            if cell.printed.place == table.name and not cell.ours[protocol].values:
                key = (protocol, cell.printed.dataset, cell.printed.embedding)
                gaps.setdefault(key, set()).add(cell.column)
    lines = []
    for (protocol, dataset, embedding), columns in gaps.items():
        names = {name for name, _ in columns}
        in_order = [name for name in (ORIGINAL[0], *MECHANISMS) if name in names]
        epsilons = {epsilon for _, epsilon in columns} - {math.inf}
        keys = published.fill_keys(table.name, protocol, dataset, embedding, in_order, epsilons)
        lines.append(f"python run.py -m {keys}")
    return lines


# ---------------------------------------------------------------------------------------- side by side


def side_by_side(cells: Sequence[Cell], sizes: dict[str, str]) -> Iterator[TextTable]:
    """Tables 2 and 3, one table a dataset and metric: what is published, and ours under each protocol.

    In parentheses is how far ours is from published; where a protocol has the metric as the authors' code
    computes it, that is what stands here. What was run under no protocol is named below.
    """
    by_place: dict[tuple[str, str], dict[Column, Cell]] = {}
    for cell in cells:
        if cell.printed.place in ("table2", "table3"):
            place = cell.printed.dataset, cell.printed.metric
            by_place.setdefault(place, {}).setdefault(cell.column, cell)
    order = [name for name, _ in (ORIGINAL, *((name, 0) for name in MECHANISMS))]
    for (dataset, name), by_column in by_place.items():
        columns = sorted(by_column, key=lambda column: (order.index(column[0]), column[1]))
        every = [by_column[column] for column in columns]
        lines = [cell for cell in every if any(ours.values for ours in cell.ours.values())]
        if not lines:
            continue
        metric = published.measure(name)
        yield TextTable(
            f"Tables 2 and 3 side by side: {dataset.capitalize()}, {metric.heading}",
            ["mechanism", "ε", "published", *(f"`{protocol}`" for protocol in PROTOCOLS)],
            [_beside(cell, metric.digits) for cell in lines],
            [*_kinds(lines), *_sizes(lines, sizes), *_gaps(every)],
        )


def _beside(cell: Cell, digits: int) -> list[str]:
    mechanism, epsilon = cell.column
    texts = [mechanism, show_epsilon(epsilon), f"{cell.printed.value:.{digits}f}"]
    for protocol in PROTOCOLS:
        value = cell.ours[protocol].compared
        apart = cell.released_difference(protocol)
        apart = cell.difference(protocol) if apart is None else apart
        difference = "" if apart is None else f" ({apart:+.{digits}f})"
        texts.append("not run" if value is None else f"{value:.{digits}f}{difference}")
    return texts


def _kinds(cells: Sequence[Cell]) -> Iterator[str]:
    """Whose metric the numbers are."""
    kinds: dict[str, list[str]] = {"as released": [], "our metric": []}
    for protocol in PROTOCOLS:
        entries = [cell.ours[protocol] for cell in cells]
        if any(entry.values for entry in entries):
            released = any(entry.released for entry in entries)
            kinds["as released" if released else "our metric"].append(f"`{protocol}`")
    yield "; ".join(f"{', '.join(names)}: {kind}" for kind, names in kinds.items() if names)


def _sizes(cells: Sequence[Cell], sizes: dict[str, str]) -> Iterator[str]:
    size = _size(cells, sizes)
    if size is not None:
        yield f"ours on {size}"


def _gaps(cells: Sequence[Cell]) -> Iterator[str]:
    gaps: dict[str, list[str]] = {}
    for cell in cells:
        if not any(ours.values for ours in cell.ours.values()):
            mechanism, epsilon = cell.column
            gaps.setdefault(mechanism, []).append(show_epsilon(epsilon))
    if gaps:
        named = (f"{mechanism} {', '.join(epsilons)}" for mechanism, epsilons in gaps.items())
        yield f"not run: {'; '.join(named)}"


# ------------------------------------------------------------------------------------------------- CSV


def write_csv(cells: Iterable[Cell], file: Path) -> None:
    """One line a published number."""
    ends = ["", "_sd", "_seeds", "_difference", "_as_released", "_as_released_difference"]
    ends += ["_log10_delta", "_epsilon_1e6", "_fill"]
    heads = ["table", "dataset", "embedding", "mechanism", "epsilon", "metric", "published"]
    heads += [f"{protocol}{end}" for protocol in PROTOCOLS for end in ends]
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(heads)
        for cell in cells:
            number = cell.printed
            line: list[str | float | None] = [number.place, number.dataset, number.embedding]
            line += [number.mechanism, number.epsilon, number.metric, number.value]
            for protocol in PROTOCOLS:
                ours, exact = cell.ours[protocol], cell.exact[protocol]
                line += [ours.mean, ours.deviation, len(ours.values), cell.difference(protocol)]
                line += [ours.released_mean, cell.released_difference(protocol)]
                line += [exact.log10_delta, exact.epsilon_1e6]
                line.append(None if ours.values else cell.fill(protocol))
            writer.writerow(line)


# --------------------------------------------------------------------------------------------- Table 4


def table4(results: "pd.DataFrame") -> TextTable:
    """Dataset sizes as printed, and those of the corpora that were run."""
    rows = [[size.dataset, size.text, _largest(results, size.dataset)] for size in published.TABLE4]
    rows.append(["sst2_sentence", "–", _largest(results, "sst2_sentence")])
    heads = ["dataset", "printed: tokens, train, test"]
    heads.append("ours: tokens a test sentence, train + validation, test")
    return TextTable("Table 4: the data", heads, rows, list(published.SLIPS))


def _largest(results: "pd.DataFrame", dataset: str) -> str:
    """Of the largest run on that dataset."""
    runs = [] if results.empty else list(results[results.dataset == dataset].result)
    if not runs:
        return f"missing: `python run.py dataset={dataset} stages=[privatize] mechanism=none`"
    details = max((run.details for run in runs), key=lambda d: sum(d.sizes.values()))
    sizes, test = details.sizes, details.privatize.get("test")
    length = "–" if test is None else f"{test.tokens / max(1, test.sentences):.1f}"
    return f"{length}, {sizes['train'] + sizes['validation']:,}, {sizes['test']:,}"
