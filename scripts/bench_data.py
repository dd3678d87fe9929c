"""What scripts/bench.py measures on: real vectors, real sentences, configs as `run.py` composes them."""

import math
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bench_measure import DEVICE, ROOT, Job
from hydra import compose, initialize_config_dir
from numpy.typing import NDArray

from trlap.config.door import Config, config_from
from trlap.config.epsilon import quote
from trlap.data import demo
from trlap.data.tokenizer import UNK, tokenize_batch
from trlap.data.vocabulary import Vocabulary
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import build_embedding, frequent_words
from trlap.mechanisms.registry import make
from trlap.privatize.blocks import privatize_texts
from trlap.randomness import block_generator

WORDS = 10_000
DIMENSION = 300


def config(*overrides: str) -> Config:
    """What `python run.py <overrides>` is told."""
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return config_from(compose("config", quote(overrides)))


@cache
def vectors(words: int, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Real vectors of the most frequent words; more dimensions repeat them, which costs as much."""
    names = [UNK, *frequent_words()[: words - 1]]
    real = build_embedding(config().embedding, names).vectors
    return np.ascontiguousarray(np.tile(real, math.ceil(dimension / DIMENSION))[:, :dimension])


@cache
def space(words: int = WORDS, dimension: int = DIMENSION) -> Space:
    """Real vectors under invented names, with Zipf's law for a prior."""
    names = [f"w{i}" for i in range(words)]
    prior = 1 / np.arange(1.0, words + 1)
    return Space(names, vectors(words, dimension), prior / prior.sum(), device=DEVICE)


def generator() -> torch.Generator:
    return torch.Generator(DEVICE).manual_seed(1)


def corpus(tokens: int) -> tuple[list[str], str]:
    """Tokenised sentences: Yelp's where it is at hand, else the demo's, as often as it takes."""
    folder = os.environ.get("TRLAP_DATA")
    if folder and (Path(folder) / "yelp" / "train.tsv").exists():
        lines = (Path(folder) / "yelp" / "train.tsv").read_text().splitlines()[1:]
        texts, name = [line.split("\t")[0] for line in lines], "yelp"
    else:
        rows = [str(row["text"]) for row in demo.generate()["train"]]
        texts, name = [" ".join(words) for words in tokenize_batch(rows)], "demo"
    chosen: list[str] = []
    while tokens > 0:
        for text in texts:
            chosen.append(text)
            tokens -= text.count(" ") + 1
            if tokens <= 0:
                break
    return chosen, name


def end_to_end(texts: list[str], vocabulary: Vocabulary, name: str, **keys: Any) -> Job:
    """From text to text."""
    known = vectors(WORDS)[: len(vocabulary.words)]
    public = Space(vocabulary.words, known, vocabulary.prior, device=DEVICE)
    mechanism, device = make(name, public, **keys), torch.device(DEVICE)
    return lambda: privatize_texts(
        mechanism, vocabulary, texts, lambda block: block_generator(1, "bench", block, device)
    )
