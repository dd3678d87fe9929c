"""Clusters of public documents, each named by the class that most of its training documents have.

    j(x) = argmin_j ‖x − μ_j‖²,   class of x = argmax_y |{i : j(x_i) = j(x), y_i = y}|

μ by K-means on the public documents, or on the training split where there are none, from a start by k-means++
(Arthur & Vassilvitskii 2007). It says what a handful of groups can teach at all: a baseline for answers about
whole documents. A cluster without training documents has the commonest class.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

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

# of K-means
STEPS = 50


@dataclass
class ClustersKeys(DocumentKeys):
    K: int = within("[1, 1e6]")


class ClustersClassifier(DocumentClassifier):
    name = "clusters"
    Keys = ClustersKeys
    keys: ClustersKeys

    def fit(
        self, train: Labelled, validation: Labelled, seed: int, show: Show
    ) -> tuple[ClassifierRun, list[Epoch]]:
        import warnings

        import numpy as np
        from scipy.cluster.vq import kmeans2

        if self.bridged:
            raise TrlapError(
                "classifier=clusters: it reads training and test texts in one way; leave classifier.encoder out"
            )
        points = train.form if self.public is None else self.public[0]
        if len(points) < self.keys.K:
            raise TrlapError(
                f"classifier.K={self.keys.K}: there are {len(points)} documents to group"
            )
        rng = np.random.default_rng([seed, *b"clusters"])
        with warnings.catch_warnings():
            # of an empty cluster, which keeps its place
            warnings.simplefilter("ignore", UserWarning)
            self.centres, _ = kmeans2(points, self.keys.K, STEPS, minit="++", rng=rng)
        classes = len(self.task.label_names)
        counts = np.zeros((self.keys.K, classes), np.int64)
        np.add.at(counts, (self._nearest(train.form), train.labels), 1)
        commonest = counts.sum(axis=0).argmax()
        self.names = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), commonest)
        show(1.0, len(train.labels))
        right = self.share_right(self.predict(validation.form), validation)
        return ClassifierRun(seed, epochs=1, validation_accuracy=right), []

    def predict(self, form: "Floats") -> "NDArray[np.int64]":
        named: NDArray[np.int64] = self.names[self._nearest(form)]
        return named

    def _nearest(self, rows: "Floats") -> "NDArray[np.int64]":
        scores = rows @ self.centres.T - (self.centres**2).sum(axis=1) / 2
        nearest: NDArray[np.int64] = scores.argmax(axis=1)
        return nearest
