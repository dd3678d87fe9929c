"""What a run found: `RunResult`, written to and read from JSON here and nowhere else.

result.json and the rows of a study have one layout, which `to_json` and `from_json` know. Older rows are
brought up to date step by step by `trlap.runs.upgrade`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from trlap.errors import TrlapError
from trlap.files import write_json
from trlap.runs import records, upgrade
from trlap.runs.guarantees import (
    Attacker as Attacker,
)
from trlap.runs.guarantees import (
    Claimed as Claimed,
)
from trlap.runs.guarantees import (
    Composed as Composed,
)
from trlap.runs.guarantees import (
    DocumentGuarantee as DocumentGuarantee,
)
from trlap.runs.guarantees import (
    Documents as Documents,
)
from trlap.runs.guarantees import (
    Empirical as Empirical,
)
from trlap.runs.guarantees import (
    EpsilonDelta as EpsilonDelta,
)
from trlap.runs.guarantees import (
    Exact as Exact,
)
from trlap.runs.guarantees import (
    Guarantee as Guarantee,
)
from trlap.runs.guarantees import (
    Interval as Interval,
)
from trlap.runs.guarantees import (
    LetThrough as LetThrough,
)
from trlap.runs.guarantees import (
    ToldApart as ToldApart,
)
from trlap.runs.guarantees import (
    Which as Which,
)
from trlap.runs.guarantees import (
    WordBounds as WordBounds,
)
from trlap.runs.records import Json, absent
from trlap.runs.settings import Settings

# ------------------------------------------------------------------------------------------ the scores


@dataclass(frozen=True)
class Scores:
    """Metrics of one text. A metric that did not run is null, with its reason."""

    values: dict[str, float | None] = field(default_factory=dict)
    intervals: dict[str, Interval] = field(default_factory=dict)  # 95 %
    details: dict[str, Json] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    provenance: dict[str, Json] = field(default_factory=dict)
    # what the authors' code computes of the same text, which is not what the values are: `Metric.released`
    as_released: dict[str, float | None] = field(default_factory=dict)

    def value(self, name: str) -> float | None:
        return self.values.get(name)

    def interval(self, name: str) -> Interval | None:
        return self.intervals.get(name)

    def best_constant(self, name: str) -> float | None:
        """What one word, printed at every position, would score: the floor under a metric."""
        return self.details.get(f"{name}_best_constant")

    @property
    def n_w_length_alone(self) -> float | None:
        """N_w of whoever knows the length of a sentence and nothing else of it."""
        return self.details.get("n_w_length_alone")


@dataclass(frozen=True)
class Epoch:
    """One epoch of a training."""

    epoch: int | None = absent()
    train_loss: float | None = absent()
    validation_loss: float | None = absent()
    validation_accuracy: float | None = absent()
    seconds: float | None = absent()
    tokens_per_second: float | None = absent()
    # when it was over, in seconds since 1970; two epochs that learned the same are equal
    wall_time: float | None = field(default=None, compare=False, metadata={"absent": True})


@dataclass(frozen=True)
class Draws:
    """How often sentences of a split were read, each time with fresh noise, and in how many batches."""

    passes: int
    batches: int


@dataclass(frozen=True)
class Trained:
    """What the rewriter says of its training. Losses are of the test split, but for `training_loss`."""

    loss: float | None = None
    token_loss: float | None = None
    perplexity: float | None = None
    history: list[Epoch] = field(default_factory=list)
    precision: str | None = None
    draws: dict[str, Draws] = field(default_factory=dict)
    # of a sample of the training sentences, as the authors computed it (`Protocol.loss_on_training`)
    training_loss: float | None = absent()


@dataclass(frozen=True)
class ClassifierRun:
    """One seed of a classifier."""

    seed: int
    epoch: int | None = absent()
    epochs: int | None = absent()
    validation_accuracy: float | None = absent()
    validation_loss: float | None = absent()
    accuracy: float | None = absent()
    macro_f1: float | None = absent()


@dataclass(frozen=True)
class Inputs:
    """What a classifier read: private, rewritten or original text, and how the noise was undone."""

    train_on: str
    test_on: str
    debias: str = "none"


@dataclass(frozen=True)
class Classified:
    """Of the test split. `interval` is 95 %; `confusion` is summed over seeds, rows are true classes."""

    accuracy: float
    inputs: Inputs
    interval: Interval | None = absent()
    deviation: float | None = None
    macro_f1: float | None = None
    confusion: list[list[int]] | None = absent()
    classes: list[str] | None = absent()
    majority: float | None = None
    runs: list[ClassifierRun] = field(default_factory=list)
    history: list[Epoch] = field(default_factory=list)
    protects: str | None = absent()


# ----------------------------------------------------------------------------------- the rest of a run


@dataclass(frozen=True)
class Counts:
    """Tokens of a split: privatised, outside the vocabulary, and of those let through unprotected."""

    sentences: int
    tokens: int
    unknown: int
    leaked: int


@dataclass(frozen=True)
class Example:
    original: str
    private: str | None = absent()
    rewritten: str | None = absent()


@dataclass(frozen=True)
class VocabularySize:
    words: int
    public: bool


@dataclass(frozen=True)
class Tracked:
    """What became of the run in Weights & Biases."""

    mode: str
    id: str | None = absent()
    url: str | None = absent()
    error: str | None = absent()
    # online was asked for and did not answer, so it was logged offline
    outage: str | None = absent()


@dataclass(frozen=True)
class Details:
    sizes: dict[str, int] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)
    privatize: dict[str, Counts] = field(default_factory=dict)
    rewrite: Trained | None = None
    classify: Classified | None = None
    vocabulary: VocabularySize | None = None
    attacker: Attacker | None = absent()
    which: Which | None = absent()
    # the share of the commonest word of the test split: what naming it always reaches
    commonest: float | None = absent()
    notes: list[str] = field(default_factory=list)
    wandb: Tracked | None = None


@dataclass(frozen=True)
class StageProvenance:
    """Written into a stage's folder by the process that computed it."""

    versions: dict[str, str]
    device: str
    threads: int
    machine: str
    git: str | None
    started: str  # UTC, ISO 8601
    seconds: float


