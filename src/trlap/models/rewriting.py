"""From a task to the auto-encoder's training, and from its codes to sentences.

What the encoder reads depends on the protocol: private words, or noisy vectors of the original ones
(`trlap.models.rewriters.base`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, cast

import torch

from trlap.data.rows import SPLITS, texts
from trlap.models.autoencoder import AutoEncoder
from trlap.models.packing import Sentences
from trlap.models.rewriters.base import RewriteTask
from trlap.models.training import Training
from trlap.randomness import seed_torch
from trlap.runs.result import Draws

if TYPE_CHECKING:
    from trlap.mechanisms.released.base import ReleasedMechanism
    from trlap.models.rewriters.bilstm import AutoEncoderKeys

# words by which a rewritten sentence may be longer than any in training
ROOM = 10


@dataclass(frozen=True)
class Written:
    """A split's sentences in their order, their originals' summed loss, and the words of that sum."""

    texts: list[str]
    loss: float
    words: int


def prepare(keys: "AutoEncoderKeys", task: RewriteTask) -> Training:
    """The auto-encoder as it starts, with all that it reads and is to write."""
    parts = [task.rows.get(split, []) for split in SPLITS]
    every = [row for part in parts for row in part]
    ends = list(accumulate(map(len, parts), initial=0))
    originals = Sentences(texts(every, "original"), task.vocabulary)
    privates = Sentences(texts(every, "private"), task.vocabulary)
    # of the training split, with an end for each sentence; one more of each, so that none is zero
    last = int(originals.starts[ends[1]]) if len(every) > ends[1] else None
    counts = originals.ids[:last].bincount(minlength=len(task.vocabulary.words) + 1) + 1.0
    with torch.random.fork_rng([]):
        seed_torch(task.seed, "rewrite/weights", 0)
        model = AutoEncoder(
            torch.from_numpy(task.embedding.vectors),
            counts / counts.sum(),
            hidden=keys.hidden,
            code=keys.code,
            layers=keys.layers,
            dropout=keys.dropout,
            tied=keys.tied,
            sampled=task.protocol.samples_code,
        )
    # a protocol that redraws has mechanisms that take vectors
    redraws = task.protocol.redraws
    return Training(
        model,
        originals if redraws else privates,
        originals,
        dict(zip(SPLITS, map(range, ends, ends[1:]), strict=True)),
        keys,
        task.seed,
        cast("ReleasedMechanism", task.mechanism) if redraws else None,
        task.identity,
    )


def write(training: Training, split: str, words: Sequence[str]) -> Written:
    """One code a sentence serves text and loss, so where the protocol redraws its noise is drawn once."""
    limit = training.keys.max_length or training.longest() + ROOM
    sentences = dict.fromkeys(training.splits[split], "")
    loss, count = 0.0, 0
    with torch.inference_mode():
        for number, batch in training.batches(split):
            rows = batch.to(training.device)
            with training.drawn(split, "final", number) as generator:
                code = training.code(rows, generator)
            part, tokens = training.loss(rows, code)
            loss, count = loss + part.item(), count + tokens
            for row, ids in zip(batch.tolist(), training.model.write(code, limit), strict=True):
                sentences[row] = " ".join(words[i] for i in ids.tolist() if i != len(words))
    return Written(list(sentences.values()), loss, count)


def draws(training: Training, epochs: int, rewritten: Collection[str]) -> dict[str, Draws]:
    """By split, how often the encoder read each sentence, every time with fresh noise, and in how many
    batches, each of which has one noise vector where it is shared.
    """
    passes = {"train": epochs, "validation": epochs, "test": 0}
    counts = {}
    for split in SPLITS:
        times = passes[split] + (split in rewritten)
        counts[split] = Draws(times, times * len(training.batches(split)))
    return counts
