"""A corpus and a model small enough to train in a second."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from trlap.config.protocols import PAPER
from trlap.data.rows import SPLITS, Row, Rows
from trlap.data.vocabulary import Vocabulary, build_vocabulary
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import Embedding, EmbeddingInfo
from trlap.mechanisms.registry import make, make_released
from trlap.mechanisms.released.base import ReleasedMechanism
from trlap.models.base import Machine
from trlap.models.rewriters.base import RewriteTask
from trlap.models.rewriters.bilstm import (
    WEIGHTS,
    AutoEncoderKeys,
    BiLSTMAutoEncoder,
    Trainer,
    WordNoise,
)
from trlap.runs.result import Trained

TINY = AutoEncoderKeys(
    hidden=12,
    code=8,
    layers=1,
    tied=False,
    dropout=0.2,
    word_noise=WordNoise(drop=0, blank=0, substitute=0, shuffle=0),
    lr=0.01,
    warmup=0,
    decay="constant",
    betas=[0.5, 0.999],
    gradient_clip=None,
    batch=8,
    epochs=4,
    patience=None,
    max_length=None,
    trainer=Trainer(devices=1, precision="auto"),
)
NOISY = WordNoise(drop=0.1, blank=0.1, substitute=0.1, shuffle=0.1)

WHO = ["the cook", "a waiter", "our guide", "my aunt"]
DID = ["made", "brought", "dropped", "praised"]
WHAT = ["cold soup .", "the bread !", "two salads with fish .", "it ?"]
TEXTS = [f"{who} {did} {what}" for who in WHO for did in DID for what in WHAT]


def rows(train: int = 40, validation: int = 8, test: int = 10) -> Rows:
    """Private texts are the originals."""
    order = np.random.default_rng(0).permutation(len(TEXTS))
    texts = [TEXTS[i] for i in order]
    ends = np.cumsum([0, train, validation, test])
    return {
        split: [Row(split, text, text) for text in texts[start:end]]
        for split, start, end in zip(SPLITS, ends, ends[1:], strict=False)
    }


VOCABULARY: Vocabulary = build_vocabulary(TEXTS, 100)
_vectors = np.random.default_rng(1).standard_normal((len(VOCABULARY.words), 10)).astype(np.float32)
EMBEDDING = Embedding(
    _vectors,
    np.ones(len(_vectors), bool),
    EmbeddingInfo(
        name="tiny",
        source="random",
        seed=0,
        words=len(_vectors),
        known=len(_vectors),
        median_length=1.0,
    ),
)
SPACE = Space(VOCABULARY.words, EMBEDDING.vectors, VOCABULARY.prior, clip=None)


def released(name: str = "laplace", epsilon: float = 0.1) -> ReleasedMechanism:
    return make_released(name, SPACE, epsilon, clip=0.005)


def task(folder: Path, data: Rows | None = None, **given: Any) -> RewriteTask:
    usual = RewriteTask(
        rows=rows() if data is None else data,
        vocabulary=VOCABULARY,
        embedding=EMBEDDING,
        mechanism=make("none", SPACE, float("inf")),
        protocol=PAPER,
        machine=Machine("cpu", 1),
        seed=7,
        identity="rewrite-0",
        folder=folder,
    )
    return replace(usual, **given)


@dataclass(frozen=True)
class Rewritten:
    """All that a rewriter gives."""

    texts: dict[str, list[str]]
    trained: Trained
    weights: Path


def run(
    folder: Path, data: Rows | None = None, splits: Sequence[str] = ("test",), **given: Any
) -> Rewritten:
    """`given` are keys of the model, or parts of the task."""
    names = {item.name for item in fields(AutoEncoderKeys)}
    keys = {name: given.pop(name) for name in list(given) if name in names}
    rewriter = BiLSTMAutoEncoder(replace(TINY, **keys), task(folder, data, **given))
    rewriter.fit()
    texts = {split: rewriter.rewrite(split) for split in splits}
    trained = rewriter.trained()
    rewriter.tidy()
    return Rewritten(texts, trained, folder / WEIGHTS)
