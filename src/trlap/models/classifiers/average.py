"""The paper's classifier: softmax(W₂ relu(W₁ dropout(mean of the word vectors)))."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trlap.models.classifiers._neural import NeuralKeys, WordVectorClassifier

if TYPE_CHECKING:
    from trlap.mechanisms._decoding import Reading
    from trlap.models.classifiers._forms import Means
    from trlap.models.classifiers._networks import Average


class AverageClassifier(WordVectorClassifier):
    name = "average"
    Keys = NeuralKeys

    def read(self, texts: Sequence[str], reading: "Reading") -> "Means":
        from trlap.models.classifiers._forms import Means

        return Means(texts, self.task.vocabulary, reading, self.task.machine.device)

    def network(self) -> "Average":
        from trlap.models.classifiers._networks import Average

        return Average(self.task.vectors.shape, len(self.task.label_names), self.keys)
