"""Stage `documents`: a vector for every document, where a mechanism answers for whole documents, or where a
classifier learns from public ones.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from trlap.config.door import Config
from trlap.data.corpus import PUBLIC
from trlap.data.rows import SPLITS
from trlap.errors import TrlapError
from trlap.files import write_array
from trlap.runs.records import Json
from trlap.stages.base import Inputs, Stage
from trlap.stages.corpus import CORPUS
from trlap.stages.embedding import EMBEDDING
from trlap.stages.noise import covers_labels
from trlap.stages.vocabulary import VOCABULARY

if TYPE_CHECKING:
    from trlap.documents.candidates import Candidates
    from trlap.documents.encoder import Encoder, Floats

Other = TypeVar("Other")


class Reads(Protocol):
    """Who has the outputs of stages."""

    config: Config

    def __getitem__(self, stage: Stage[Other]) -> Other: ...


@dataclass(frozen=True)
class DocumentVectors:
    """A row for each document: of those that were set aside, and of every split."""

    public: "Floats"
    splits: dict[str, "Floats"]


class Documents(Stage[DocumentVectors]):
    name = "documents"
    doing = "encoding documents"
    version = 1
    keys = ("mechanism", "classifier")
    optional = False
    shared = True

    def reads(self, config: Config) -> tuple[Stage[Any], ...]:
        words = (VOCABULARY, EMBEDDING) if _encoder(config) == "words" else ()
        return (CORPUS, *words)

    def key(self, config: Config) -> dict[str, Json]:
        from trlap.documents.encoder import FINGERPRINTS

        return {"encoder": FINGERPRINTS.get(_encoder(config), str(_encoder(config)))}

    def skipped(self, config: Config) -> str | None:
        if _encoder(config) is None:
            return f"mechanism={config.mechanism.name} answers for words"
        return None

    def check(self, config: Config) -> None:
        from trlap.documents.encoder import FINGERPRINTS

        if _encoder(config) not in FINGERPRINTS:
            raise TrlapError(
                f"mechanism.encoder={_encoder(config)}: must be one of {', '.join(map(str, FINGERPRINTS))}"
            )

    def run(self, inputs: Inputs) -> DocumentVectors:
        import numpy as np

        corpus = inputs[CORPUS]
        assert corpus.public is not None
        texts = {PUBLIC: corpus.public.texts}
        texts |= {name: split.texts for name, split in corpus.splits.items()}
        rows = self._encoded(inputs, [text for part in texts.values() for text in part])
        ends = np.cumsum([len(part) for part in texts.values()])
        vectors = dict(zip(texts, np.split(rows, ends[:-1]), strict=True))
        return DocumentVectors(vectors.pop(PUBLIC), vectors)

    def _encoded(self, inputs: Inputs, texts: list[str]) -> "Floats":
        """Words are looked up as fast as their vectors could be read; a transformer's are kept."""
        import torch

        from trlap.documents.store import Store

        encoder = self._encoder(inputs)
        if encoder.fingerprint is None:
            return encoder.encode(texts)
        cache = Path(inputs.config.outputs) / "cache"
        rows = Store(cache, encoder.fingerprint).encode(texts, encoder)
        # one a document; what follows has all of them again
        torch.set_num_threads(inputs.machine.threads)
        return rows

    def _encoder(self, inputs: Inputs) -> "Encoder":
        from trlap.documents.encoder import MeanWords, MiniLM

        if _encoder(inputs.config) == "words":
            return MeanWords(inputs[VOCABULARY], inputs[EMBEDDING].vectors)
        return MiniLM(inputs.machine.device, inputs.machine.threads)

    def write(self, output: DocumentVectors, folder: Path) -> None:
        for name, rows in ({PUBLIC: output.public} | output.splits).items():
            write_array(folder / f"{name}.npy", rows)

    def read(self, folder: Path) -> DocumentVectors:
        import numpy as np

        rows = {name: np.load(folder / f"{name}.npy") for name in (PUBLIC, *SPLITS)}
        return DocumentVectors(rows.pop(PUBLIC), rows)


def of_documents(config: Config) -> tuple[Stage[Any], ...]:
    """What a stage reads beside words, where the mechanism answers for whole documents."""
    return () if encoder_of(config) is None else (CORPUS, DOCUMENTS)


def candidates(inputs: Reads) -> "Candidates":
    """The public sets that documents are answered from. Their chance is public: it is that of the splits."""
    from trlap.documents.candidates import Candidates
    from trlap.documents.pairs import Pairs
    from trlap.mechanisms.drr import DocumentRandomisedResponse

    config, corpus = inputs.config, inputs[CORPUS]
    assert corpus.public is not None
    texts, vectors = corpus.public.texts, inputs[DOCUMENTS].public
    K = config.mechanism.keys["K"]
    covered = covers_labels(config)
    size = DocumentRandomisedResponse.size(K, config.epsilon, len(set(texts)), covered)
    drawn = Candidates.drawn(texts, vectors, size, config.dataset.seed)
    if not covered:
        return drawn
    directions = DocumentRandomisedResponse.directions(config.epsilon)
    return Pairs.of(drawn, len(corpus.label_names or ()), directions)


def encoder_of(config: Config) -> str | None:
    """By which encoder the mechanism reads whole documents: one that does has such a key."""
    encoder = config.mechanism.keys.get("encoder")
    return None if encoder is None else str(encoder)


def learned_by(config: Config) -> str | None:
    """By which encoder a classifier reads documents that are published or public as they are."""
    asked = getattr(config.classifier.keys, "encoder", None)
    if encoder_of(config) is not None or "classify" not in config.stages:
        return encoder_of(config)
    return None if asked is None else str(asked)


def _encoder(config: Config) -> str | None:
    return encoder_of(config) or learned_by(config)


DOCUMENTS = Documents()
