"""Tables 1–3 and 5 of the paper in its layout, published numbers and ours; Table 4 from the data.

A `Cell` of a table is one number of the paper and ours under both protocols. Everything the report says
of these tables (Markdown, LaTeX, CSV, the curves, the claims) is read from the same list of cells.
"""

import csv
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

LOW, HIGH = (0.05, 0.1, 0.2, 0.5), (1.0, 5.0, 10.0, 20.0)
MECHANISMS = {"gaussian": "Gaussian", "laplace": "Laplacian", "trlap": "TrLaplacian"}
PROTOCOLS = ("release", "paper")
INF = float("inf")
# metric: its name, digits, whether more is better
METRICS = {
    "loss": ("Loss", 2, False),
    "rouge1": ("Rouge1", 2, True),
    "bleu": ("BLEU", 2, True),
    "n_w": ("N_w", 3, True),
    "bertscore": ("BERT-S", 3, True),
    "epoch_seconds": ("seconds an epoch", 1, False),
}
TABLES = {
    "table1": ("Privacy test, fastText, Yelp", "fasttext", ("yelp",), LOW + HIGH),
    "table2": ("Privacy test, GloVe, ε < 1", "glove", ("yahoo", "yelp"), LOW),
    "table3": ("Privacy test, GloVe, ε ≥ 1", "glove", ("yahoo", "yelp"), HIGH),
    "table5": ("Seconds an epoch, GloVe", "glove", ("yahoo", "yelp"), LOW + HIGH),
}
GLOVE = ("glove840b", "glove")  # ours for the paper's GloVe, the first that has results
NOTES = {
    "table2": "The paper's BLEU stays near 8.9 while Rouge1 falls from 92 to 13: it is not on sacreBLEU's 0–100 "
    "scale, so the two are shown and not compared. BERTScore depends on its model: the result of a cell says "
    "which it used.",
    "table5": "The paper prints 111 s for non-private Yelp between rows of 37–46 s. Its machine had a GPU; only "
    "ratios compare.",
}
NOTES["table1"] = NOTES["table3"] = NOTES["table2"]


