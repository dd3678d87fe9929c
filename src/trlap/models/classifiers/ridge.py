"""Ridge regression on a document's vector, which needs no tuning, and what public documents add to it.

    W, b = argmin Σ_i ‖y_i − W x_i − b‖² + λ‖W‖²,   y_i the one-hot label;   the class of x is argmax W x + b

Where there are public documents without labels, what was learned labels them and is learned again from these:
their vectors are not noisy. With `match`, b is moved before until as many public documents are of each class
as training documents are, since noise that is undone on average leaves scores near the mean; where public
documents have other shares of classes that does harm. Both read public documents
and what was published already, so that they cost no privacy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omegaconf import MISSING

from trlap.config.ranges import within
from trlap.models.classifiers.base import Classifier, ClassifierKeys, Labelled
from trlap.progress import Show
from trlap.runs.result import ClassifierRun, Epoch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trlap.mechanisms._decoding import Reading

    Floats = NDArray[np.float64]

# λ where public documents are learned from
PUBLIC_PENALTY = 10.0


@dataclass
class RidgeKeys(ClassifierKeys):
    penalty: float = within("[1e-9, 1e9]")
    # of labelling public documents
    rounds: int = within("[0, 1000]")
    # as many public documents of each class as there are training documents
    match: bool = MISSING


class RidgeClassifier(Classifier):
    name = "ridge"
    reads_documents = True
    Keys = RidgeKeys
    keys: RidgeKeys

    def read(self, texts: Sequence[str], reading: "Reading") -> "Floats":
        """The mean of the words' vectors."""
        import numpy as np

        from trlap.models.classifiers._forms import Means

        means = Means(texts, self.task.vocabulary, reading, "cpu").fixed
        return means.numpy().astype(np.float64)

    def read_split(
        self, split: str, side: str, texts: Sequence[str], reading: "Reading"
    ) -> "Floats":
        """A document's own vector, where the mechanism answers for documents."""
        if self.task.documents is None:
            return self.read(texts, reading)
        return self.task.documents.vectors(split, side, texts).astype("float64")

    def fit(
        self, train: Labelled, validation: Labelled, seed: int, show: Show
    ) -> tuple[ClassifierRun, list[Epoch]]:
        import numpy as np

        from trlap.models.classifiers._least_squares import matched, ridge

        classes = len(self.task.label_names)
        shares = np.bincount(train.labels, minlength=classes) / len(train.labels)
        weights, bias = ridge(train.form, np.eye(classes)[train.labels], self.keys.penalty)
        if self.task.documents is not None:
            public = self.task.documents.public.astype(np.float64)
            for _ in range(self.keys.rounds):
                bias = matched(public @ weights, shares) if self.keys.match else bias
                named = (public @ weights + bias).argmax(axis=1)
                weights, bias = ridge(public, np.eye(classes)[named], PUBLIC_PENALTY)
            bias = matched(public @ weights, shares) if self.keys.match else bias
        self.weights, self.bias = weights, bias
        show(1.0, len(train.labels))
        right = float((self.predict(validation.form) == validation.labels).mean())
        return ClassifierRun(seed, epochs=1, validation_accuracy=right), []

    def predict(self, form: "Floats") -> "NDArray[np.int64]":
        named: NDArray[np.int64] = (form @ self.weights + self.bias).argmax(axis=1)
        return named
