"""All metrics of one text, with their intervals."""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress

from trlap.config.places import hidden
from trlap.errors import TrlapError
from trlap.metrics import _bootstrap
from trlap.metrics.base import NOT_ASKED, REWRITTEN, Measure, Scene, TextMetric, Texts
from trlap.metrics.registry import METRICS, text_metrics
from trlap.runs.records import Json
from trlap.runs.result import Interval, Scores


def measure(texts: Texts, scene: Scene, seed: int = 0) -> Scores:
    """Compare each candidate with its original. A metric without a value has its reason.

    Metrics of ours that are not among `metrics.names` are null; those of other packages are left out.
    All share the resamples of `metrics.bootstrap`, which depend on `seed` and the number of sentences
    only. Where a protocol is the authors' (it says `first_lines`), the rewritten text has `as_released` too.
    """
    names = scene.config.names
    metrics = text_metrics(texts.kind, names)
    if not texts.originals:
        reasons = {metric.name: "no sentences to compare" for metric in metrics}
        return Scores(dict.fromkeys(reasons), {}, {"sentences": 0}, reasons)

    asked = [metric for metric in metrics if metric.name in names]
    measures, failed = _measures(asked, texts, scene)
    whole = {name: _number(name, known) for name, known in measures.items()}
    reasons = {
        metric.name: failed.get(metric.name, NOT_ASKED)
        for metric in metrics
        if metric.name not in measures
    }
    details = _sizes(texts)
    provenance: dict[str, Json] = {}
    for name, known in measures.items():
        details |= {f"{name}_{key}": item for key, item in known.details.items()}
        provenance |= {name: known.provenance} if known.provenance else {}

    intervals: dict[str, Interval] = {}
    resamples = scene.config.bootstrap
    if resamples:
        provenance["intervals"] = _bootstrap.provenance(resamples, seed)
        intervals = _bootstrap.intervals(measures, resamples, seed)
        for name, ends in intervals.items():
            if not all(map(math.isfinite, ends)):
                raise _wrong(name, "an interval that is no two numbers")
    values = {metric.name: whole.get(metric.name) for metric in metrics}
    released: dict[str, float | None] = {}
    if scene.first_lines is not None and texts.kind == REWRITTEN:
        released = _as_released(metrics, names, texts, scene)
    return Scores(values, intervals, details, reasons, provenance, released)


def _measures(
    metrics: Iterable[TextMetric], texts: Texts, scene: Scene
) -> tuple[dict[str, Measure], dict[str, str]]:
    """What could be measured, and of the others why not."""
    measures, reasons = {}, {}
    for metric in metrics:
        try:
            measures[metric.name] = metric.measure(texts, scene)
        except TrlapError as error:
            reasons[metric.name] = hidden(str(error))
    return measures, reasons


def _number(name: str, known: Measure) -> float:
    """The value of the whole text, which must be a number: one line that names who gave another thing."""
    try:
        value = known.whole
    except (TypeError, ValueError) as error:
        raise _wrong(name, f"no number ({error})") from error
    if not math.isfinite(value):
        raise _wrong(name, f"{value:g}")
    return value


def _wrong(name: str, what: str) -> TrlapError:
    package = METRICS.version(name) if name in METRICS.foreign else "trlap"
    return TrlapError(f"metrics.names: {name}, of the package {package}, gave {what}; leave it out")


def _sizes(texts: Texts) -> dict[str, Json]:
    originals, candidates = texts.original_words, texts.candidate_words
    return {
        "sentences": len(originals),
        "original_words": sum(map(len, originals)),
        "candidate_words": sum(map(len, candidates)),
        "empty_originals": sum(not words for words in originals),
        "empty_candidates": sum(not words for words in candidates),
    }


def _as_released(
    metrics: Sequence[TextMetric], names: Sequence[str], texts: Texts, scene: Scene
) -> dict[str, float | None]:
    """What the authors' code computes; null where a metric was not asked for or cannot be computed."""
    computed: dict[str, float | None] = {}
    for metric in metrics:
        if metric.released is None:
            continue
        computed[metric.name] = None
        if metric.name in names:
            with suppress(TrlapError):
                computed[metric.name] = metric.as_released(texts, scene)
    return computed
