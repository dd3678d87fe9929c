"""The rewriter's loss on the test split."""

import math
from typing import TYPE_CHECKING

from trlap.metrics.base import StageMetric, Taken

if TYPE_CHECKING:
    from trlap.runs.result import Classified, Trained


class Loss(StageMetric):
    """−ln p of the original, summed over a sentence's words and its end, averaged over sentences."""

    name = "loss"
    label = "Loss"
    meaning = "Loss: −ln p of a test sentence"
    digits = 2
    summary_digits = 1
    higher_is_better = False
    range = (0.0, math.inf)
    stage = "rewrite"
    released = "of a sample of the training sentences, not of the test split"
    order = 10

    def taken(self, trained: "Trained | None", classified: "Classified | None") -> Taken | None:
        if trained is None:
            return None
        return Taken(trained.loss, as_released=trained.training_loss)
