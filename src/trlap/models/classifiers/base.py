"""The contract of a classifier. To add one: a file here with a class, a YAML in `conf/classifier/`, a test.

A classifier says how it reads, learns and predicts. What all have in common is in
`trlap.models.classifying`: which texts are read, one training for each seed, what is counted.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from omegaconf import MISSING

from trlap.config.ranges import SEED, check_range
from trlap.data.rows import Rows
from trlap.errors import TrlapError
from trlap.models.base import Machine, Model
from trlap.progress import Show
from trlap.runs.listening import Report, unheard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trlap.data.vocabulary import Vocabulary
    from trlap.documents.reading import Documents
    from trlap.mechanisms._decoding import Reading
    from trlap.mechanisms.base import Mechanism
    from trlap.runs.result import Classified, ClassifierRun, Epoch

# texts as a classifier reads them: whatever it needs of them
Form = Any


@dataclass
class ClassifierKeys:
    """What every classifier has; its own `Keys` extend it."""

    # one training each; the result is their mean
    seeds: list[int] = MISSING


@dataclass(frozen=True)
class ClassifyTask:
    """What a classifier is given: labelled rows, and which of their texts it reads."""

    rows: Rows
    label_names: Sequence[str]
    train_on: str
    test_on: str
    debias: str
    vocabulary: "Vocabulary"
    # one vector for each word: where the embedding starts
    vectors: "NDArray[np.float32]"
    mechanism: "Mechanism"
    machine: Machine
    # takes every epoch when it is over
    report: Report = unheard
    # where some are public
    documents: "Documents | None" = None


@dataclass(frozen=True)
class Labelled:
    """A split as the classifier reads it, and the classes of its sentences."""

    form: Form
    labels: "NDArray[np.int64]"


class Classifier(Model):
    """Learns labels from texts, once for each seed, and names those of the test split.

    Each split is read once; then, for each seed, it is fitted and predicts.
    """

    # whether it reads the vectors of whole documents, and learns from public ones where there are any
    reads_documents: ClassVar[bool] = False
    # whether it reads word vectors, which `classify.debias` and `protocol=release` are about
    reads_vectors: ClassVar[bool] = True

    def __init__(self, keys: Any, task: ClassifyTask) -> None:
        self.check(keys)
        self.keys, self.task = keys, task
        self.report = task.report

    @classmethod
    def check(cls, keys: Any) -> None:
        seeds = list(keys.seeds)
        if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
            raise TrlapError(f"classifier.seeds={seeds}: must be different whole numbers from 0 on")
        check_range("classifier.seeds", max(seeds), {"within": SEED})

    @abstractmethod
    def read(self, texts: Sequence[str], reading: "Reading") -> Form:
        """Texts in its own form. `reading` is what it reads for a word: how classify.debias takes part."""

    def read_split(self, split: str, side: str, texts: Sequence[str], reading: "Reading") -> Form:
        """The same for the texts of a split, where a classifier reads something else than their words."""
        return self.read(texts, reading)

    def read_public(self, readings: "Mapping[str, Reading]") -> None:
        """Read the public documents of the task, where it learns from these too. Asked once."""

    @abstractmethod
    def fit(
        self, train: Labelled, validation: Labelled, seed: int, show: Show
    ) -> "tuple[ClassifierRun, list[Epoch]]":
        """Learn anew, choose by validation, and say what came of it: the run without what the test split
        tells, and every epoch. Torch's own generators are seeded by then.

        `show` takes the share of the work that is done, and the sentences seen; `self.report` takes each
        epoch when it is over, for those who watch the curves.
        """

    @abstractmethod
    def predict(self, form: Form) -> "NDArray[np.int64]":
        """The class of every sentence, an index into the names of the labels, as it was last fitted."""

    def classify(self) -> "Classified":
        """Train on the training split, choose by validation, name the test split's classes."""
        from trlap.models.classifying import classify

        return classify(self)
