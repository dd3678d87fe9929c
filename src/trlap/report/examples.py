"""Figures 1 and 6: one sentence under each mechanism, with the words that changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trlap.runs.result import RunResult

if TYPE_CHECKING:
    import pandas as pd

# sentences that a report shows, those with most mechanisms first
MOST = 4


@dataclass(frozen=True)
class Word:
    text: str
    changed: bool


@dataclass(frozen=True)
class Line:
    """The sentence under one mechanism."""

    label: str
    words: list[Word]


@dataclass(frozen=True)
class Example:
    title: str
    original: str
    lines: list[Line]


def sentences(results: "pd.DataFrame", budget: float = 0.1) -> list[Example]:
    """The first sentence that runs show, under each mechanism at the ε nearest to the paper's."""
    runs_of: dict[tuple[str, str, str, str], list[RunResult]] = {}
    for result in [] if results.empty else results.result:
        for example in result.details.examples[:1]:
            key = (result.dataset, result.embedding, result.protocol, example.original)
            runs_of.setdefault(key, []).append(result)
    examples = []
    for (dataset, embedding, protocol, original), runs in runs_of.items():
        runs.sort(key=lambda run: (run.noisy, run.mechanism, abs(run.epsilon - budget)))
        nearest: dict[str, RunResult] = {}
        for run in runs:
            nearest.setdefault(run.mechanism, run)
        if len(nearest) > 1:
            title = f"{dataset}, {embedding}, protocol {protocol}"
            lines = [line for run in nearest.values() for line in _lines(run)]
            examples.append(Example(title, original, lines))
    return sorted(examples, key=lambda example: -len(example.lines))[:MOST]


def _lines(run: RunResult) -> Iterator[Line]:
    """What the run shows of its first sentence: the private text, and the rewritten one."""
    example = run.details.examples[0]
    label = f"{run.mechanism}, ε = {run.epsilon:g}" if run.noisy else run.mechanism
    if example.private is not None:
        yield Line(label, changes(example.original, example.private))
    if example.rewritten is not None:
        yield Line(f"{label}, rewritten", changes(example.original, example.rewritten))


def changes(original: str, text: str) -> list[Word]:
    """Words of a text, and whether the original has another one there."""
    before = original.split(" ")
    return [
        Word(word, place >= len(before) or word != before[place])
        for place, word in enumerate(text.split(" "))
    ]
