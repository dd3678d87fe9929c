"""What classifiers of whole documents share: how they read private, original and public ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trlap.config.ranges import one_of
from trlap.models.classifiers.base import Classifier, ClassifierKeys, Labelled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trlap.documents.evidence import Evidence
    from trlap.mechanisms._decoding import Reading

    Floats = NDArray[np.float64]


@dataclass
class DocumentKeys(ClassifierKeys):
    # how documents that are no secret are read; null: as the mechanism does, or by their words
    encoder: str | None = one_of("minilm", "words")


class DocumentClassifier(Classifier):
    """A row of numbers for every document: its own vector where there is one, else the mean of its words'."""

    reads_documents = True
    # the public documents as texts to learn from are read, and as those to name are
    public: "tuple[Floats, Floats] | None" = None
    # whether these are two ways
    bridged = False
    # what training texts say of the public documents' classes, where noise on labels is undone
    evidence: "Evidence | None" = None

    def read(self, texts: Sequence[str], reading: "Reading") -> "Floats":
        """The mean of the words' vectors."""
        import numpy as np

        from trlap.models.classifiers._forms import Means

        means = Means(texts, self.task.vocabulary, reading, "cpu").fixed
        return means.numpy().astype(np.float64)

    def read_split(
        self, split: str, side: str, texts: Sequence[str], reading: "Reading"
    ) -> "Floats":
        documents = self.task.documents
        rows = None if documents is None else documents.rows(split, side, texts)
        if documents is not None and split == "train":
            self.evidence = documents.evidence(split, side, texts)
        return self.read(texts, reading) if rows is None else rows.astype("float64")

    def read_public(self, readings: "Mapping[str, Reading]") -> None:
        documents, task = self.task.documents, self.task
        assert documents is not None
        train, test = documents.public(task.train_on), documents.public(task.test_on)
        self.bridged = train is not test

        def read(rows: "NDArray[np.float32] | None") -> "Floats":
            if rows is None:
                return self.read(documents.texts, readings["public"])
            return rows.astype("float64")

        first = read(train)
        self.public = first, read(test) if self.bridged else first

    def share_right(self, named: "NDArray[np.int64]", validation: Labelled) -> float | None:
        """Where public documents are learned from, none are left for validation; and where noise on labels is
        undone, an answer's text and class are of two documents, so that none is right about the other.
        """
        if self.task.train_on == "public" or self.evidence is not None:
            return None
        return float((named == validation.labels).mean())
