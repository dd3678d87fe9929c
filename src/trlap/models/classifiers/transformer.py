"""A sequence-classification model of the library transformers, fine-tuned: a folder, or one of the hub."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trlap.config.places import check_model
from trlap.config.ranges import model_place, within
from trlap.errors import TrlapError
from trlap.files import content
from trlap.models.classifiers._neural import NeuralClassifier, NeuralKeys

if TYPE_CHECKING:
    from trlap.mechanisms._decoding import Reading
    from trlap.models.classifiers._forms import Pieces
    from trlap.models.classifiers._networks import Transformer
    from trlap.runs.records import Json


@dataclass
class TransformerKeys(NeuralKeys):
    # a folder or a hub id
    model: str | None = model_place(None)
    # word pieces; what is longer is cut
    max_length: int | None = within("[1, 1e6]", None)


class TransformerClassifier(NeuralClassifier):
    """Size and dropout are the model's own; it has word pieces of its own too, and reads no vectors."""

    name = "transformer"
    Keys = TransformerKeys
    keys: TransformerKeys
    reads_vectors = False

    @classmethod
    def check(cls, keys: TransformerKeys) -> None:
        if not keys.model:
            raise TrlapError("classifier=transformer: set classifier.model to a folder or a hub id")
        check_model("classifier.model", keys.model)
        super().check(keys)

    @classmethod
    def fingerprint(cls, keys: TransformerKeys) -> "dict[str, Json]":
        return super().fingerprint(keys) | {"model": content(keys.model)}

    def read(self, texts: Sequence[str], reading: "Reading") -> "Pieces":
        from trlap.models.classifiers._forms import Pieces

        return Pieces(texts, self.keys.model, self.keys.max_length, self.task.machine.device)

    def network(self) -> "Transformer":
        from trlap.models.classifiers._networks import Transformer

        return Transformer(len(self.task.label_names), self.keys.model)
