"""What private texts teach at a budget of the whole text, beside what public texts teach without one.

All lines of a panel have the same halves of the training split, the same test texts and the same classifier;
they differ in what was published of the private half. Means are over splits (`dataset.seed`).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from trlap.report.groups import of_documents as of_documents
from trlap.report.looks import in_order
from trlap.report.numbers import UNKNOWN, show_epsilon
from trlap.report.tables import TextTable
from trlap.runs.result import Classified, RunResult

if TYPE_CHECKING:
    import pandas as pd

# how much of a text answers, in the order of legends
WHOLE, SOME, EVERY = "whole text", "one word", "every word"
ANSWERS = (WHOLE, SOME, EVERY)


@dataclass(frozen=True)
class Taught:
    """One run. `epsilon` is that of a document, of the median length where every word answers (composed, at
    δ = 10⁻⁶); ∞: nothing is protected, 0: no private text was read. `asked`: the ε that was asked for, of a
    document or of a word.
    """

    dataset: str
    mechanism: str
    # how much of a text; None: no text answers
    answers: str | None
    name: str
    asked: float
    epsilon: float
    accuracy: float
    majority: float | None
    split: int


@dataclass(frozen=True)
class Point:
    """The mean and the range over splits."""

    asked: float
    epsilon: float
    mean: float
    low: float
    high: float
    splits: int


@dataclass(frozen=True)
class Line:
    """Of one mechanism with growing budgets; a level has one point, at ∞ or 0."""

    name: str
    mechanism: str
    answers: str | None
    points: list[Point]

    @property
    def level(self) -> bool:
        return self.answers is None


@dataclass(frozen=True)
class Panel:
    dataset: str
    lines: list[Line]
    majority: float | None

    @property
    def levels(self) -> list[Line]:
        """What needs no budget, the best first."""
        return sorted(
            (line for line in self.lines if line.level), key=lambda line: -line.points[0].mean
        )

    @property
    def budgets(self) -> list[Line]:
        return [line for line in self.lines if not line.level]


def taught(results: "pd.DataFrame") -> list[Taught]:
    """Runs that learned from documents, tested on originals."""
    found = []
    for result in [] if results.empty else results.result:
        classified = result.details.classify
        if of_documents(result) and classified is not None and _compared(result, classified):
            found.append(_taught(result, classified))
    return found


def _compared(result: RunResult, classified: Classified) -> bool:
    """Known noise is undone, the data are all of it, and sets have the sizes that the mechanism chooses itself."""
    settings = result.settings
    chosen = settings.mechanism.keys.get("K") not in (None, "auto")
    return (
        classified.inputs.test_on == "original"
        and not chosen
        and settings.dataset.limit.train is None
    )


def _taught(result: RunResult, classified: Classified) -> Taught:
    answers, name = _name(result, classified)
    config = result.provenance.config
    return Taught(
        dataset=result.dataset,
        mechanism=result.mechanism,
        answers=answers,
        name=name,
        asked=result.epsilon,
        epsilon=_epsilon(result, classified),
        accuracy=classified.accuracy,
        majority=classified.majority,
        split=int((config.get("dataset") or {}).get("seed") or 0),
    )


def _name(result: RunResult, classified: Classified) -> tuple[str | None, str]:
    """How much of a private text answers, and what the line is called."""
    config, classifier = result.provenance.config, result.settings.classifier
    learner = "" if classifier is None or classifier.name == "ridge" else f", {classifier.name}"
    if classified.inputs.train_on == "public":
        labels = (config.get("classify") or {}).get("public_labels")
        return None, f"public half, {'all' if labels is None else labels} labels{learner}"
    if not result.noisy:
        return None, f"private half as it is{learner}"
    if result.unit == "word":
        return EVERY, f"{result.mechanism}, every word{learner}"
    words = config.get("words", 1)
    if "encoder" in result.settings.mechanism.keys:
        covered = ", labels too" if config.get("label") == "private" else ""
        return WHOLE, f"{result.mechanism}{covered}{learner}"
    return SOME, f"{result.mechanism}, {'one word' if words == 1 else f'{words} words'}{learner}"


def _epsilon(result: RunResult, classified: Classified) -> float:
    """Of a document, as far as one is known."""
    if classified.inputs.train_on == "public":
        return 0.0
    if result.unit == "document":
        exact = result.guarantee.exact.epsilon
        return math.inf if exact is None else exact
    document = result.guarantee.document
    composed = None if document is None else document.median.loss_distribution
    return math.inf if composed is None else composed.epsilon


def panels(rows: Sequence[Taught]) -> list[Panel]:
    """One for each dataset; a line for each name, its points by the ε that was asked for."""
    made = []
    for dataset in sorted({row.dataset for row in rows}):
        own = [row for row in rows if row.dataset == dataset]
        by_name: dict[str, list[Taught]] = defaultdict(list)
        for row in own:
            by_name[row.name].append(row)
        order = {name: place for place, name in enumerate(in_order(row.mechanism for row in own))}
        lines = [_line(part) for part in by_name.values()]
        lines.sort(key=lambda line: (_place(line.answers), order[line.mechanism], line.name))
        known = [
            row.majority for row in own if row.majority is not None and row.answers is not None
        ]
        made.append(Panel(dataset, lines, max(known, default=None)))
    return made


def _place(answers: str | None) -> int:
    return len(ANSWERS) if answers is None else ANSWERS.index(answers)


def _line(rows: Sequence[Taught]) -> Line:
    points = []
    for asked in sorted({row.asked for row in rows}):
        same = [row for row in rows if row.asked == asked]
        values = [row.accuracy for row in same]
        points.append(
            Point(
                asked,
                fmean(row.epsilon for row in same),
                fmean(values),
                min(values),
                max(values),
                len({row.split for row in same}),
            )
        )
    first = rows[0]
    return Line(first.name, first.mechanism, first.answers, points)


def tables(made: Sequence[Panel]) -> list[TextTable]:
    """What needs no budget; what has one of the whole text; what has one of every word."""
    return [table for table in (_levels(made), _budgets(made), _words(made)) if table.rows]


COMMAND = "`python run.py -m experiment=document`"


def _levels(made: Iterable[Panel]) -> TextTable:
    return TextTable(
        "What needs no private answers",
        ["dataset", "learned from", "ε of a text", "accuracy"],
        [
            [panel.dataset, line.name, show_epsilon(line.points[0].epsilon), show(line.points[0])]
            for panel in made
            for line in panel.levels
        ],
        [
            "Accuracy on original test texts: mean and range over splits. ε = 0: no private text is read; ∞: nothing "
            f"is protected. {COMMAND}"
        ],
    )


def _budgets(made: Sequence[Panel]) -> TextTable:
    lines = [
        (panel.dataset, line) for panel in made for line in panel.budgets if line.answers != EVERY
    ]
    every = sorted({point.asked for _, line in lines for point in line.points})
    return TextTable(
        "A budget of the whole text",
        ["dataset", "what answers", *(f"ε = {show_epsilon(epsilon)}" for epsilon in every)],
        [[dataset, line.name, *_shown(line, every)] for dataset, line in lines],
        [f"It holds between any two texts. {COMMAND}"],
    )


def _words(made: Iterable[Panel]) -> TextTable:
    return TextTable(
        "A budget of every word",
        ["dataset", "what answers", "ε of a word", "ε of a text", "accuracy"],
        [
            [
                panel.dataset,
                line.name,
                show_epsilon(point.asked),
                show_epsilon(point.epsilon),
                show(point),
            ]
            for panel in made
            for line in panel.budgets
            if line.answers == EVERY
            for point in line.points
        ],
        [
            "That of a text is composed for the median length, at δ = 10⁻⁶, and holds between texts of equal "
            f"length. {COMMAND}"
        ],
    )


def _shown(line: Line, every: Sequence[float]) -> list[str]:
    points = {point.asked: point for point in line.points}
    return [show(points[epsilon]) if epsilon in points else UNKNOWN for epsilon in every]


def show(point: Point) -> str:
    """The mean, and the range where there are several splits."""
    if point.splits == 1:
        return f"{point.mean:.3f}"
    return f"{point.mean:.3f} ({point.low:.3f} to {point.high:.3f})"
