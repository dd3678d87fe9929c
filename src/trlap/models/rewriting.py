"""Stage `rewrite`: an auto-encoder learns to write originals from what was privatised, then rewrites.

protocol=paper: the encoder reads the private words that stage `privatize` wrote, once and for all; the
training split's originals, which are public in this protocol, are what it learns to write. Of other
sentences it sees the private words only, so what it writes is post-processing. Their originals serve to
score it.

protocol=release: the encoder reads noisy vectors of the original words, one noise vector a batch, drawn
anew for every batch of every epoch, and again at test time. Nothing here is post-processing: the audit
counts the draws.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file

from trlap.config import schema as config
from trlap.data.tokens import Vocabulary
from trlap.embeddings.vectors import Table
from trlap.errors import TrlapError
from trlap.mechanisms._released import Released
from trlap.mechanisms.base import Base
from trlap.models.autoencoder import AutoEncoder
from trlap.models.packing import Sentences
from trlap.privatize.blocks import seed_torch
from trlap.runs.cache import atomic

if TYPE_CHECKING:
    from trlap.models.training import Training

SPLITS = ("train", "validation", "test")
ROOM = 10  # words by which a rewritten sentence may be longer than any in training


@dataclass(frozen=True)
class Rewritten:
    """Losses are of the test split: −ln p(original | code of what the encoder read)."""

    texts: dict[str, list[str]]  # by split
    loss: (
        float | None
    )  # summed over a sentence's words and its end, averaged over sentences: the paper's
    token_loss: float | None  # averaged over words and ends
    perplexity: float | None  # e^token_loss
    history: list[dict[str, Any]]  # epoch, train_loss, validation_loss, seconds, tokens_per_second
    precision: str  # in training, which `auto` leaves to the device
    weights: Path  # safetensors; the fine-tuned table is the first rows of `embedding.weight`
    # protocol=release, by split: how often the encoder read each sentence, every time with fresh noise,
    # and in how many batches, each of which has one noise vector where it is shared
    draws: dict[str, dict[str, int]]


def rewrite(
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    vocabulary: Vocabulary,
    table: Table,
    cfg: config.Model,
    *,
    mechanism: Base,
    protocol: str,
    device: str,
    threads: int,
    seed: int,
    folder: Path,
    keep_checkpoints: bool = False,
    splits: Sequence[str] = ("test",),
) -> Rewritten:
    """Train on rows["train"] and rewrite `splits`. A row has an `original` and a `private` text.

    `folder` is for this call's settings alone: whoever calls again after a crash, with the same ones,
    goes on from the last whole epoch found there. In the end it holds `weights.safetensors`, and with
    `keep_checkpoints` every epoch's checkpoint.
    """
    from trlap.models.training import (
        Training,
        fit,
        precision,
    )  # Lightning, which takes seconds to import

    torch.set_num_threads(threads)
    if not rows.get("train"):
        raise TrlapError("stage rewrite: there is no training sentence; check dataset.limit.train")
    if cfg.patience is not None and not rows.get("validation"):
        raise TrlapError("model.patience: there is no validation split to watch; set it to null")
    if len(cfg.betas) != 2 or not all(0 <= beta < 1 for beta in cfg.betas):
        raise TrlapError(f"model.betas={list(cfg.betas)}: must be two numbers in [0, 1)")

    def read(column: str) -> dict[str, Sentences]:
        texts = {split: [row[column] for row in rows.get(split, ())] for split in SPLITS}
        return {split: Sentences(texts[split], vocabulary) for split in SPLITS}

    released = protocol == "release"
    every = [row for split in SPLITS for row in rows.get(split, ())]
    ends = list(accumulate((len(rows.get(split, ())) for split in SPLITS), initial=0))
    originals = Sentences([row["original"] for row in every], vocabulary)
    privates = Sentences([row["private"] for row in every], vocabulary)
    end = int(originals.starts[len(rows["train"])]) if len(every) > len(rows["train"]) else None
    counts = originals.ids[:end].bincount(minlength=len(vocabulary.words) + 1) + 1.0
    with torch.random.fork_rng([]):
        seed_torch(seed, "rewrite/weights", 0)
        model = AutoEncoder(
            torch.from_numpy(table.vectors),
            counts / counts.sum(),
            hidden=cfg.hidden,
            code=cfg.code,
            layers=cfg.layers,
            dropout=cfg.dropout,
            tied=cfg.tied,
            sampled=released,
        )
    training = Training(
        model,
        originals if released else privates,
        originals,
        dict(zip(SPLITS, map(range, ends, ends[1:]), strict=True)),
        cfg,
        seed,
        mechanism if isinstance(mechanism, Released) else None,
    )
    history = fit(training, folder, device, keep_checkpoints)
    weights = folder / "weights.safetensors"
    with atomic(weights) as file:
        save_file({name: w.cpu().contiguous() for name, w in model.state_dict().items()}, file)

    training.to(device).eval()
    limit = cfg.max_length or int(originals.lengths[: len(rows["train"])].max()) - 1 + ROOM
    texts = {}
    for split in dict.fromkeys([*splits, "test"]):  # test is the last: its sums stay
        texts[split], loss, words = _write(training, split, vocabulary.words, limit)
    if not keep_checkpoints:
        for checkpoint in folder.glob("*.ckpt"):
            checkpoint.unlink()
    return Rewritten(
        texts=texts,
        loss=loss / len(texts["test"]) if words else None,
        token_loss=loss / words if words else None,
        perplexity=math.exp(loss / words) if words else None,
        history=history,
        precision=precision(cfg.trainer.precision, device),
        weights=weights,
        draws=_draws(training, len(history), list(texts)) if released else {},
    )


def _write(
    training: "Training", split: str, words: Sequence[str], limit: int
) -> tuple[list[str], float, int]:
    """Rewritten sentences in their order, their originals' summed loss, and the words of that sum.

    One code a sentence serves both, so under protocol=release its noise is drawn once.
    """
    texts = dict.fromkeys(training.splits[split], "")
    loss, count = 0.0, 0
    with torch.inference_mode():
        for number, batch in training.batches(split):
            rows = batch.to(training.device)
            with training.drawn(split, "final", number) as generator:
                code = training.code(rows, generator)
            part, tokens = training.loss(rows, code)
            loss, count = loss + part.item(), count + tokens
            for row, ids in zip(batch.tolist(), training.model.write(code, limit), strict=True):
                texts[row] = " ".join(words[i] for i in ids.tolist() if i != len(words))
    return list(texts.values()), loss, count


def _draws(training: "Training", epochs: int, rewritten: list[str]) -> dict[str, dict[str, int]]:
    passes = {"train": epochs, "validation": epochs, "test": 0}
    counts = {}
    for split in SPLITS:
        times = passes[split] + (split in rewritten)
        counts[split] = {"passes": times, "batches": times * len(training.batches(split))}
    return counts
