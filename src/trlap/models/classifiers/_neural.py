"""What our classifiers share: a network of torch, trained by `trlap.models.classifiers._training`."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trlap.config.ranges import within
from trlap.errors import TrlapError
from trlap.models.classifiers.base import Classifier, ClassifierKeys, Form, Labelled
from trlap.progress import Show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

    from trlap.runs.result import ClassifierRun, Epoch


@dataclass
class NeuralKeys(ClassifierKeys):
    # null: the network has its own
    hidden: int | None = within("[1, 1e5]")
    dropout: float | None = within("[0, 1)")
    lr: float = within("(0, 1e6]")
    batch: int = within("[1, 1e7]")
    epochs: int = within("[1, 1e6]")
    # epochs without a better validation accuracy; null: all
    patience: int | None = within("[1, 1e6]")


class NeuralClassifier(Classifier):
    """A network maps (form, rows) to the scores of those rows, one for each class."""

    keys: NeuralKeys

    @abstractmethod
    def network(self) -> "nn.Module":
        """Weights as they start, drawn by torch's own generator."""

    def fit(
        self, train: Labelled, validation: Labelled, seed: int, show: Show
    ) -> "tuple[ClassifierRun, list[Epoch]]":
        from trlap.models.classifiers._training import fit

        self.fitted = self.network().to(self.task.machine.device)
        return fit(self.fitted, train, validation, self.keys, seed, show, self.report)

    def predict(self, form: Form) -> "NDArray[np.int64]":
        from trlap.models.classifiers._training import scores

        return scores(self.fitted, form).argmax(1).cpu().numpy()


class WordVectorClassifier(NeuralClassifier):
    """Reads word vectors, and is of a size that is chosen.

    A word's vector is T_w + g_w R_s(w). T is what the classifier is given and stays; R is learned and
    starts at zero, which is the same as learning from T on. So train and test may have vectors T of their
    own, as classify.debias needs. s(w) is w and g_w is 1; under classify.debias words that the channel
    cannot tell apart share a row of R, and g_w of a private word is the probability that the word that was
    there shares it too.
    """

    @classmethod
    def check(cls, keys: NeuralKeys) -> None:
        if keys.hidden is None or keys.dropout is None:
            raise TrlapError(f"classifier={cls.name}: hidden and dropout must be numbers")
        super().check(keys)
