"""Sentences on the device, cut into batches of similar length, and packed without padding."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from trlap.data.vocabulary import Vocabulary
from trlap.models.cpu import Layer, dropout, factor_type

WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class Sentences(nn.Module):
    """Sentences in one row of ids, with boundaries between them: |a b c|d e||f|.

    A sentence is read from its boundary on, so an empty one has something to read too; the id after
    each one read is the one to predict, so the last target is the next boundary. As a module without
    parameters it goes where the model goes.
    """

    ids: Tensor
    starts: Tensor
    # with the boundary
    lengths: Tensor

    def __init__(self, texts: Sequence[str], vocabulary: Vocabulary) -> None:
        super().__init__()
        flat, offsets = vocabulary.encode(texts)
        ids = np.insert(flat.astype(np.int64), offsets, len(vocabulary.words))
        starts = offsets[:-1] + np.arange(len(texts))
        lengths = np.diff(offsets) + 1
        for name, values in (("ids", ids), ("starts", starts), ("lengths", lengths)):
            self.register_buffer(name, torch.from_numpy(values), persistent=False)

    def places(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Where in `ids` the tokens of these sentences are, a sentence a row, and how many are its own."""
        lengths = self.lengths[rows]
        steps = torch.arange(int(lengths.max()), device=lengths.device)
        return self.starts[rows, None] + steps, lengths


def cut(
    lengths: NDArray[np.int64], size: int, key: Sequence[int], one_length: bool = False
) -> list[NDArray[np.int64]]:
    """Batches of neighbours in length, equal lengths and the batches themselves in an order drawn by key.

    `one_length`: no batch has two lengths, so that the last one of each length may be smaller.
    """
    rng = np.random.default_rng(key)
    order = np.lexsort((rng.random(len(lengths)), lengths))
    parts = np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1) if one_length else [order]
    batches = [part[i : i + size] for part in parts for i in range(0, len(part), size)]
    return [batches[i] for i in rng.permutation(len(batches))]


class Layout:
    """Tokens of a batch without padding: all first ones, then all second ones, …; long sentences first."""

    def __init__(self, lengths: Tensor) -> None:
        self.order = lengths.argsort(descending=True, stable=True)
        steps = torch.arange(int(lengths.max()), device=lengths.device)
        self.filled = steps[:, None] < lengths[self.order]
        # sentences that have a token at each step
        self.sizes = self.filled.sum(1).cpu()
        # each token's sentence
        self.owner = self.order.expand_as(self.filled)[self.filled]

    def pack(self, padded: Tensor) -> Tensor:
        """The tokens of a batch that has a sentence a row."""
        return padded[self.order, : len(self.filled)].T[self.filled]

    def run(self, lstm: nn.LSTM, rows: Tensor) -> tuple[Tensor, Tensor]:
        """An LSTM over packed rows: its outputs, packed, and its last states, sentences as they were."""
        wide = factor_type(rows.dtype) == rows.dtype
        if self.sizes[0] == self.sizes[-1] and (wide or not rows.is_cpu):
            # packing is the plain layout already, which is faster
            outputs, (last, _) = lstm(rows.view(len(self.sizes), len(self.order), -1))
            return outputs.flatten(0, 1), last
        back = self.order.argsort()
        if not rows.is_cpu:
            outputs, (last, _) = lstm(PackedSequence(rows, self.sizes, self.order, back))
            return outputs.data, last
        sizes = self.sizes.tolist()
        starts = self.sizes.cumsum(0) - self.sizes
        # each sentence's last row
        ends = starts[self.filled.sum(0) - 1] + torch.arange(len(back))
        states = []
        for layer in range(lstm.num_layers):
            rows = dropout(rows, lstm.dropout, lstm.training and layer > 0)
            # once for both directions
            rows = rows.to(factor_type(rows.dtype))
            both = []
            for reverse in range(1 + lstm.bidirectional):
                name = f"_l{layer}" + "_reverse" * reverse
                w, u, b, c = (getattr(lstm, kind + name) for kind in WEIGHTS)
                both.append(Layer.apply(rows, w, u, b + c, sizes, reverse))
                states.append(both[-1].index_select(0, back if reverse else ends[back]))
            rows = torch.cat(both, dim=1)
        return rows, torch.stack(states)
