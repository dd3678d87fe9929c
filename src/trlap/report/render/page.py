"""index.html: the whole report as one page that needs no network, with every run to look at."""

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from trlap.config.ranges import is_name
from trlap.files import jsonable
from trlap.metrics.base import REWRITTEN, Metric
from trlap.metrics.registry import in_order
from trlap.report import groups
from trlap.report.cells import Cell
from trlap.report.examples import begin_with, offered
from trlap.report.looks import appearance
from trlap.report.numbers import UNKNOWN, show_epsilon
from trlap.report.plain import without_nulls, without_paths
from trlap.report.published import ORIGINAL, TABLES, PaperTable
from trlap.report.tables import Block, blocks, missing
from trlap.runs import records
from trlap.runs.records import Json
from trlap.runs.result import RunResult

if TYPE_CHECKING:
    from trlap.report.gallery import Drawing
    from trlap.report.material import Material

# what stands before the name of a metric of the private words
PRIVATE = "private_"
# names of columns that a reader knows at once
TITLES = {"private_n_w": "kept"}
# metrics that the table leaves out, for its width
OWN, STUDY = "yours", "study"
# what is shown of the reader's own runs before all else
OWN_COLUMNS = ("mechanism", "epsilon", "epsilon_1e6", "holds", "dataset", "private_n_w", "accuracy")
LEFT_OUT = ("bleu", "private_rouge1", "private_bleu", "private_bertscore")


@dataclass(frozen=True)
class Column:
    """A column of the table of runs. `digits`: behind the point, or "ε" for three that count."""

    key: str
    title: str
    digits: int | str | None = None


@dataclass(frozen=True)
class Picture:
    """A figure for light and for dark pages."""

    name: str
    caption: str
    data: str
    dark: str


@dataclass(frozen=True)
class PageLine:
    """`kind` is what the page's style knows it by; a cell is its text and whether it is bold."""

    label: str
    kind: str
    cells: list[tuple[str, bool]]


@dataclass(frozen=True)
class PageGrid:
    """Some columns of a table: mechanisms with how many columns each has, then their ε. `first`: the places
    at which a mechanism begins.
    """

    groups: list[tuple[str, int]]
    epsilons: list[str]
    first: set[int]
    lines: list[PageLine]


@dataclass(frozen=True)
class PageBlock:
    """What was run of a dataset, and what was not."""

    dataset: str
    size: str | None
    run: PageGrid | None
    rest: PageGrid | None


@dataclass(frozen=True)
class PageTable:
    number: int
    title: str
    note: str
    missing: list[str]
    blocks: list[PageBlock]

    @property
    def run(self) -> bool:
        """Whether any cell of it was run."""
        return any(block.size for block in self.blocks)


def render(material: "Material", drawn: Sequence["Drawing"], folder: Path) -> str:
    """The page; figures are in `folder` already, and runs beside it are linked."""
    from jinja2 import Environment
    from markupsafe import Markup

    runs = _runs(material, folder)
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return (
        Environment(autoescape=True)
        .from_string(template)
        .render(
            runs=runs,
            own=[run for run in runs if run["whose"] == OWN],
            own_columns=[column for column in columns(material) if column.key in OWN_COLUMNS],
            show=_show,
            made=date.today().isoformat(),
            claims=material.verdicts,
            figures=[_picture(drawing, folder) for drawing in drawn],
            tables=[_table(table, material.cells, material.sizes) for table in TABLES],
            further=material.text_tables,
            examples=material.examples,
            budgets=offered(material.examples),
            chosen=begin_with(material.examples),
            data=Markup(_script(runs)),
            columns=Markup(_script(columns(material))),
        )
    )


# What could end a script or begin a comment in it, and what JavaScript takes for an end of line.
ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def _script(value: Json) -> str:
    """JSON inside a page: no text from a run can be taken for markup, and read back it is the same."""
    return json.dumps(jsonable(value), ensure_ascii=False).translate(ESCAPES)


def _picture(drawing: "Drawing", folder: Path) -> Picture:
    light, dark = (
        base64.b64encode((folder / f"{drawing.name}{end}.svg").read_bytes()).decode()
        for end in ("", "-dark")
    )
    return Picture(drawing.name, drawing.caption, light, dark)


# ---------------------------------------------------------------------------------------------- all runs


