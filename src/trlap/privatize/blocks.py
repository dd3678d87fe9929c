"""Algorithm 1 over whole corpora, in fixed blocks of tokens.

Each block draws from a generator of its own, keyed by (seed, split, block), so that a result does not
depend on the batch size, the number of workers or what else was privatised before.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from trlap.data.tokens import Vocabulary
from trlap.mechanisms.base import Base

BLOCK = 1024  # tokens; part of what a seed means, so never change it


def block_seed(seed: int, purpose: str, block: int) -> int:
    """63 bits that stand for (seed, purpose, block)."""
    key = hashlib.sha256(f"{seed}/{purpose}/{block}".encode()).digest()
    return int.from_bytes(key[:8], "big") >> 1


def block_generator(seed: int, purpose: str, block: int, device: torch.device) -> torch.Generator:
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


def privatize(
    mechanism: Base,
    words: NDArray[np.int32],
    generator: Callable[[int], torch.Generator],
    progress: Callable[[int], None] = lambda tokens: None,
) -> NDArray[np.int32]:
    """A private word for every word. `generator(block)` gives the randomness of each block."""
    private = np.empty_like(words)
    device = mechanism.space.device
    for block, start in enumerate(range(0, len(words), BLOCK)):
        part = torch.from_numpy(words[start : start + BLOCK].astype(np.int64)).to(device)
        private[start : start + BLOCK] = mechanism.draw(part, generator(block)).cpu().numpy()
        progress(len(part))
    return private


@dataclass(frozen=True)
class Private:
    """Private texts, and how many tokens were unknown words and how many of those were let through."""

    texts: list[str]
    tokens: int
    unknown: int
    leaked: int


def privatize_texts(
    mechanism: Base,
    vocabulary: Vocabulary,
    texts: Sequence[str],
    generator: Callable[[int], torch.Generator],
    oov: str = "unk",
    progress: Callable[[int], None] = lambda tokens: None,
) -> Private:
    """Privatise every position of tokenised texts.

    A token outside the vocabulary is `<unk>`, a word like any other, and is privatised too, or its
    positions would leak. `oov=keep` passes it through instead: those tokens are counted as leaked.
    """
    words, offsets = vocabulary.encode(texts)
    private = np.array(vocabulary.words, dtype=object)[
        privatize(mechanism, words, generator, progress)
    ]
    unknown = np.flatnonzero(words == 0)
    if oov == "keep":
        original = [token for text in texts for token in text.split()]
        for i in unknown:
            private[i] = original[i]
    lines = [" ".join(private[start:end]) for start, end in pairwise(offsets)]
    return Private(lines, len(words), len(unknown), len(unknown) if oov == "keep" else 0)
