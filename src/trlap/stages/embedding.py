"""Stage `embedding`: a vector for every word of the vocabulary."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlap.config.door import Config
from trlap.runs.records import Json
from trlap.stages.base import Inputs, Stage
from trlap.stages.vocabulary import VOCABULARY

if TYPE_CHECKING:
    from trlap.embeddings.vectors import Embedding as Vectors


class Embedding(Stage["Vectors"]):
    name = "embedding"
    doing = "looking up word vectors"
    version = 1
    # and, of the protocol, how random vectors are drawn
    keys = ("embedding",)
    optional = False
    shared = True

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        return (VOCABULARY,)

    def key(self, config: Config) -> dict[str, Json]:
        from trlap.embeddings.vectors import fingerprint

        key = fingerprint(config.embedding)
        return key | {"coordinates": "normal"} if self._normal(config) else key

    def _normal(self, config: Config) -> bool:
        """Only where vectors are drawn does it matter how."""
        drawn = config.embedding.source == "random" and config.embedding.path is None
        return config.protocol.random_is_normal and drawn

    def run(self, inputs: Inputs) -> "Vectors":
        from trlap.embeddings.vectors import build_embedding

        config = inputs.config
        return build_embedding(config.embedding, inputs[VOCABULARY].words, self._normal(config))

    def write(self, output: "Vectors", folder: Path) -> None:
        output.save(folder)

    def read(self, folder: Path) -> "Vectors":
        from trlap.embeddings.vectors import Embedding as Vectors

        return Vectors.read(folder)


EMBEDDING = Embedding()
