"""The contract of a metric: what it says of itself, and how it is measured.

Tables, figures, pages and the last lines of a run read the attributes; nobody keeps a list of metrics. A
metric's module imports no heavy library before there is something to measure.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from trlap.runs.records import Json
from trlap.runs.result import Interval, Scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trlap.config.schema import Metrics
    from trlap.data.vocabulary import Vocabulary
    from trlap.embeddings.space import Space
    from trlap.runs.result import Classified, Trained

    Array = NDArray[np.float64]

PRIVATE, REWRITTEN = "private", "rewritten"
# why a metric is null: it was not asked for
NOT_ASKED = "not among metrics.names"
NOT_WORD_BY_WORD = (
    "unit=document: a private text does not have a word for every word of its original"
)


@dataclass(frozen=True)
class Texts:
    """A text beside its original, the single reference. A sentence is its words joined by single spaces."""

    # private | rewritten
    kind: str
    originals: Sequence[str]
    candidates: Sequence[str]
    # originals of the training split: what an adversary is taken to know
    train: Sequence[str] = ()

    def __post_init__(self) -> None:
        if len(self.originals) != len(self.candidates):
            raise ValueError(
                f"{len(self.originals)} originals but {len(self.candidates)} candidates"
            )

    def first(self, lines: int | None) -> "Texts":
        """The first lines alone, or all, of which nobody asks for a floor."""
        return Texts(self.kind, self.originals[:lines], self.candidates[:lines])

    @cached_property
    def original_words(self) -> list[list[str]]:
        from trlap.metrics._words import ORIGINAL_UNK, words

        return [words(text, ORIGINAL_UNK) for text in self.originals]

    @cached_property
    def candidate_words(self) -> list[list[str]]:
        from trlap.metrics._words import CANDIDATE_UNK, words

        return [words(text, CANDIDATE_UNK) for text in self.candidates]


@dataclass(frozen=True)
class Scene:
    """What else there is: the keys of `metrics`, the device, and the public words with their vectors."""

    config: "Metrics"
    device: str = "cpu"
    vocabulary: "Vocabulary | None" = None
    space: "Space | None" = None
    # a protocol's: on how many lines the authors computed some metrics; null: it is not theirs
    first_lines: int | None = None
    # whether a private text has a word for every word of its original
    word_by_word: bool = True


@dataclass(frozen=True)
class Measure:
    """A metric of one text as a function of sums over sentences, which is all that a bootstrap needs."""

    # a sentence's statistics in each row
    rows: "Array"
    # of the rows' sum
    value: "Callable[[Array], float]"
    # what else is known; result.json has them under `<metric>_<key>`
    details: dict[str, Json] = field(default_factory=dict)
    # packages, versions, definitions
    provenance: dict[str, Json] = field(default_factory=dict)

    @property
    def whole(self) -> float:
        """The value of the whole text."""
        return float(self.value(self.rows.sum(axis=0)))


@dataclass(frozen=True)
class Taken:
    """What another stage has measured; the interval is 95 %. `as_released` is the authors' own variant."""

    value: float | None
    interval: Interval | None = None
    as_released: float | None = None


class Metric:
    """What a metric says of itself. Attributes belong to the class; `named(name)` gives an instance."""

    name: ClassVar[str]
    # "Rouge1", "N_w" …
    label: ClassVar[str]
    # where tables print another one
    short_label: ClassVar[str | None] = None
    # one line for readers, on pages and axes
    meaning: ClassVar[str]
    # behind the point: in tables, and in the last lines of a run
    digits: ClassVar[int] = 3
    summary_digits: ClassVar[int] = 3
    higher_is_better: ClassVar[bool] = True
    # the lowest and the highest value that it can have
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    # who measures it: metrics | rewrite | classify
    stage: ClassVar[str] = "metrics"
    # which texts it speaks of: what it compares with the originals, or what its stage wrote or read
    texts: ClassVar[tuple[str, ...]] = (PRIVATE, REWRITTEN)
    # where it stands among the others; those of other packages come last
    order: ClassVar[int] = 1000
    # how the authors' code computed it, where that is known; what it computed stands beside ours, in
    # `Scores.as_released`, and never in its place
    released: ClassVar[str | None] = None

    @property
    def heading(self) -> str:
        """What stands above its column in a table."""
        return self.short_label or self.label

    def taken(self, trained: "Trained | None", classified: "Classified | None") -> "Taken | None":
        """Its value where another stage has measured it. Null: that stage did not run, or there is none."""
        return None

    def note(self, scores: Scores) -> str | None:
        """What a reader of these values must know, if anything. Only where its stage ran."""
        return None


class TextMetric(Metric, ABC):
    """Compares a text with its original, sentence by sentence."""

    @abstractmethod
    def measure(self, texts: Texts, scene: Scene) -> Measure:
        """Raises TrlapError with the reason where it cannot be computed. `texts` has a sentence."""

    def as_released(self, texts: Texts, scene: Scene) -> float | None:
        """What the authors' code computes of the rewritten text, where `released` says how. Null, or a
        TrlapError, where it cannot be computed.
        """
        return None


class StageMetric(Metric, ABC):
    """Taken from what another stage has measured."""

    texts = (REWRITTEN,)

    @abstractmethod
    def taken(self, trained: "Trained | None", classified: "Classified | None") -> "Taken | None":
        """Null where its stage did not run."""


def undescribed(name: str) -> Metric:
    """A metric of a package that is not installed here: all that is known is its name."""

    class Undescribed(Metric):
        pass

    Undescribed.name = Undescribed.label = Undescribed.meaning = name
    return Undescribed()
