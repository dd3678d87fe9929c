"""Explicit randomness: every draw takes a generator, keyed by (seed, purpose, block).

A key that names its purpose and its place depends on nothing else: not on the batch size, the number of
workers or what was drawn before.
"""

import hashlib

import numpy as np
import torch


def block_seed(seed: int, purpose: str, block: int) -> int:
    """63 bits that stand for (seed, purpose, block)."""
    key = hashlib.sha256(f"{seed}/{purpose}/{block}".encode()).digest()
    return int.from_bytes(key[:8], "big") >> 1


def block_generator(seed: int, purpose: str, block: int, device: torch.device) -> torch.Generator:
    """A generator that stands for (seed, purpose, block)."""
    return seeded(f"{seed}/{purpose}/{block}".encode(), device)


def seeded(entropy: bytes, device: torch.device) -> torch.Generator:
    """A generator that depends on every bit of `entropy`.

    On the CPU PyTorch uses 32 bits of a seed, few enough to try them all on a private text. So the whole
    state of its Mersenne twister is filled, 624 words of 32 bits.
    """
    generator = torch.Generator(device)
    stream = hashlib.shake_256(entropy).digest(4 * 624)
    if device.type != "cpu":
        return generator.manual_seed(int.from_bytes(stream[:8], "big") >> 1)
    state = generator.manual_seed(0).get_state().numpy()
    # after the seed, two counters and an index come the words, each in 64 bits
    state[24 : 24 + 8 * 624] = np.frombuffer(stream, "<u4").astype("<u8").view(np.uint8)
    return generator.set_state(torch.from_numpy(state))


def seed_torch(seed: int, purpose: str, number: int) -> None:
    """All of torch's own generators that are in use, keyed like those of the noise.

    `torch.manual_seed` would note the whole call stack for devices that are not: a third of a small step.
    """
    value = block_seed(seed, purpose, number)
    torch.default_generator.manual_seed(value)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(value)
    if torch.backends.mps.is_available():
        torch.mps.manual_seed(value)