@dataclass(frozen=True)
class Provenance:
    """Where every number comes from. `device`, `threads` … are those of all stages, null where they differ."""

    command: str | None = None
    dataset: dict[str, Json] = field(default_factory=dict)
    embedding: dict[str, Json] = field(default_factory=dict)
    device: str | None = None
    threads: int | None = None
    machine: str | None = None
    git: str | None = None
    config: dict[str, Json] = field(default_factory=dict)
    stages: dict[str, StageProvenance] = field(default_factory=dict)


@dataclass(frozen=True)
class RunResult:
    """`metrics` are those of the rewritten text and of the classifier, `private_metrics` the private text's."""

    name: str
    protocol: str
    dataset: str
    embedding: str
    mechanism: str
    epsilon: float
    seed: int
    guarantee: Guarantee
    unit: str = "word"
    status: str = "ok"
    metrics: Scores = field(default_factory=Scores)
    private_metrics: Scores = field(default_factory=Scores)
    details: Details = field(default_factory=Details)
    seconds: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=Provenance)
    folder: str | None = None  # where it was read from; not written

    @property
    def noisy(self) -> bool:
        """Whether anything was claimed, that is, whether there was a mechanism at all."""
        return self.guarantee.claimed.notion != "none"

    @cached_property
    def settings(self) -> Settings:
        """The configuration's parts that results are grouped by."""
        return Settings.of(self.provenance.config)


SCORES = ("metrics", "private_metrics")
PREFIX = "private_metrics."  # of a reason that is the private text's


def to_json(result: RunResult) -> dict[str, Json]:
    """The layout of result.json."""
    plain: dict[str, Json] = {"schema_version": upgrade.NEWEST} | records.to_json(result)
    del plain["folder"]
    scores = {block: plain.pop(block) for block in SCORES}
    plain["intervals"] = {block: scores[block]["intervals"] for block in SCORES}
    plain["details"] |= {block: scores[block]["details"] for block in SCORES}
    plain["reasons"] = scores["metrics"]["reasons"] | {
        PREFIX + name: why for name, why in scores["private_metrics"]["reasons"].items()
    }
    plain["as_released"] = scores["metrics"]["as_released"]
    plain["provenance"]["metrics"] = (
        scores["private_metrics"]["provenance"] | scores["metrics"]["provenance"]
    )
    return plain | {block: scores[block]["values"] for block in SCORES}


def from_json(plain: Mapping[str, Json]) -> RunResult:
    """A result of any version that this package has ever written."""
    plain = upgrade.to_newest(plain)
    details, provenance = dict(plain["details"]), dict(plain["provenance"])
    reasons, about = plain.get("reasons", {}), provenance.pop("metrics", {})
    scores = {}
    for block in SCORES:
        private = block == "private_metrics"
        scores[block] = {
            "values": plain[block],
            "intervals": plain["intervals"].get(block, {}),
            "details": details.pop(block, {}),
            "reasons": {
                name.removeprefix(PREFIX): why
                for name, why in reasons.items()
                if name.startswith(PREFIX) == private
            },
            "provenance": about,
            "as_released": {} if private else plain.get("as_released", {}),
        }
    rest = ("schema_version", "intervals", "reasons", "as_released")
    kept = {key: value for key, value in plain.items() if key not in rest}
    return records.from_json(
        RunResult, kept | scores | {"details": details, "provenance": provenance}
    )


def write(result: RunResult, path: Path) -> None:
    write_json(path, to_json(result))


def read(path: Path) -> RunResult:
    """result.json of a run; its name is that of its folder. What is none is one line with the path."""
    if not path.is_file():
        raise TrlapError(f"{path}: it is no ordinary file")
    try:
        result = from_text(path.read_text(encoding="utf-8"))
    except (TrlapError, OSError, UnicodeDecodeError) as error:
        raise TrlapError(f"{path}: {error}") from error
    return replace(result, name=path.parent.name, folder=str(path.parent))


def from_text(text: str) -> RunResult:
    """A result as it stands in a file; what is none is one line."""
    try:
        plain = json.loads(text)
        if not isinstance(plain, dict):
            raise TrlapError("not a result: it is no object")
        return from_json({"name": ""} | plain)
    except json.JSONDecodeError as error:
        raise TrlapError(f"not JSON ({error.msg})") from error
    except RecursionError:
        raise TrlapError("not a result: too deeply nested") from None
    except KeyError as error:
        raise TrlapError(f"not a result: {error} is missing") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise TrlapError(f"not a result ({error})") from error
