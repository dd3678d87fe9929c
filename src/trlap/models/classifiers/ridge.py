"""Ridge regression on a document's vector, which needs no tuning, and what public documents add to it.

    W, b = argmin Σ_i ‖y_i − W x_i − b‖² + λ‖W‖²,   y_i the one-hot label;   the class of x is argmax W x + b

Where there are public documents without labels, what was learned labels them and is learned again from these:
their vectors are not noisy. With `match`, b is moved before until as many public documents are of each class
as training documents are, since noise that is undone on average leaves scores near the mean; where public
documents have other shares of classes that does harm. Both read public documents
and what was published already, so that they cost no privacy.

Where labels are covered by noise too and this is undone, the first W is fitted to what the answers say of the
classes of public documents, and the shares are estimated from them (`trlap.documents.evidence`).

Public documents are a bridge too: where words are published, what was learned from them labels public documents
by their words, and `encoder` reads these, and the originals of the test split, as a whole.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omegaconf import MISSING

from trlap.config.ranges import within
from trlap.errors import TrlapError
from trlap.models.classifiers._documents import DocumentClassifier, DocumentKeys
from trlap.models.classifiers.base import Labelled
from trlap.progress import Show
from trlap.runs.result import ClassifierRun, Epoch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# λ where public documents are learned from
PUBLIC_PENALTY = 10.0


@dataclass
class RidgeKeys(DocumentKeys):
    penalty: float = within("[1e-9, 1e9]")
    # of labelling public documents
    rounds: int = within("[0, 1000]")
    # as many public documents of each class as there are training documents
    match: bool = MISSING


class RidgeClassifier(DocumentClassifier):
    name = "ridge"
    # 2: public documents are learned from where words are published, too
    version = 2
    Keys = RidgeKeys
    keys: RidgeKeys

    @classmethod
    def check(cls, keys: RidgeKeys) -> None:
        super().check(keys)
        if keys.encoder is not None and keys.rounds == 0:
            raise TrlapError(
                f"classifier.encoder={keys.encoder}: it is learned from public documents; set "
                "classifier.rounds to 1 or more"
            )

    def fit(
        self, train: Labelled, validation: Labelled, seed: int, show: Show
    ) -> tuple[ClassifierRun, list[Epoch]]:
        import numpy as np

        from trlap.models.classifiers._least_squares import matched, ridge

        classes = len(self.task.label_names)
        weights, bias, shares = self._first(train, classes)
        first = weights, bias
        if self.public is not None:
            public, read = self.public
            for _ in range(self.keys.rounds):
                bias = matched(public @ weights, shares) if self.keys.match else bias
                named = (public @ weights + bias).argmax(axis=1)
                public = read
                weights, bias = ridge(public, np.eye(classes)[named], PUBLIC_PENALTY)
            bias = matched(public @ weights, shares) if self.keys.match else bias
        self.weights, self.bias = weights, bias
        show(1.0, len(train.labels))
        # validation is read as the training split is, which need not be as the test split is
        weights, bias = first if self.bridged else (weights, bias)
        right = self.share_right((validation.form @ weights + bias).argmax(axis=1), validation)
        return ClassifierRun(seed, epochs=1, validation_accuracy=right), []

    def _first(self, train: Labelled, classes: int) -> "tuple[Floats, Floats, Floats]":
        """W, b and the shares of classes, from the training rows alone or from what they say of public ones."""
        import numpy as np

        from trlap.models.classifiers._least_squares import ridge

        found = self.evidence
        if found is None or self.public is None:
            shares = np.bincount(train.labels, minlength=classes) / len(train.labels)
            return *ridge(train.form, np.eye(classes)[train.labels], self.keys.penalty), shares
        weights, bias = ridge(self.public[0] @ found.axes, found.scores, PUBLIC_PENALTY)
        return found.axes @ weights, bias, found.shares

    def predict(self, form: "Floats") -> "NDArray[np.int64]":
        named: NDArray[np.int64] = (form @ self.weights + self.bias).argmax(axis=1)
        return named
