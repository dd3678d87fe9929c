"""Generators keyed by (seed, purpose, block)."""

import hashlib

import numpy as np
import torch

from trlap.randomness import block_generator, block_seed, seed_torch, seeded

CPU = torch.device("cpu")


def test_the_generator_uses_every_bit() -> None:
    """PyTorch alone keeps 32 bits of a seed: 1 and 2³² + 1 would be the same. NumPy has the oracle."""
    drawn = [
        torch.randint(2**16, (8,), generator=seeded(key, torch.device("cpu"))).tolist()
        for key in (b"a" * 64, b"a" * 63 + b"b", b"b" + b"a" * 63)
    ]
    assert len({tuple(row) for row in drawn}) == 3
    key = np.frombuffer(hashlib.shake_256(b"a" * 64).digest(4 * 624), "<u4")
    twister = np.random.MT19937()
    twister.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}
    assert drawn[0] == (twister.random_raw(8) % 2**16).tolist()


def test_every_part_of_a_key_counts_and_nothing_else() -> None:
    keys = [(1, "test", 0), (2, "test", 0), (1, "train", 0), (1, "test", 1)]
    draws = [tuple(torch.rand(4, generator=block_generator(*key, CPU)).tolist()) for key in keys]
    assert len(set(draws)) == len({block_seed(*key) for key in keys}) == 4
    torch.rand(100)
    assert tuple(torch.rand(4, generator=block_generator(*keys[0], CPU)).tolist()) == draws[0]


def test_seeds_never_change_their_meaning() -> None:
    """Private texts and trained weights of earlier versions come from these."""
    assert block_seed(42, "rewrite/weights", 0) == 1712956697576120997
    drawn = torch.randint(2**31, (3,), generator=block_generator(42, "test", 7, CPU))
    assert drawn.tolist() == [61135928, 1210106697, 325122729]


def test_torch_is_seeded_by_the_same_keys() -> None:
    with torch.random.fork_rng([]):
        seed_torch(42, "rewrite/weights", 0)
        first = torch.rand(3)
        torch.manual_seed(block_seed(42, "rewrite/weights", 0))
        assert torch.equal(torch.rand(3), first)
        seed_torch(42, "rewrite/weights", 1)
        assert not torch.equal(torch.rand(3), first)
