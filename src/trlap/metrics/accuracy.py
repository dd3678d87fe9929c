"""The classifier's accuracy on the test split."""

from typing import TYPE_CHECKING

from trlap.metrics.base import StageMetric, Taken

if TYPE_CHECKING:
    from trlap.runs.result import Classified, Trained


class Accuracy(StageMetric):
    """The share of test sentences whose class is named rightly, averaged over seeds."""

    name = "accuracy"
    label = "accuracy"
    meaning = "accuracy"
    stage = "classify"
    order = 70

    def taken(self, trained: "Trained | None", classified: "Classified | None") -> Taken | None:
        return None if classified is None else Taken(classified.accuracy, classified.interval)
