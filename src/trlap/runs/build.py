"""A result from what the stages of a run wrote: the one place where a RunResult is put together."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from trlap.config.door import Config
from trlap.data.rows import Row
from trlap.metrics.registry import METRICS, in_order
from trlap.runs import provenance
from trlap.runs.records import Json, to_json
from trlap.runs.result import (
    Attacker,
    Classified,
    Details,
    Example,
    Guarantee,
    Provenance,
    RunResult,
    Scores,
    StageProvenance,
    Trained,
    VocabularySize,
    Which,
)

if TYPE_CHECKING:
    from trlap.data.corpus import CorpusInfo
    from trlap.embeddings.vectors import EmbeddingInfo
    from trlap.stages.metrics import Measured
    from trlap.stages.privatize import PrivateText

EXAMPLES = 3


@dataclass(frozen=True)
class Outputs:
    """What a run's stages gave; null where one did not run, and then why."""

    guarantee: Guarantee
    corpus: "CorpusInfo"
    embedding: "EmbeddingInfo"
    vocabulary: VocabularySize
    private: "PrivateText | None" = None
    # the test split with all the texts that there are
    test: Sequence[Row] = ()
    trained: Trained | None = None
    classified: Classified | None = None
    measured: "Measured | None" = None
    attacker: Attacker | None = None
    which: Which | None = None
    notes: Sequence[str] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    stages: Mapping[str, StageProvenance] = field(default_factory=dict)


def build(name: str, config: Config, outputs: Outputs, command: str | None = None) -> RunResult:
    private, stages = outputs.private, outputs.stages
    return RunResult(
        name=name,
        protocol=config.protocol.name,
        dataset=config.dataset.name,
        embedding=config.embedding.name,
        mechanism=config.mechanism.name,
        epsilon=config.epsilon,
        seed=config.seed,
        unit=config.unit,
        guarantee=outputs.guarantee,
        metrics=_scores("rewritten", config, outputs),
        private_metrics=_scores("private", config, outputs),
        details=Details(
            sizes=outputs.corpus.sizes,
            examples=examples(outputs.test, config.seed),
            privatize=private.counts if private else {},
            rewrite=outputs.trained,
            classify=outputs.classified,
            vocabulary=outputs.vocabulary,
            attacker=outputs.attacker,
            which=outputs.which,
            commonest=commonest(outputs.test),
            notes=[*outputs.corpus.notes, *outputs.notes],
        ),
        seconds=dict(outputs.seconds),
        versions=provenance.versions(stages.values()),
        provenance=Provenance(
            command=command,
            dataset=_plain(outputs.corpus),
            embedding=_plain(outputs.embedding),
            device=provenance.agreed(stage.device for stage in stages.values()),
            threads=provenance.agreed(stage.threads for stage in stages.values()),
            machine=provenance.agreed(stage.machine for stage in stages.values()),
            git=provenance.agreed(stage.git for stage in stages.values()),
            config=config.composed,
            stages=dict(stages),
        ),
    )


def _scores(text: str, config: Config, outputs: Outputs) -> Scores:
    """The metrics of one text, with those that its stages have measured themselves."""
    measured = getattr(outputs.measured, text, None) or Scores()
    values: dict[str, float | None] = {}
    intervals, reasons = dict(measured.intervals), dict(measured.reasons)
    released: dict[str, float | None] = {}
    for metric in in_order([*METRICS.ours, *config.metrics.names]):
        if text not in metric.texts:
            continue
        name = metric.name
        if metric.stage == "metrics":
            values[name] = measured.value(name)
            if name in measured.as_released:
                released[name] = measured.as_released[name]
            if name not in measured.values:
                reasons[name] = _missing(text, outputs)
            continue
        found = metric.taken(outputs.trained, outputs.classified)
        values[name] = None if found is None else found.value
        if found is not None and found.as_released is not None:
            released[name] = found.as_released
        if found is None or found.value is None:
            why = f"stage {metric.stage} did not run"
            reasons[name] = outputs.skipped.get(metric.stage, why)
        elif found.interval is not None:
            intervals[name] = found.interval
    return replace(
        measured, values=values, intervals=intervals, reasons=reasons, as_released=released
    )


def _missing(text: str, outputs: Outputs) -> str:
    ran = outputs.private if text == "private" else outputs.trained
    stage = "privatize" if text == "private" else "rewrite"
    return f"stage {stage} did not run" if ran is None else "stage metrics did not run"


def commonest(rows: Sequence[Row]) -> float | None:
    """The share of the commonest word among all words of these originals."""
    counts = Counter(word for row in rows for word in row.original.split())
    return max(counts.values()) / counts.total() if counts else None


def examples(rows: Sequence[Row], seed: int) -> list[Example]:
    """Some test sentences, chosen by seed and not by beauty."""
    import numpy as np

    chosen = np.random.default_rng([seed, 3]).permutation(len(rows))[:EXAMPLES]
    return [Example(rows[i].original, rows[i].private, rows[i].rewritten) for i in sorted(chosen)]


def _plain(record: object) -> dict[str, Json]:
    plain: dict[str, Json] = to_json(record)
    return plain
