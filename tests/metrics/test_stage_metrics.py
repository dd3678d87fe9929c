"""Loss and accuracy: what other stages have measured."""

from trlap.metrics.accuracy import Accuracy
from trlap.metrics.loss import Loss
from trlap.metrics.registry import named
from trlap.runs.result import Classified, Inputs, Trained

TRAINED = Trained(loss=12.5)
CLASSIFIED = Classified(0.75, Inputs("private", "private"), interval=(0.7, 0.8))


def test_loss_is_the_rewriters() -> None:
    taken = Loss().taken(TRAINED, CLASSIFIED)
    assert taken is not None
    assert (taken.value, taken.interval) == (12.5, None)
    assert Loss().taken(None, CLASSIFIED) is None
    assert not Loss.higher_is_better


def test_accuracy_is_the_classifiers() -> None:
    taken = Accuracy().taken(TRAINED, CLASSIFIED)
    assert taken is not None
    assert (taken.value, taken.interval) == (0.75, (0.7, 0.8))
    assert Accuracy().taken(TRAINED, None) is None


def test_a_text_metric_is_taken_from_no_stage() -> None:
    assert named("n_w").taken(TRAINED, CLASSIFIED) is None
