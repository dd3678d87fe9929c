"""A public map from a document to a vector. What it says of one document depends on that document alone.

That is a condition of every promise for whole documents: if a vector changed with what else is in its batch,
by padding or by the order of a sum, another document's words would have a say in this one's answer. So a
document is encoded by itself, and no batch has two.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trlap.embeddings.assets import ASSETS, fetch
from trlap.errors import TrlapError
from trlap.progress import progress
from trlap.runs import signals
from trlap.runs.records import Json

if TYPE_CHECKING:
    from trlap.data.vocabulary import Vocabulary

Floats = NDArray[np.float32]

# word pieces of a document that are read; all-MiniLM-L6-v2 was trained on no more
MOST_PIECES = 128
# what stands for an encoder in the key of a folder; words and their vectors stand for themselves
FINGERPRINTS: dict[str | None, Json] = {
    "minilm": {"model": ASSETS["minilm"].content, "pieces": MOST_PIECES},
    "words": "the mean of the words' vectors",
}


class Encoder(ABC):
    """Gives every document a vector of length 1, or of zeros where it says nothing."""

    # stands for it where vectors are worth keeping, which are made slowly
    fingerprint: Json = None

    @abstractmethod
    def vector(self, text: str) -> Floats:
        """The vector of one document."""

    def encode(self, texts: Sequence[str], what: str = "documents") -> Floats:
        """A row for each document."""
        with progress(f"encoding {what}", "documents") as show:
            return self.rows(texts, lambda number: show(number / len(texts), number))

    def rows(
        self, texts: Sequence[str], done: Callable[[int], None] = lambda number: None
    ) -> Floats:
        """A row for each document, without a bar of its own."""
        rows = []
        # closed at once where somebody stops it, not when its frame is forgotten
        with closing(self._vectors(texts)) as vectors:
            for number, vector in enumerate(vectors, start=1):
                signals.check()
                rows.append(vector)
                done(number)
        return np.stack(rows) if rows else np.zeros((0, self.vector("").shape[0]), np.float32)

    def _vectors(self, texts: Sequence[str]) -> Generator[Floats, None, None]:
        """Of one document after another."""
        yield from map(self.vector, texts)


class MiniLM(Encoder):
    """The mean of all-MiniLM-L6-v2's last states over the word pieces of a document."""

    def __init__(self, device: str, side_by_side: int = 1) -> None:
        """So many documents are read side by side, each still by itself and with one thread.

        Torch lets other threads go on while it computes, so that two cores read two documents; and one thread
        a document gives the same bits however many stand side by side.
        """
        self.device, self.side_by_side = device, side_by_side
        # another device gives other bits
        self.fingerprint = [FINGERPRINTS["minilm"], device]
        self._reading = Lock()

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModel, AutoTokenizer

        from trlap.models.classifiers._forms import pretrained

        torch.set_num_threads(1)
        folder = str(fetch("minilm"))
        model = pretrained(AutoModel, folder).to(self.device).eval()
        return pretrained(AutoTokenizer, folder), model

    def vector(self, text: str) -> Floats:
        import torch

        tokenizer, model = self._parts
        # its settings are changed while it reads, which two threads may not do at once
        with self._reading:
            pieces = tokenizer(text, truncation=True, max_length=MOST_PIECES, return_tensors="pt")
        with torch.inference_mode():
            states = model(**pieces.to(self.device)).last_hidden_state[0]
        return _unit(states.mean(0).cpu().numpy())

    def _vectors(self, texts: Sequence[str]) -> Generator[Floats, None, None]:
        if self.side_by_side == 1:
            return super()._vectors(texts)
        # loaded here, and not by all threads at once
        assert self._parts
        return self._together(texts)

    def _together(self, texts: Sequence[str]) -> Generator[Floats, None, None]:
        waiting = deque(self._pool.submit(self.vector, text) for text in texts)
        try:
            while waiting:
                yield waiting.popleft().result()
        finally:
            # whoever stops early waits for none
            for vector in waiting:
                vector.cancel()

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        import torch

        # kept as long as the encoder: torch makes what it needs for a shape once in each thread
        return ThreadPoolExecutor(self.side_by_side, "encoder", torch.set_num_threads, (1,))


class MeanWords(Encoder):
    """The mean of the public vectors of a document's words, centred: weaker than MiniLM, and fast."""

    def __init__(self, vocabulary: "Vocabulary", vectors: Floats) -> None:
        if len(vocabulary.words) != len(vectors):
            raise TrlapError(f"{len(vocabulary.words)} words but {len(vectors)} vectors")
        self.vocabulary = vocabulary
        self.vectors = vectors - (vocabulary.prior @ vectors).astype(np.float32)

    def vector(self, text: str) -> Floats:
        ids = [self._ids.get(word, 0) for word in text.split()]
        if not ids:
            return np.zeros(self.vectors.shape[1], np.float32)
        return _unit(self.vectors[ids].mean(0, dtype=np.float64))

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vocabulary.words)}


def _unit(vector: NDArray[Any]) -> Floats:
    length = float(np.linalg.norm(vector))
    unit: Floats = (vector / length if length > 0 else vector).astype(np.float32)
    return unit
