"""A stronger classifier, which knows the order of words:

softmax(W dropout(maximum over the outputs of a BiLSTM over dropout(word vectors))).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trlap.models.classifiers._neural import NeuralKeys, WordVectorClassifier

if TYPE_CHECKING:
    from trlap.mechanisms._decoding import Reading
    from trlap.models.classifiers._forms import Tokens
    from trlap.models.classifiers._networks import BiLSTM


class BiLSTMClassifier(WordVectorClassifier):
    name = "bilstm"
    Keys = NeuralKeys

    def read(self, texts: Sequence[str], reading: "Reading") -> "Tokens":
        from trlap.models.classifiers._forms import Tokens

        return Tokens(texts, self.task.vocabulary, reading, self.task.machine.device)

    def network(self) -> "BiLSTM":
        from trlap.models.classifiers._networks import BiLSTM

        return BiLSTM(self.task.vectors.shape, len(self.task.label_names), self.keys)
