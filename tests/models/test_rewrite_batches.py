"""Batches hold every sentence once, of similar length; packing changes no result."""

import numpy as np
import pytest
import torch
from rewrite_helpers import VOCABULARY
from torch import nn

from trlap.models.packing import Layout, Sentences, cut

LENGTHS = np.random.default_rng(0).integers(1, 30, 1000)


def test_every_sentence_once_and_neighbours_in_length() -> None:
    batches = cut(LENGTHS, 64, [1, 0])
    assert sorted(np.concatenate(batches)) == list(range(1000))
    assert sorted(map(len, batches)) == [1000 % 64] + [64] * (1000 // 64)
    spread = [np.ptp(LENGTHS[batch]) for batch in batches]
    assert max(spread) <= 3  # 29 lengths over 15 batches


def test_batches_of_one_length() -> None:
    batches = cut(LENGTHS, 16, [1, 0], one_length=True)
    assert sorted(np.concatenate(batches)) == list(range(1000))
    assert max(map(len, batches)) == 16
    assert all(np.ptp(LENGTHS[batch]) == 0 for batch in batches)
    counts = np.bincount(LENGTHS)
    # of every length one batch at most is smaller
    assert len(batches) == sum(-(-counts // 16))
    again = cut(LENGTHS, 16, [1, 1], one_length=True)
    assert {frozenset(b) for b in batches} != {frozenset(b) for b in again}
    assert len(again) == len(batches)
    assert cut(LENGTHS[:0], 16, [0], one_length=True) == []


def test_the_order_is_keyed() -> None:
    def order(*key: int) -> list[list[int]]:
        return [batch.tolist() for batch in cut(LENGTHS, 64, key)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1) != order(2, 1)
    assert {frozenset(b) for b in order(1, 0)} != {frozenset(b) for b in order(1, 1)}
    assert cut(LENGTHS[:0], 64, [0]) == []


def test_a_sentence_is_read_from_its_boundary_and_the_next_boundary_ends_it() -> None:
    texts = ["the cook", "", "soup nonsense", ""]
    sentences = Sentences(texts, VOCABULARY)
    end = len(VOCABULARY.words)
    for row, text in enumerate(texts):
        ids = [VOCABULARY.words.index(w) if w in VOCABULARY.words else 0 for w in text.split()]
        places, (length,) = sentences.places(torch.tensor([row]))
        assert sentences.ids[places[0, :length]].tolist() == [end, *ids]
        assert sentences.ids[places[0, :length] + 1].tolist() == [*ids, end]


@pytest.mark.parametrize("lengths", [[3, 1, 5, 5, 2], [4, 4, 4]])
@pytest.mark.parametrize("layers", [1, 2])
def test_packing_changes_no_result(lengths: list[int], layers: int) -> None:
    torch.manual_seed(0)
    lstm = nn.LSTM(6, 5, layers, bidirectional=True)
    padded = torch.randn(len(lengths), max(lengths), 6)
    layout = Layout(torch.tensor(lengths))
    rows = torch.stack([layout.pack(padded[:, :, i]) for i in range(6)], dim=1)
    assert len(rows) == sum(lengths)
    outputs, states = layout.run(lstm, rows)
    for i, length in enumerate(lengths):
        alone, (last, _) = lstm(padded[i, :length])
        torch.testing.assert_close(outputs[layout.owner == i], alone)
        torch.testing.assert_close(states[:, i], last)
