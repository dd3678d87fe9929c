"""Forms in which classifiers read a split. They are made once for all seeds.

A form has a `size` and an `order` of its sentences in batches, which is a function of a key. T, R, g and s
are those of `trlap.models.classifiers._neural.WordVectorClassifier`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding_bag

from trlap.errors import TrlapError
from trlap.mechanisms._decoding import Reading
from trlap.models.packing import Sentences, cut

if TYPE_CHECKING:
    from trlap.data.vocabulary import Vocabulary

Batches = list[NDArray[np.int64]]
# sentences that are read at once where nothing is learned
EVALUATED = 4096


class Means:
    """Sentences as the average classifier reads them: ids, and the mean of T over each."""

    def __init__(
        self, texts: Sequence[str], vocabulary: "Vocabulary", reading: Reading, device: str
    ) -> None:
        ids, offsets = vocabulary.encode(texts)
        self.ids = torch.from_numpy(ids.astype(np.int64)).to(device)
        self.starts = torch.from_numpy(offsets[:-1]).to(device)
        self.lengths = torch.from_numpy(np.diff(offsets)).to(device)
        self.size = len(texts)
        self.shares = torch.from_numpy(reading.shares).to(device)
        self.trust = torch.from_numpy(reading.trust).to(device)
        vectors = torch.from_numpy(reading.vectors).to(device)
        parts = [
            self.words(rows) for rows in torch.arange(self.size, device=device).split(EVALUATED)
        ]
        self.fixed = torch.cat(
            [embedding_bag(words, vectors, offsets, mode="mean") for words, offsets, _ in parts]
        )

    def words(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The words of these sentences in a row, where each sentence begins, and how long it is."""
        lengths = self.lengths[rows]
        offsets = lengths.cumsum(0) - lengths
        shift = (self.starts[rows] - offsets).repeat_interleave(lengths)
        return self.ids[shift + torch.arange(len(shift), device=shift.device)], offsets, lengths

    def displaced(self, displacement: Tensor, rows: Tensor) -> Tensor:
        """The mean over each sentence of T_w + g_w R_s(w); of an empty one, zero."""
        words, offsets, lengths = self.words(rows)
        weights = self.trust[words] / lengths.repeat_interleave(lengths)
        sharing = self.shares[words]
        moved: Tensor = SummedRows.apply(displacement, sharing, offsets, lengths, weights)
        return self.fixed[rows] + moved

    def order(self, batch: int, key: Sequence[int]) -> Batches:
        rows = np.random.default_rng(key).permutation(self.size)
        return [rows[i : i + batch] for i in range(0, self.size, batch)]


class SummedRows(torch.autograd.Function):
    """`embedding_bag` with weights, whose gradient is added to `table.grad` in place, on the rows it concerns.

    Torch's own makes a dense gradient anew every step, which takes longer than all the rest.
    """

    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        table, words, offsets, lengths, weights = inputs
        ctx.table = table
        ctx.save_for_backward(words, lengths, weights)
        return embedding_bag(words, table, offsets, mode="sum", per_sample_weights=weights)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        words, lengths, weights = ctx.saved_tensors
        rows = gradients[0].repeat_interleave(lengths, 0) * weights[:, None]
        ctx.table.grad.index_add_(0, words, rows)
        return (None,) * 5


class Tokens:
    """Sentences as the BiLSTM reads them, each from a boundary on, so that an empty one is read too."""

    def __init__(
        self, texts: Sequence[str], vocabulary: "Vocabulary", reading: Reading, device: str
    ) -> None:
        self.sentences = Sentences(texts, vocabulary).to(device)
        self.size = len(texts)
        # with one row more, for the boundary
        self.vectors = torch.from_numpy(np.pad(reading.vectors, ((0, 1), (0, 0)))).to(device)
        self.shares = torch.from_numpy(np.append(reading.shares, len(reading.shares))).to(device)
        self.trust = torch.from_numpy(np.append(reading.trust, np.float32(1))).to(device)

    def order(self, batch: int, key: Sequence[int]) -> Batches:
        return cut(self.sentences.lengths.cpu().numpy(), batch, key)


class Pieces:
    """Texts as a transformer reads them: word pieces, cut at `max_length`."""

    def __init__(
        self, texts: Sequence[str], model: str | None, max_length: int | None, device: str
    ) -> None:
        from transformers import AutoTokenizer

        self.tokenizer, self.device = pretrained(AutoTokenizer, model), device
        options = {"truncation": True, "max_length": max_length} if max_length else {}
        self.pieces = self.tokenizer(list(texts), **options)["input_ids"]
        self.size = len(texts)

    def order(self, batch: int, key: Sequence[int]) -> Batches:
        return cut(np.array([len(pieces) for pieces in self.pieces]), batch, key)


def pretrained(kind: Any, model: str | None, **options: Any) -> Any:
    """From a folder or the hub; no code and no pickle from it is run."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        return kind.from_pretrained(model, trust_remote_code=False, **options)
    # the hub's client raises its own, its HTTP library's and OSError
    except Exception as error:
        raise TrlapError(
            f"classifier.model={model}: neither a folder with a model, its tokenizer and "
            f"model.safetensors, nor to be had from the Hugging Face hub ({type(error).__name__})"
        ) from error
    finally:
        logging.set_verbosity(level)