def columns(material: "Material") -> list[Column]:
    """What the table of runs shows: settings, guarantee, the private words, classifier, rewritten text."""
    results = [] if material.results.empty else list(material.results.result)
    private = _metrics((run.private_metrics.values for run in results), PRIVATE)
    rest = _metrics((run.metrics.values for run in results), "")
    learned = [column for column in rest if column.key == "accuracy"]
    return [
        *([Column("whose", "whose")] if material.own else []),
        Column("mechanism", "mechanism"),
        Column("epsilon", "ε", "ε"),
        Column("epsilon_1e6", "exact ε", "ε"),
        Column("holds", "holds"),
        Column("protocol", "protocol"),
        Column("dataset", "dataset"),
        Column("embedding", "vectors"),
        Column("train", "train"),
        *private,
        *learned,
        Column("reads", "classifier reads"),
        *(column for column in rest if column not in learned),
    ]


def _metrics(every: Iterable[dict[str, float | None]], prefix: str) -> list[Column]:
    names = {name for values in every for name in values if prefix + name not in LEFT_OUT}
    return [
        Column(prefix + metric.name, _title(metric, prefix), metric.summary_digits)
        for metric in in_order(names)
    ]


def _title(metric: Metric, prefix: str) -> str:
    """A metric that both texts have is told apart by its title."""
    if prefix + metric.name in TITLES:
        return TITLES[prefix + metric.name]
    return f"{metric.label}, private" if prefix and REWRITTEN in metric.texts else metric.label


def _runs(material: "Material", folder: Path) -> list[dict[str, Json]]:
    shown = [
        column.key for column in columns(material) if column.key not in ("whose", "train", "reads")
    ]
    runs = []
    for row in material.results.to_dict("records"):
        result: RunResult = row["result"]
        # pandas has NaN where a metric is null
        known = {key: None if row[key] != row[key] else row[key] for key in shown}
        runs.append(
            {"name": result.name, "size": row["size"], "command": without_paths(row["command"])}
            | known
            | {
                "whose": OWN if result.name in material.own else STUDY,
                "examples": records.to_json(result.details.examples),
                "guarantee": without_nulls(records.to_json(result.guarantee)),
                "let_through": _let_through(result),
                "config": groups.short_config(result),
                "reads": reads(result),
                "train": result.details.sizes["train"],
                "folder": _link(result.name, folder),
            }
        )
    return runs


def _let_through(result: RunResult) -> str | None:
    """Why a promise does not hold that lets unknown words through, with how many it did."""
    unknown = result.guarantee.let_through
    return None if unknown is None else unknown.reason


def _show(column: Column, run: dict[str, Json]) -> str:
    """A number of a run as its column has it."""
    value = run[column.key]
    if value is None:
        return UNKNOWN
    if column.key == "holds":
        return "yes" if value else "no (oov=keep)" if run["let_through"] else "no"
    if column.digits == "ε":
        return show_epsilon(value)
    return f"{value:.{column.digits}f}" if isinstance(column.digits, int) else str(value)


def _link(name: str, folder: Path) -> str | None:
    """To the run's folder beside the report's. Rows of a stranger may have any name: none leads elsewhere."""
    return f"../{name}/" if is_name(name) and (folder.parent / name).is_dir() else None


def reads(result: RunResult) -> str | None:
    """What the classifier was trained and tested on, if there was one."""
    if result.details.classify is None:
        return None
    inputs = result.details.classify.inputs
    undone = "" if inputs.debias == "none" else f", {inputs.debias}"
    return f"{inputs.train_on} → {inputs.test_on}{undone}"


# ------------------------------------------------------------------------------------- the paper's tables


def _table(table: PaperTable, cells: Sequence[Cell], sizes: dict[str, str]) -> PageTable:
    return PageTable(
        table.number,
        table.title,
        table.note,
        missing(table, cells),
        [_block(block) for block in blocks(table, cells, sizes)],
    )


def _block(block: Block) -> PageBlock:
    run, rest = (_grid(block.part(part)) if part else None for part in (block.run, block.rest))
    return PageBlock(block.dataset, block.size, run, rest)


def _grid(block: Block) -> PageGrid:
    styles = {"published": "published", "difference": "quiet"}
    groups: list[tuple[str, int]] = []
    first = set()
    for place, column in enumerate(block.columns):
        label = "Original" if column == ORIGINAL else appearance(column[0]).label
        if groups and groups[-1][0] == label:
            groups[-1] = (label, groups[-1][1] + 1)
        else:
            groups.append((label, 1))
            first.add(place)
    return PageGrid(
        groups,
        [show_epsilon(epsilon) for _, epsilon in block.columns],
        first,
        [
            PageLine(
                line.label.replace("`", ""),
                styles.get(line.kind, ""),
                [(text, place in line.bold) for place, text in enumerate(line.texts)],
            )
            for line in block.lines
        ],
    )
