"""The classifiers, each with the form in which it reads a split. Forms are made once for all seeds.

    average      softmax(W₂ relu(W₁ dropout(mean of the word vectors)))         the paper's
    bilstm       softmax(W dropout(maximum over the outputs of a BiLSTM))
    transformer  a sequence-classification model of transformers, fine-tuned

A word's vector is T_w + g_w R_s(w). T is what the classifier is given and stays; R is learned and starts at
zero, which is the same as learning from T on. So train and test may have tables T of their own, as
classify.debias needs, and the mean of a sentence's T_w is computed once. s(w) is w and g_w is 1; under
classify.debias words that the channel cannot tell apart share a row of R, and g_w of a private word is
the probability that the word that was there shares it too (trlap.models.decoding).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from trlap.config import schema as config
from trlap.data.tokens import Vocabulary
from trlap.errors import TrlapError
from trlap.models.decoding import Table
from trlap.models.packing import Layout, Sentences, cut

Batches = list[NDArray[np.int64]]
EVALUATED = 4096  # sentences at once


class Means:
    """Sentences as the average classifier reads them: ids, and the mean of T over each."""

    def __init__(
        self, texts: Sequence[str], vocabulary: Vocabulary, table: Table, device: str
    ) -> None:
        ids, offsets = vocabulary.encode(texts)
        self.ids = torch.from_numpy(ids.astype(np.int64)).to(device)
        self.starts = torch.from_numpy(offsets[:-1]).to(device)
        self.lengths = torch.from_numpy(np.diff(offsets)).to(device)
        self.size = len(texts)
        self.shares = torch.from_numpy(table.shares).to(device)
        self.trust = torch.from_numpy(table.trust).to(device)
        vectors = torch.from_numpy(table.vectors).to(device)
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


class Average(nn.Module):
    def __init__(self, shape: tuple[int, int], classes: int, cfg: config.Classifier) -> None:
        super().__init__()
        assert cfg.hidden is not None and cfg.dropout is not None
        self.displacement = nn.Parameter(torch.zeros(shape))
        self.displacement.grad = torch.zeros(shape)  # for SummedRows
        self.dropout = nn.Dropout(cfg.dropout)
        self.hidden = nn.Linear(shape[1], cfg.hidden)
        self.output = nn.Linear(cfg.hidden, classes)

    def forward(self, read: Means, rows: Tensor) -> Tensor:
        mean = read.displaced(self.displacement, rows)
        scores: Tensor = self.output(self.hidden(self.dropout(mean)).relu())
        return scores


class Tokens:
    """Sentences as the BiLSTM reads them, each from a boundary on, so that an empty one is read too."""

    def __init__(
        self, texts: Sequence[str], vocabulary: Vocabulary, table: Table, device: str
    ) -> None:
        self.sentences = Sentences(texts, vocabulary).to(device)
        self.size = len(texts)
        # with one row more, for the boundary
        self.vectors = torch.from_numpy(np.pad(table.vectors, ((0, 1), (0, 0)))).to(device)
        self.shares = torch.from_numpy(np.append(table.shares, len(table.shares))).to(device)
        self.trust = torch.from_numpy(np.append(table.trust, np.float32(1))).to(device)

    def order(self, batch: int, key: Sequence[int]) -> Batches:
        return cut(self.sentences.lengths.cpu().numpy(), batch, key)


class BiLSTM(nn.Module):
    def __init__(self, shape: tuple[int, int], classes: int, cfg: config.Classifier) -> None:
        super().__init__()
        assert cfg.hidden is not None and cfg.dropout is not None
        words, dimension = shape
        self.displacement = nn.Parameter(torch.zeros(words + 1, dimension))
        self.lstm = nn.LSTM(dimension, cfg.hidden, bidirectional=True)
        self.dropout = nn.Dropout(cfg.dropout)
        self.output = nn.Linear(2 * cfg.hidden, classes)

    def forward(self, read: Tokens, rows: Tensor) -> Tensor:
        places, lengths = read.sentences.places(rows)
        layout = Layout(lengths)
        ids = read.sentences.ids[layout.pack(places)]
        moved = nn.functional.embedding(read.shares[ids], self.displacement)
        vectors = read.vectors[ids] + moved * read.trust[ids, None]
        states, _ = layout.run(self.lstm, self.dropout(vectors))
        owner = layout.owner[:, None].expand_as(states)
        lowest = states.new_full((len(rows), states.shape[1]), -torch.inf)
        most = lowest.scatter_reduce(0, owner, states, "amax")
        scores: Tensor = self.output(self.dropout(most))
        return scores


class Pieces:
    """Texts as a transformer reads them: word pieces, cut at `max_length`."""

    def __init__(self, texts: Sequence[str], cfg: config.Classifier, device: str) -> None:
        from transformers import AutoTokenizer

        self.tokenizer, self.device = pretrained(AutoTokenizer, cfg), device
        options = {"truncation": True, "max_length": cfg.max_length} if cfg.max_length else {}
        self.pieces = self.tokenizer(list(texts), **options)["input_ids"]
        self.size = len(texts)

    def order(self, batch: int, key: Sequence[int]) -> Batches:
        return cut(np.array([len(pieces) for pieces in self.pieces]), batch, key)


class Transformer(nn.Module):
    def __init__(self, classes: int, cfg: config.Classifier) -> None:
        super().__init__()
        from transformers import AutoModelForSequenceClassification

        # a head for another number of classes is replaced by a new one
        options = {"num_labels": classes, "ignore_mismatched_sizes": True, "use_safetensors": True}
        self.model = pretrained(AutoModelForSequenceClassification, cfg, **options)

    def forward(self, read: Pieces, rows: Tensor) -> Tensor:
        chosen = {"input_ids": [read.pieces[i] for i in rows.tolist()]}
        batch = read.tokenizer.pad(chosen, return_tensors="pt").to(read.device)
        scores: Tensor = self.model(**batch).logits
        return scores


def pretrained(kind: Any, cfg: config.Classifier, **options: Any) -> Any:
    """From a folder or the hub; no code and no pickle from it is run."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        return kind.from_pretrained(cfg.model, trust_remote_code=False, **options)
    except Exception as error:  # the hub's client raises its own, its HTTP library's and OSError
        raise TrlapError(
            f"classifier.model={cfg.model}: neither a folder with a model, its tokenizer and "
            f"model.safetensors, nor to be had from the Hugging Face hub ({type(error).__name__})"
        ) from error
    finally:
        logging.set_verbosity(level)
