"""Finished runs as one table: what the report is made of, and what `trlap.load_results` returns."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trlap.errors import TrlapError
from trlap.files import file_sha256, jsonable, write_text
from trlap.metrics.registry import in_block, in_order
from trlap.report import groups, looks
from trlap.report.plain import without_nulls, without_paths
from trlap.runs.cell import read_status
from trlap.runs.records import Json
from trlap.runs.result import (
    Classified,
    ClassifierRun,
    Details,
    Epoch,
    Provenance,
    RunResult,
    Scores,
    StageProvenance,
    Trained,
    from_text,
    to_json,
)
from trlap.runs.result import read as read_result

if TYPE_CHECKING:
    import pandas as pd

# what one cell may differ in from another of the same table
VARIED = ("protocol", "dataset", "embedding", "mechanism", "epsilon", "seed")
SPLITS = ("train", "validation", "test")
# details of a metric that say what can be reached without reading a word
FLOORS = ("_best_constant", "_length_alone")


def load_results(*places: str | Path) -> "pd.DataFrame":
    """One row a finished cell, from folders of runs or from collected rows; by default from `outputs`.

    Metrics of the rewritten text and of the classifier have their own names, those of the private text
    begin with `private_`. `epsilon_1e6` is the exact ε at δ = 10⁻⁶ for one word, `log10_delta` the exact
    δ at the nominal ε. `data` stands for the text that was read, `setup` for that and the rewriter,
    `noise` for the mechanism's settings but ε: cells that differ there are not to be compared. `result` is
    the whole of result.json, a `trlap.runs.result.RunResult`.
    """
    import pandas as pd

    results = list(read(places or ("outputs",)))
    if not results:
        return pd.DataFrame(columns=["name", *VARIED])
    rewritten = _names("metrics", (result.metrics for result in results))
    private = _names("private_metrics", (result.private_metrics for result in results))
    return pd.DataFrame([_row(result, rewritten, private) for result in results])


def read(places: Iterable[str | Path]) -> Iterator[RunResult]:
    """Finished results, each cell once; where two places have it, the first counts."""
    seen = set()
    for place in map(Path, places):
        for result in _read(place):
            if result.status == "ok" and result.name not in seen:
                seen.add(result.name)
                yield result


def _read(place: Path) -> Iterator[RunResult]:
    """From a folder of runs, a folder of collected rows or one file of them.

    What cannot be read is said and left out, so that one bad file does not cost the report.
    """
    for path in sorted(place.glob("*/result.json")):
        try:
            run = read_result(path)
            digest = read_status(path.parent).result
            if digest is not None and digest != file_sha256(path):
                raise TrlapError(f"{path}: not as the run wrote it; give its command again")
            yield run
        except TrlapError as error:
            print(f"warning: left out: {error}", file=sys.stderr)
    files = [place] if place.is_file() else sorted(place.glob("*.jsonl"))
    for path in files:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield from_text(line)
                except TrlapError as error:
                    print(f"warning: left out: {path}, line {number}: {error}", file=sys.stderr)


def collect(results: Iterable[RunResult], file: Path) -> int:
    """Write results as rows of one file that is small enough to commit. Returns how many."""
    rows = [
        without_nulls(jsonable(to_json(short(result))))
        for result in sorted(results, key=lambda result: result.name)
    ]
    lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    write_text(file, "".join(line + "\n" for line in lines))
    return len(rows)


# ----------------------------------------------------------------------------------- a result to commit


def short(result: RunResult) -> RunResult:
    """A result without what no reader of many results asks for, and without a path of its machine.

    Left out are versions, logs of training, confusion matrices, what is null and why, all examples but
    the first, and settings of stages that did not run. Tables, figures and claims made from short results
    are those made from whole ones.
    """
    details, provenance = result.details, result.provenance
    return replace(
        result,
        metrics=_short_scores(result.metrics),
        private_metrics=_short_scores(result.private_metrics),
        details=Details(
            sizes=details.sizes,
            examples=details.examples[:1],
            privatize=_pick(details.privatize, ("test",)),
            rewrite=_short_training(details.rewrite),
            classify=_short_classification(details.classify),
        ),
        versions={},
        provenance=Provenance(
            command=without_paths(provenance.command),
            dataset=without_paths(_pick(provenance.dataset, ("source",))),
            embedding=without_paths(_pick(provenance.embedding, ("source", "sha256"))),
            device=provenance.device,
            threads=provenance.threads,
            git=without_paths(provenance.git),
            config=groups.short_config(result),
            stages=_short_stages(provenance),
        ),
        folder=None,
    )


def _short_stages(provenance: Provenance) -> dict[str, StageProvenance]:
    """Where each stage was computed, if that cannot be said of all of them at once."""
    if None not in (provenance.device, provenance.threads, provenance.git):
        return {}
    return {
        name: replace(stage, versions={}, git=without_paths(stage.git))
        for name, stage in provenance.stages.items()
    }


def _short_scores(scores: Scores) -> Scores:
    """Values, intervals, floors, and which version of a metric it was."""
    versions = {
        name: _pick(about, ("signature", "hash")) for name, about in scores.provenance.items()
    }
    return Scores(
        values=without_nulls(scores.values),
        intervals=scores.intervals,
        details=without_nulls(
            {name: value for name, value in scores.details.items() if name.endswith(FLOORS)}
        ),
        provenance={name: about for name, about in versions.items() if about},
        as_released=without_nulls(scores.as_released),
    )


def _short_training(trained: Trained | None) -> Trained | None:
    if trained is None:
        return None
    history = [Epoch(seconds=epoch.seconds) for epoch in trained.history]
    return Trained(precision=trained.precision, history=history)


def _short_classification(classified: Classified | None) -> Classified | None:
    if classified is None:
        return None
    return Classified(
        accuracy=classified.accuracy,
        inputs=classified.inputs,
        deviation=classified.deviation,
        macro_f1=classified.macro_f1,
        majority=classified.majority,
        runs=[
            ClassifierRun(
                seed=run.seed,
                epochs=run.epochs,
                validation_accuracy=run.validation_accuracy,
                accuracy=run.accuracy,
            )
            for run in classified.runs
        ],
    )


def _pick(mapping: Mapping[str, Json], keys: Iterable[str]) -> dict[str, Json]:
    return {key: mapping[key] for key in keys if key in mapping}


# ------------------------------------------------------------------------------------------ a row of all


def _names(block: str, every: Iterable[Scores]) -> list[str]:
    """Metrics of that block of results: all of ours, then what else the results have."""
    ours = [metric.name for metric in in_block(block)]
    others = [name for scores in every for name in scores.values]
    return [metric.name for metric in in_order([*ours, *others])]


def _row(result: RunResult, rewritten: Iterable[str], private: Iterable[str]) -> dict[str, Json]:
    settings, guarantee = result.settings, result.guarantee
    calibrated = looks.appearance(result.mechanism).calibrated
    return {
        "name": result.name,
        "protocol": result.protocol,
        "dataset": result.dataset,
        "embedding": result.embedding,
        "mechanism": result.mechanism,
        "epsilon": result.epsilon,
        "seed": result.seed,
        "calibration": settings.calibration if calibrated else None,
        "delta": settings.delta,
        "clip": settings.clip,
        "projection": settings.projection,
        **{name: result.metrics.value(name) for name in rewritten},
        **{f"private_{name}": result.private_metrics.value(name) for name in private},
        "holds": guarantee.holds,
        "claimed_log10_delta": guarantee.claimed.log10_delta,
        "log10_delta": guarantee.exact.log10_delta,
        "epsilon_1e6": guarantee.exact.epsilon_at_delta_1e6,
        "epoch_seconds": epoch_seconds(result),
        "seconds": sum(result.seconds.values()),
        "data": groups.data(result),
        "setup": groups.setup(result),
        "noise": groups.noise(result),
        "size": size(result),
        "command": result.provenance.command or "python run.py",
        "result": result,
    }


def noisy(rows: "pd.DataFrame") -> "pd.Series[bool]":
    """For each row of results, whether there was a mechanism at all."""
    return rows.result.map(lambda result: result.noisy).astype(bool)


def yours(rows: "pd.DataFrame") -> "pd.Series[bool]":
    """For each row, whether it is the reader's: read from a run's own folder, among collected ones.

    Where all are of one kind there is nothing to tell apart, and none is marked.
    """
    own = rows.result.map(lambda result: result.folder is not None).astype(bool)
    return own & (not own.all())


def epoch_seconds(result: RunResult) -> float | None:
    """Of an epoch of the rewriter: the median, which a busy machine moves least."""
    history = result.details.rewrite.history if result.details.rewrite else []
    seconds = sorted(epoch.seconds for epoch in history if epoch.seconds is not None)
    return seconds[len(seconds) // 2] if seconds else None


def size(result: RunResult) -> str:
    """Data and rewriter in words, for a reader."""
    settings, sizes = result.settings, result.details.sizes
    parts = [" / ".join(f"{sizes[split]:,}" for split in SPLITS)]
    if settings.dataset.max_words:
        parts.append(f"≤ {settings.dataset.max_words} words")
    if settings.model is not None and result.details.rewrite is not None:
        epochs = settings.model.epochs
        parts.append(settings.model.name)
        parts += [] if epochs is None else [f"{epochs} epochs"]
    return ", ".join(parts)
