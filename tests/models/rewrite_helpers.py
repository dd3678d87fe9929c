"""A corpus and a model small enough to train in a second."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trlap.config.schema import Model, Trainer, WordNoise
from trlap.data.tokens import Vocabulary, build_vocabulary
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import Table
from trlap.mechanisms import base as mechanism
from trlap.mechanisms._released import Released
from trlap.mechanisms.base import Base
from trlap.models.rewriting import Rewritten, rewrite

TINY = Model(
    name="tiny",
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

WHO = "the cook, a waiter, our guide, my aunt".split(", ")
DID = "made, brought, dropped, praised".split(", ")
WHAT = "cold soup ., the bread !, two salads with fish ., it ?".split(", ")
TEXTS = [f"{who} {did} {what}" for who in WHO for did in DID for what in WHAT]


def rows(train: int = 40, validation: int = 8, test: int = 10) -> dict[str, list[dict[str, str]]]:
    """Private texts are the originals."""
    order = np.random.default_rng(0).permutation(len(TEXTS))
    texts = [TEXTS[i] for i in order]
    ends = np.cumsum([0, train, validation, test])
    return {
        split: [{"original": text, "private": text} for text in texts[start:end]]
        for split, start, end in zip(("train", "validation", "test"), ends, ends[1:], strict=False)
    }


VOCABULARY: Vocabulary = build_vocabulary(TEXTS, 100)
_vectors = np.random.default_rng(1).standard_normal((len(VOCABULARY.words), 10)).astype(np.float32)
TABLE = Table(_vectors, np.ones(len(_vectors), bool), {})
SPACE = Space(VOCABULARY.words, TABLE.vectors, VOCABULARY.prior, clip=None)


def released(name: str = "laplace", epsilon: float = 0.1) -> Released:
    return Released(space=SPACE, epsilon=epsilon, clip=0.005, released=name)


def run(folder: Path, data: Any = None, **keys: Any) -> Rewritten:
    """`keys` are those of the model, or of `rewrite`."""
    own = {name: keys.pop(name) for name in list(keys) if name in Model.__dataclass_fields__}
    noise: Base = mechanism.make("none", SPACE, float("inf"))
    given = {
        "mechanism": noise,
        "protocol": "paper",
        "device": "cpu",
        "threads": 1,
        "seed": 7,
        "folder": folder,
    }
    return rewrite(
        rows() if data is None else data, VOCABULARY, TABLE, replace(TINY, **own), **given | keys
    )