@dataclass
class Ours:
    """The cells of one protocol that stand for one number: one for each seed."""

    values: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def mean(self) -> float | None:
        return statistics.fmean(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        return statistics.stdev(self.values) if len(self.values) > 1 else None


@dataclass
class Cell:
    table: str
    dataset: str
    embedding: str
    mechanism: str
    epsilon: float
    metric: str
    published: float
    ours: dict[str, Ours]  # by protocol
    log10_delta: dict[str, float | None]  # exact, at the nominal ε
    epsilon_1e6: dict[str, float | None]

    def fill(self, protocol: str) -> str:
        return "python run.py " + keys(
            *(self.table, protocol, self.dataset, self.embedding),
            *([self.mechanism], {self.epsilon} - {INF}),
        )


def keys(
    table: str,
    protocol: str,
    dataset: str,
    embedding: str,
    mechanisms: Sequence[str],
    epsilons: set[float],
) -> str:
    """What to type behind `run.py` for these cells of a table."""
    name = GLOVE[0] if embedding == "glove" else embedding
    budget = f" epsilon={','.join(f'{e:g}' for e in sorted(epsilons))}" if epsilons else ""
    return (
        f"experiment={table} protocol={protocol} dataset={dataset} embedding={name} "
        f"mechanism={','.join(mechanisms)}{budget}"
    )


@dataclass
class Plain:
    """A table without the paper's layout, all text."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    notes: list[str]

    def markdown(self) -> str:
        lines = [f"### {self.title}", ""]
        for row in (self.heads, ["---"] * len(self.heads), *self.rows):
            lines.append(f"| {' | '.join(row)} |")
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes), ""])


def load_published(path: Path) -> list[dict[str, Any]]:
    """Rows of the published numbers: table or figure, dataset, embedding, mechanism, epsilon, metric, value."""
    with path.open(encoding="utf-8") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    return [row | {"epsilon": float(row["epsilon"]), "value": float(row["value"])} for row in rows]


def comparable(results: "pd.DataFrame") -> "pd.DataFrame":
    """Cells with the settings of the paper's tables: its noise, its δ, the protocol's own C."""
    if results.empty:
        return results
    own = (results["clip"] == 1.0) | (results.protocol == "release")
    usual = (results.calibration == "published") & (results.delta == "paper") & own
    return results[(results.mechanism == "none") | (usual & (results.projection == "clipped"))]


def table_cells(results: "pd.DataFrame", published: Sequence[dict[str, Any]]) -> list[Cell]:
    """Every published number with ours beside it.

    For each dataset the setup (sizes of data and model) that has most cells; where seeds differ, all
    of them. Exact values are the noisy vector's, which no data enters: any run with that noise gives them.
    """
    usable = comparable(results)
    exact = _exact(usable)
    chosen: dict[tuple[str, str], pd.DataFrame] = {}
    found = []
    for item in published:
        name, dataset = item["embedding"], item["dataset"]
        if (name, dataset) not in chosen:
            chosen[name, dataset] = _of_one_setup(usable, dataset, name)
        rows = chosen[name, dataset]
        if not rows.empty:
            rows = rows[(rows.mechanism == item["mechanism"]) & (rows.epsilon == item["epsilon"])]
        known = [
            exact.get((p, item["mechanism"], item["epsilon"]), (None, None)) for p in PROTOCOLS
        ]
        cell = Cell(
            **{key: item[key] for key in ("table", "dataset", "embedding", "mechanism", "epsilon")},
            metric=item["metric"],
            published=item["value"],
            ours={protocol: Ours() for protocol in PROTOCOLS},
            log10_delta={p: delta for p, (delta, _) in zip(PROTOCOLS, known, strict=True)},
            epsilon_1e6={p: epsilon for p, (_, epsilon) in zip(PROTOCOLS, known, strict=True)},
        )
        for row in rows.to_dict("records"):
            value = row[item["metric"]]
            if value is None or value != value:
                continue
            cell.ours[row["protocol"]].values.append(value)
            cell.ours[row["protocol"]].names.append(row["name"])
        found.append(cell)
    return found


def _exact(usable: "pd.DataFrame") -> dict[tuple[str, str, float], tuple[float, float]]:
    """By protocol, mechanism and ε: log₁₀ of the exact δ at ε, and the exact ε at δ = 10⁻⁶."""
    return {
        (row["protocol"], row["mechanism"], row["epsilon"]): (
            row["log10_delta"],
            row["epsilon_1e6"],
        )
        for row in usable.to_dict("records")
        if row["result"]["provenance"]["config"]["embedding"].get("dimension", 300) == 300
    }


def _of_one_setup(usable: "pd.DataFrame", dataset: str, embedding: str) -> "pd.DataFrame":
    if usable.empty:
        return usable
    rows = usable[(usable.dataset == dataset) & usable.loss.notna()]
    for name in GLOVE if embedding == "glove" else (embedding,):
        own = rows[rows.embedding == name]
        if not own.empty:
            return own[own.setup == own.setup.value_counts().idxmax()]
    return rows.iloc[:0]


@dataclass
class Block:
    """A part of a table with one dataset: its columns are (mechanism, ε), its rows have a label."""

    dataset: str
    columns: list[tuple[str, float]]
    rows: list[tuple[str, list[str], set[int]]]  # label, texts, which of them are bold
    size: str | None


def blocks(table: str, cells: Sequence[Cell], sizes: dict[str, str]) -> Iterator[Block]:
    """The paper's layout: non-private, then each mechanism at each ε; one block a dataset and regime."""
    _, _, datasets, epsilons = TABLES[table]
    regimes = [epsilons] if len(epsilons) == 4 else [epsilons[:4], epsilons[4:]]
    for dataset in datasets:
        for regime in regimes:
            columns = [("none", INF), *((m, e) for m in MECHANISMS for e in regime)]
            own = {
                (c.metric, c.mechanism, c.epsilon): c
                for c in cells
                if c.table == table and c.dataset == dataset
            }
            rows: list[tuple[str, list[str], set[int]]] = []
            metrics = [m for m in METRICS if any(key[0] == m for key in own)]
            for metric in metrics:
                line = [own[(metric, *column)] for column in columns]
                rows += _lines(metric, line, columns)
            any_metric = [own[(metrics[0], *column)] for column in columns]
            for protocol in PROTOCOLS:
                texts = [_power(c.log10_delta[protocol]) for c in any_metric]
                rows.append((f"exact δ at ε, {protocol}", texts, set()))
                texts = [show_epsilon(c.epsilon_1e6[protocol]) for c in any_metric]
                rows.append((f"exact ε at δ = 10⁻⁶, {protocol}", texts, set()))
            names = [n for c in any_metric for p in PROTOCOLS for n in c.ours[p].names]
            yield Block(dataset, columns, rows, sizes.get(names[0]) if names else None)


def _lines(
    metric: str, line: Sequence[Cell], columns: Sequence[tuple[str, float]]
) -> Iterator[tuple[str, list[str], set[int]]]:
    name, digits, more = METRICS[metric]
    published: list[float | None] = [cell.published for cell in line]
    yield (
        f"{name}, published",
        [f"{v:.{digits}f}" for v in published],
        best(published, columns, more),
    )
    for protocol in PROTOCOLS:
        ours = [cell.ours[protocol] for cell in line]
        means = [o.mean for o in ours]
        texts = [_text(o, digits) for o in ours]
        yield f"{name}, ours `{protocol}`", texts, best(means, columns, more)
        if metric == "bleu":  # another scale
            continue
        if not any(o.values for o in ours):
            continue
        differences = [
            "–" if mean is None else f"{mean - cell.published:+.{digits}f}"
            for mean, cell in zip(means, line, strict=True)
        ]
        yield f"{name}, difference `{protocol}`", differences, set()


def best(
    values: Sequence[float | None], columns: Sequence[tuple[str, float]], more: bool
) -> set[int]:
    """Which column is bold: at each ε the best mechanism, as in the paper; none where one is missing."""
    bold = set()
    for epsilon in {e for _, e in columns if e != INF}:
        places = [i for i, (_, e) in enumerate(columns) if e == epsilon]
        known = [v for i in places if (v := values[i]) is not None]
        if len(known) == len(places):
            top = max(known) if more else min(known)
            bold |= {i for i in places if values[i] == top}
    return bold


def _text(ours: Ours, digits: int) -> str:
    if ours.mean is None:
        return "missing"
    spread = "" if ours.deviation is None else f" ± {ours.deviation:.{digits}f}"
    return f"{ours.mean:.{digits}f}{spread}"


def _power(log10: float | None) -> str:
    if log10 is None or log10 != log10:
        return "–"
    if log10 == -INF:
        return "0"
    return f"{10**log10:.3f}" if log10 > -3 else f"1e{log10:.0f}"


def show_epsilon(value: float | None) -> str:
    if value is None or value != value:
        return "–"
    return "∞" if value == INF else f"{value:.3g}"


def markdown(table: str, cells: Sequence[Cell], sizes: dict[str, str]) -> str:
    title = TABLES[table][0]
    lines = [f"### Table {table[-1]}: {title}", ""]
    for block in blocks(table, cells, sizes):
        heads = [head(mechanism, epsilon) for mechanism, epsilon in block.columns]
        measured = f" · ours on {block.size}" if block.size else ""
        lines += [f"**{block.dataset.capitalize()}**{measured}", ""]
        lines += [f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
        for label, texts, bold in block.rows:
            marked = [f"**{t}**" if i in bold else t for i, t in enumerate(texts)]
            lines.append(f"| {label} | {' | '.join(marked)} |")
        lines.append("")
    lines += [NOTES[table], ""]
    if commands := missing(table, cells):
        lines += ["Missing cells are filled by", "```", *commands, "```", ""]
    return "\n".join(lines)


def missing(table: str, cells: Iterable[Cell]) -> list[str]:
    """One line a protocol and dataset that fills every gap."""
    gaps: dict[tuple[str, str, str], tuple[set[str], set[float]]] = {}
    for cell in cells:
        for protocol in PROTOCOLS:
            if cell.table == table and not cell.ours[protocol].values:
                mechanisms, epsilons = gaps.setdefault(
                    (protocol, cell.dataset, cell.embedding), (set(), set())
                )
                mechanisms.add(cell.mechanism)
                epsilons |= {cell.epsilon} - {INF}
    lines = []
    for (protocol, dataset, embedding), (mechanisms, epsilons) in gaps.items():
        order = [m for m in ("none", *MECHANISMS) if m in mechanisms]
        line = keys(table, protocol, dataset, embedding, order, epsilons)
        lines.append(f"python run.py -m {line}")
    return lines


def latex(table: str, cells: Sequence[Cell], sizes: dict[str, str]) -> str:
    """A booktabs table; needs \\usepackage{booktabs,graphicx}."""
    title, _, _, _ = TABLES[table]
    lines = [
        r"\begin{table*}[t]",
        rf"\setcounter{{table}}{{{int(table[-1]) - 1}}}% the paper's number",
        rf"\caption{{{_tex(title)}: published numbers and ours.}}",
    ]
    for block in blocks(table, cells, sizes):
        span = (len(block.columns) - 1) // len(MECHANISMS)
        groups = " & ".join(
            rf"\multicolumn{{{span}}}{{c}}{{{name}}}" for name in MECHANISMS.values()
        )
        ranges = "".join(
            rf"\cmidrule(lr){{{3 + i * span}-{2 + (i + 1) * span}}}" for i in range(len(MECHANISMS))
        )
        lines += [
            r"\resizebox{\textwidth}{!}{%",
            rf"\begin{{tabular}}{{l{'r' * len(block.columns)}}}",
            r"\toprule",
            rf"{_tex(block.dataset.capitalize())} & Original & {groups} \\ {ranges}",
            r"$\epsilon$ & $\infty$ & "
            + " & ".join(f"{e:g}" for _, e in block.columns[1:])
            + r" \\",
            r"\midrule",
        ]
        for label, texts, bold in block.rows:
            marked = [
                rf"\textbf{{{_tex(t)}}}" if i in bold else _tex(t) for i, t in enumerate(texts)
            ]
            lines.append(rf"{_tex(label)} & {' & '.join(marked)} \\")
        lines += [r"\bottomrule", r"\end{tabular}}\par\medskip"]
    return "\n".join([*lines, r"\end{table*}", ""])


def head(mechanism: str, epsilon: float) -> str:
    return "Original ∞" if mechanism == "none" else f"{MECHANISMS[mechanism]} {epsilon:g}"


TEX = {
    "%": r"\%",
    "_": r"\_",
    r"N\_w": "$N_w$",
    "&": r"\&",
    "`": "",
    "ε": r"$\epsilon$",
    "δ": r"$\delta$",
    "±": r"$\pm$",
    "∞": r"$\infty$",
    "<": "$<$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "–": "--",
    "10⁻⁶": "$10^{-6}$",
}


def _tex(text: str) -> str:
    text = re.sub(r"^1e(-?\d+)$", r"$10^{\1}$", text)
    text = re.sub(r"^-(?=\d)", "$-$", text)
    for mark, code in TEX.items():
        text = text.replace(mark, code)
    return text


def long_csv(cells: Sequence[Cell], to: Path) -> None:
    """One line a published number."""
    with to.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        head = "table dataset embedding mechanism epsilon metric published".split()
        for protocol in PROTOCOLS:
            head += [
                f"{protocol}{end}"
                for end in (
                    "",
                    "_sd",
                    "_seeds",
                    "_difference",
                    "_log10_delta",
                    "_epsilon_1e6",
                    "_fill",
                )
            ]
        writer.writerow(head)
        for cell in cells:
            line: list[Any] = [cell.table, cell.dataset, cell.embedding, cell.mechanism]
            line += [cell.epsilon, cell.metric, cell.published]
            for protocol in PROTOCOLS:
                ours = cell.ours[protocol]
                same_scale = ours.mean is not None and cell.metric != "bleu"
                line += [ours.mean, ours.deviation, len(ours.values)]
                line.append(ours.mean - cell.published if same_scale else None)  # type: ignore[operator]
                line += [cell.log10_delta[protocol], cell.epsilon_1e6[protocol]]
                line.append(None if ours.values else cell.fill(protocol))
            writer.writerow(line)


# Table 4 as printed: average length, training and test sizes (negative / positive where given)
TABLE4 = {
    "yahoo": (181, (8539, 8673), (2174, 2189)),
    "yelp": (19, (3610, 3310), (909, 912)),
    "sst2": (10, (24214, 30362), (5994, 7651)),
    "agnews": (40, (20000,), (4000,)),
}
SLIPS = (
    "The Yelp row (3610/3310, 909/912, 19 tokens) is the SST-2 sentence split (6,920 / 1,821) to the digit.",
    "The text gives Yelp 8,539 / 2,174, which are the first numbers of the Yahoo row.",
)


def table4(results: "pd.DataFrame") -> Plain:
    """Dataset sizes as printed, and those of the corpora that were run."""
    rows = []
    for name, (length, train, test) in TABLE4.items():
        printed = f"{length}, {'/'.join(map(str, train))}, {'/'.join(map(str, test))}"
        rows.append([name, printed, _measured(results, name)])
    rows.append(["sst2_sentence", "–", _measured(results, "sst2_sentence")])
    heads = ["dataset", "printed: tokens, train, test"]
    heads.append("ours: tokens a test sentence, train + validation, test")
    return Plain("Table 4: the data", heads, rows, list(SLIPS))


def _measured(results: "pd.DataFrame", dataset: str) -> str:
    """Of the largest run on that dataset."""
    own = [] if results.empty else list(results[results.dataset == dataset].result)
    if not own:
        return f"missing: `python run.py dataset={dataset} stages=[privatize] mechanism=none`"
    details = max((r["details"] for r in own), key=lambda d: sum(d["sizes"].values()))
    sizes, counts = details["sizes"], details["privatize"]
    length = "–"
    if counts:
        length = f"{counts['test']['tokens'] / max(1, counts['test']['sentences']):.1f}"
    return f"{length}, {sizes['train'] + sizes['validation']:,}, {sizes['test']:,}"
