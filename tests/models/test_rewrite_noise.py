"""Word noise: what it may touch, and how often it does."""

import pytest
import torch

from trlap.models.word_noise import drop, replace, shuffle

SENTENCES, LENGTH = 4000, 11
PLACES = torch.arange(SENTENCES)[:, None] * 100 + torch.arange(LENGTH)
LENGTHS = torch.randint(1, LENGTH + 1, (SENTENCES,), generator=torch.Generator().manual_seed(0))
INSIDE = torch.arange(LENGTH) < LENGTHS[:, None]
WORDS = int(INSIDE[:, 1:].sum())


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def near(count: float, share: float, draws: int = WORDS) -> bool:
    """Five standard deviations: fails for a right function less than once in a million seeds."""
    return abs(count - share * draws) <= 5 * (share * (1 - share) * draws) ** 0.5


def test_drop_leaves_out_words_and_keeps_their_order() -> None:
    left, lengths = drop(PLACES, LENGTHS, 0.1)
    assert near(int((LENGTHS - lengths).sum()), 0.1)
    assert (left[:, 0] == PLACES[:, 0]).all()
    for row, length, before in zip(left[:200], lengths[:200], LENGTHS[:200], strict=True):
        kept = row[:length] % 100
        assert (kept.diff() > 0).all()
        assert kept[-1] < before


def test_shuffle_moves_words_a_little() -> None:
    moved = shuffle(PLACES, LENGTHS, 0.1)
    away = (moved - PLACES).abs()
    assert away.max() == 1
    assert (away[:, 0] == 0).all()
    assert (away[~INSIDE] == 0).all()
    # two neighbours change places if 1.1 (U − U') > 1: with probability (0.1 / 1.1)² / 2
    pairs = int(INSIDE[:, 2:].sum())
    assert near(int(away.sum()) / 2, (0.1 / 1.1) ** 2 / 2, pairs)
    assert (shuffle(PLACES, LENGTHS, 3.0) - PLACES).abs().max() == 3


@pytest.mark.parametrize(("blank", "substitute"), [(0.1, 0.0), (0.0, 0.1), (0.1, 0.1)])
def test_replace_blanks_and_substitutes_words_alone(blank: float, substitute: float) -> None:
    size = 50
    ids = torch.randint(size + 1, (100_000,))
    new = replace(ids, size, blank, substitute)
    words = ids < size
    assert (new[~words] == size).all()
    new, ids = new[words], ids[words]
    assert near(int((new == size + 1).sum()), blank * (1 - substitute), len(ids))
    other = (new != ids) & (new <= size)
    # a word drawn evenly from 49 is the one that stood there once in 49 times, but never <unk>
    share = substitute * (1 - 1 / (size - 1) * (1 - 1 / size))
    assert near(int(other.sum()), share, len(ids))
    assert not (other & (new == 0)).any()
    assert set(new[other].tolist()) == (set(range(1, size)) if substitute else set())
