"""Figures 1 and 6: one sentence under each mechanism, with the words that changed, at an ε that one chooses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trlap.mechanisms.registry import look
from trlap.report.looks import appearance
from trlap.report.numbers import show_epsilon
from trlap.report.results import noisy, yours
from trlap.runs.result import RunResult

if TYPE_CHECKING:
    import pandas as pd

# What a report offers: the paper's own ε, and those at which words begin to survive.
OFFERED = (0.1, 3.0, 5.0, 8.0, 10.0)
# sentences of collected rows that a report shows, those with most mechanisms first
MOST = 4
BEGIN = 8.0


@dataclass(frozen=True)
class Word:
    text: str
    changed: bool


@dataclass(frozen=True)
class Line:
    """The sentence under one mechanism; `holds`: whether that keeps what its authors promise."""

    label: str
    words: list[Word]
    holds: bool | None = None
    rewritten: bool = False


@dataclass(frozen=True)
class Budget:
    """One ε, as a number and as it is written."""

    epsilon: float
    lines: list[Line]

    @property
    def text(self) -> str:
        return show_epsilon(self.epsilon)


@dataclass(frozen=True)
class Example:
    """A sentence at every ε that is offered and was run; `yours`, if a run of the reader's shows it."""

    title: str
    original: str
    budgets: list[Budget]
    yours: bool

    @property
    def lines(self) -> int:
        return sum(len(budget.lines) for budget in self.budgets)


def sentences(results: "pd.DataFrame") -> list[Example]:
    """The first sentence that runs show, by ε and mechanism; the reader's own first, at any ε."""
    if results.empty:
        return []
    examples = []
    with_examples = results.result.map(lambda result: bool(result.details.examples))
    shown = results.assign(yours=yours(results))[with_examples & noisy(results)]
    shown = shown.assign(original=[run.details.examples[0].original for run in shown.result])
    usual = shown.epsilon.isin(OFFERED)
    if usual.any():
        shown = shown[usual | shown.yours]
    keys = ["yours", "dataset", "embedding", "protocol", "original"]
    for (own, dataset, embedding, protocol, original), rows in shown.groupby(keys):
        budgets = [
            Budget(epsilon, list(_lines(part.result))) for epsilon, part in rows.groupby("epsilon")
        ]
        title = f"{dataset}, {embedding}, protocol {protocol}"
        examples.append(Example(title, original, budgets, bool(own)))
    examples.sort(key=lambda example: (-len(example.budgets), -example.lines, example.title))
    of_the_study = [example for example in examples if not example.yours]
    return [example for example in examples if example.yours] + of_the_study[:MOST]


def offered(examples: list[Example]) -> list[Budget]:
    """Every ε to choose from, each once, in the order of numbers."""
    every = {budget.epsilon for example in examples for budget in example.budgets}
    return [Budget(epsilon, []) for epsilon in sorted(every)]


def begin_with(examples: list[Example]) -> float | None:
    """The ε to begin with: the reader's own, or one at which words survive."""
    own = [budget.epsilon for example in examples if example.yours for budget in example.budgets]
    every = [budget.epsilon for budget in offered(examples)]
    if own:
        return min(own)
    return BEGIN if BEGIN in every else min(every, default=None)


def _lines(runs: "pd.Series[RunResult]") -> Iterator[Line]:
    """What runs at one ε show of their first sentence: the private text, and the rewritten one.

    Runs that differ in what the text does not show (a classifier, say) are one line.
    """
    seen = set()
    for run in sorted(runs, key=_order):
        example = run.details.examples[0]
        exact = run.settings.calibration == "exact" and appearance(run.mechanism).calibrated
        label = f"{run.mechanism}, least noise" if exact else run.mechanism
        if run.guarantee.let_through is not None:
            label += ", unknown words let through"
        for text, rewritten in ((example.private, False), (example.rewritten, True)):
            if text is not None and (label, text) not in seen:
                seen.add((label, text))
                words = changes(example.original, text)
                yield Line(label, words, run.guarantee.holds, rewritten)


def _order(run: RunResult) -> tuple[int, str, bool, str]:
    """As legends have mechanisms; of one, first what its authors published."""
    exact = run.settings.calibration == "exact"
    return look(run.mechanism).order, run.mechanism, exact, run.name


def changes(original: str, text: str) -> list[Word]:
    """Words of a text, and whether the original has another one there."""
    before = original.split(" ")
    return [
        Word(word, place >= len(before) or word != before[place])
        for place, word in enumerate(text.split(" "))
    ]
