"""What finished cells took: those of this machine, else those of the study in the repository.

A cell tells how long another of its kind takes. Of one kind are cells that read the same text and do the same
stages with the same settings, whatever their noise and their seed. Nothing is scaled from one size to another.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trlap.errors import TrlapError
from trlap.files import digest, say_once
from trlap.report.groups import STAGES as SETTINGS
from trlap.report.groups import TEXT, VECTORS, select
from trlap.report.plain import with_equal_numbers
from trlap.report.results import read
from trlap.runs import result
from trlap.runs.cell import Cell, read_status
from trlap.runs.records import Json
from trlap.runs.result import RunResult
from trlap.stages import STAGES

SHARED = {stage.name for stage in STAGES if stage.shared}
# the protocol says how often the noise is drawn; a user's file is known by its name
KIND = ("protocol", "stages", "dataset.path", *TEXT, *VECTORS)
# settings that no time depends on, or that are told apart below
ASIDE = ("seed", "metrics")
# an attack that takes a second, so that rows which are older than it tell the time all the same
LIGHT = "which"
# of the bootstrap of every row that has intervals
RESAMPLES = 1000
# in a clone; an installed package has none beside it
STUDY = Path(__file__).resolve().parents[3] / "results" / "study.jsonl"
HERE = "this machine's runs"
COMMITTED = "the committed study (two cores, one thread a cell)"


@dataclass(frozen=True)
class Measured:
    """A finished cell: what its stages took. Of a row of the study nobody knows the bytes."""

    kind: str
    mechanism: str
    seconds: dict[str, float]
    size: int | None


@dataclass(frozen=True)
class Estimate:
    """Seconds and bytes, and whose they are."""

    seconds: float
    size: int | None
    source: str


class Times:
    """Finished cells, read once for a whole plan; the study only where this machine has nothing."""

    def __init__(self, study: Path = STUDY) -> None:
        self._study = study
        self._here: dict[Path, list[Measured]] = {}

    @cached_property
    def committed(self) -> list[Measured]:
        return [_of(run, None) for run in read([self._study])] if self._study.is_file() else []

    def here(self, outputs: Path) -> list[Measured]:
        if outputs not in self._here:
            self._here[outputs] = measured(outputs)
        return self._here[outputs]

    def estimate(self, cell: Cell, done: list[str]) -> Estimate | None:
        """What is left of a cell takes, from cells of its kind; None where none was ever measured."""
        config = cell.config.composed
        own = kind(config, _asked(config["metrics"]))
        alike = [other for other in self.here(cell.outputs) if other.kind == own]
        if alike:
            return _estimate(alike, cell, done, HERE)
        alike = [other for other in self.committed if other.kind == own]
        return _estimate(alike, cell, done, COMMITTED) if alike else None


def _estimate(alike: list[Measured], cell: Cell, done: list[str], source: str) -> Estimate:
    """From cells of the same mechanism where there are any.

    A stage that such a cell found in the cache took next to no time; the longest is the one that worked.
    """
    alike = [other for other in alike if other.mechanism == cell.config.mechanism.name] or alike
    stages = {stage for other in alike for stage in other.seconds} - set(done)
    seconds = sum(max(other.seconds.get(stage, 0) for other in alike) for stage in stages)
    sizes = [other.size for other in alike if other.size is not None]
    return Estimate(seconds, round(statistics.mean(sizes)) if sizes else None, source)


def measured(outputs: Path) -> list[Measured]:
    """The finished cells of a folder."""
    found = []
    for path in outputs.glob("*/result.json"):
        status = read_status(path.parent)
        if status.status != "ok":
            continue
        try:
            run = result.read(path)
        except TrlapError as error:
            say_once(f"not counted: {error}")
            continue
        folders = [
            outputs / "cache" / at for stage, at in status.stages.items() if stage not in SHARED
        ]
        size = sum(_size(folder) for folder in [path.parent, *folders] if folder.is_dir())
        found.append(_of(run, size))
    return found


def _of(run: RunResult, size: int | None) -> Measured:
    own = {stage: seconds for stage, seconds in run.seconds.items() if stage not in SHARED}
    return Measured(kind(run.provenance.config, _metrics_of(run)), run.mechanism, own, size)


def kind(config: Mapping[str, Json], metrics: Json) -> str:
    """Stands for all that the time depends on but the mechanism.

    Nulls and folders do not count, nor whether a number is written 5 or 5.0, since a row of the study has
    none of these.
    """
    stages = config["stages"]
    keys = [key for stage in stages for key in SETTINGS.get(stage, ()) if key not in ASIDE]
    settings = select(config, dict.fromkeys([*KIND, *keys]))
    if "audit" in settings:
        heavy = [name for name in settings["audit"].get("attacks", []) if name != LIGHT]
        settings["audit"] = settings["audit"] | {"attacks": heavy}
    return digest(with_equal_numbers([settings, metrics if "metrics" in stages else None]))


def _metrics_of(run: RunResult) -> Json:
    """What was measured. Rows of the study do not have what they were told, but what came of it."""
    told = run.provenance.config.get("metrics")
    if told is not None:
        return _asked(told)
    scores = run.private_metrics
    # `minilm_L6_no-idf_…`: the model, then its layer
    model = scores.provenance.get("bertscore", {}).get("hash", "").partition("_L")[0]
    return _metrics(list(scores.values), RESAMPLES if scores.intervals else 0, model or None)


def _asked(told: Mapping[str, Json]) -> Json:
    return _metrics(told["names"], told["bootstrap"], told["bertscore"]["model"])


def _metrics(names: list[str], bootstrap: int, model: str | None) -> Json:
    """What the time of the metrics depends on; BERTScore does not run without a model."""
    run = sorted(name for name in names if name != "bertscore" or model is not None)
    return {"names": run, "bootstrap": bootstrap, "model": model}


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
