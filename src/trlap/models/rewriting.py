"""From a task to the auto-encoder's training, and from its codes to sentences.

What the encoder reads depends on the protocol: private words, or noisy vectors of the original ones
(`trlap.models.rewriters.base`).
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor

from trlap.data.rows import SPLITS, texts
from trlap.models.autoencoder import AutoEncoder, Code
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
# what some of the training sentences are called that are read once more, to score them
SAMPLE = "sample"


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
    splits: dict[str, Sequence[int]] = dict(zip(SPLITS, map(range, ends, ends[1:]), strict=True))
    if task.protocol.loss_on_training:
        splits[SAMPLE] = _sample(task.seed, splits["train"], len(splits["validation"]))
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
        splits,
        keys,
        task.seed,
        cast("ReleasedMechanism", task.mechanism) if redraws else None,
        task.identity,
        task.protocol.one_length_batches,
    )


def _sample(seed: int, rows: Sequence[int], size: int) -> list[int]:
    """So many of these rows, or all, in their order."""
    order = np.random.default_rng([seed, *SAMPLE.encode()]).permutation(rows)
    return sorted(order[:size].tolist())


@torch.inference_mode()
def write(training: Training, split: str, words: Sequence[str]) -> Written:
    """What the encoder read once serves text and loss, so where the protocol redraws its noise is drawn once.

    The loss is of a drawn code; the text is written from its mean.
    """
    limit = training.keys.max_length or training.longest() + ROOM
    sentences = dict.fromkeys(training.splits[split], "")
    loss, count = 0.0, 0
    for batch, code, drawn in _read(training, split):
        part, tokens = training.loss(batch.to(training.device), drawn)
        loss, count = loss + part.item(), count + tokens
        written = training.model.write(code.mean, limit)
        for row, ids in zip(batch.tolist(), written, strict=True):
            sentences[row] = " ".join(words[i] for i in ids.tolist() if i != len(words))
    return Written(list(sentences.values()), loss, count)


@torch.inference_mode()
def sample_loss(training: Training) -> float | None:
    """The loss of the sample of training sentences, summed over a sentence's words and its end, averaged
    over sentences; null where there is no such sample, or nothing in it.
    """
    sentences = len(training.splits.get(SAMPLE, ()))
    losses = [
        training.loss(batch.to(training.device), drawn)[0].item()
        for batch, _, drawn in (_read(training, SAMPLE) if sentences else ())
    ]
    return sum(losses) / sentences if sentences else None


def _read(training: Training, split: str) -> Iterator[tuple[Tensor, Code, Tensor]]:
    """The batches of a split once training is over, what the encoder makes of each, and a draw of that."""
    for number, batch in training.batches(split):
        with training.drawn(split, "final", number) as generator:
            code = training.code(batch.to(training.device), generator)
            drawn = code.drawn()
        yield batch, code, drawn


def draws(training: Training, epochs: int, rewritten: Collection[str]) -> dict[str, Draws]:
    """By split, how often the encoder read each sentence, every time with fresh noise, and in how many
    batches, each of which has one noise vector where it is shared.

    Of the training split some sentences are read once more where the protocol scores a sample of them: the
    count is that of these.
    """
    passes = {"train": epochs, "validation": epochs, "test": 0}
    counts = {}
    for split in SPLITS:
        times = passes[split] + (split in rewritten)
        counts[split] = Draws(times, times * len(training.batches(split)))
    if training.splits.get(SAMPLE):
        once_more = counts["train"].batches + len(training.batches(SAMPLE))
        counts["train"] = Draws(counts["train"].passes + 1, once_more)
    return counts
