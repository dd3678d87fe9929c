"""Sentences on the device, cut into batches of similar length, and packed without padding."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from trlap.data.tokens import Vocabulary


class Sentences(nn.Module):
    """Sentences in one row of ids, with boundaries between them: |a b c|d e||f|.

    A sentence is read from its boundary on, so an empty one has something to read too; the id after
    each one read is the one to predict, so the last target is the next boundary. As a module without
    parameters it goes where the model goes.
    """

    ids: Tensor
    starts: Tensor
    lengths: Tensor  # with the boundary

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


def cut(lengths: NDArray[np.int64], size: int, key: Sequence[int]) -> list[NDArray[np.int64]]:
    """Batches of neighbours in length, equal lengths and the batches themselves in an order drawn by key."""
    rng = np.random.default_rng(key)
    order = np.lexsort((rng.random(len(lengths)), lengths))
    batches = [order[i : i + size] for i in range(0, len(order), size)]
    return [batches[i] for i in rng.permutation(len(batches))]


class Layout:
    """Tokens of a batch without padding: all first ones, then all second ones, …; long sentences first."""

    def __init__(self, lengths: Tensor) -> None:
        self.order = lengths.argsort(descending=True, stable=True)
        steps = torch.arange(int(lengths.max()), device=lengths.device)
        self.filled = steps[:, None] < lengths[self.order]
        self.sizes = self.filled.sum(1).cpu()  # sentences that have a token at each step
        self.owner = self.order.expand_as(self.filled)[self.filled]  # each token's sentence

    def pack(self, padded: Tensor) -> Tensor:
        """The tokens of a batch that has a sentence a row."""
        return padded[self.order, : len(self.filled)].T[self.filled]

    def run(self, lstm: nn.LSTM, rows: Tensor) -> tuple[Tensor, Tensor]:
        """An LSTM over packed rows: its outputs, packed, and its last states, sentences as they were.

        Where all have one length, which is most batches, packing is the plain layout already, and the
        plain call takes a quarter less time on a CPU.
        """
        if self.sizes[0] == self.sizes[-1]:
            outputs, (states, _) = lstm(rows.view(len(self.sizes), len(self.order), -1))
            return outputs.flatten(0, 1), states
        packed = PackedSequence(rows, self.sizes, self.order, self.order.argsort())
        outputs, (states, _) = lstm(packed)
        return outputs.data, states
