"""The pattern of the paper's tables on real text, at a size that takes minutes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from omegaconf import DictConfig

from trlap.config.door import config_from
from trlap.config.protocols import PAPER, RELEASE, Protocol
from trlap.data import corpus
from trlap.data.rows import Row, Rows
from trlap.data.vocabulary import Vocabulary, build_vocabulary
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import build_embedding
from trlap.mechanisms.base import Mechanism
from trlap.mechanisms.registry import make, make_released
from trlap.metrics import Scene, Texts, measure
from trlap.metrics.n_w import length_alone
from trlap.models.base import Machine
from trlap.models.rewriters.base import RewriteTask
from trlap.models.rewriters.bilstm import BiLSTMAutoEncoder
from trlap.privatize.blocks import privatize_texts
from trlap.randomness import block_generator

SIZE = ("dataset.max_words=10", "dataset.split.train=3160", "dataset.split.test=300")
MODEL = ("model=bilstm_demo", "model.layers=1", "model.epochs=12")


def rows_for(
    texts: Mapping[str, list[str]], vocabulary: Vocabulary, noise: Mechanism, protocol: Protocol
) -> Rows:
    """Where the protocol redraws, nothing reads the private text."""
    rows: Rows = {}
    for split, originals in texts.items():
        private = originals
        if not protocol.redraws:
            generator = partial(block_generator, 42, split, device=torch.device("cpu"))
            private = privatize_texts(noise, vocabulary, originals, generator).texts
        rows[split] = [
            Row(split, original, private_text)
            for original, private_text in zip(originals, private, strict=True)
        ]
    return rows


@pytest.mark.slow
def test_shared_noise_hides_nothing_and_fresh_noise_everything(
    configure: Callable[..., DictConfig], corpora: Path, tmp_path: Path
) -> None:
    composed = configure("dataset=yelp", *SIZE, *MODEL, "metrics.bertscore.model=null")
    config = config_from(composed)
    splits = corpus.load(config.dataset).splits
    texts = {name: split.texts for name, split in splits.items()}
    vocabulary = build_vocabulary(texts["train"], config.dataset.vocabulary_size)
    embedding = build_embedding(config.embedding, vocabulary.words)

    def score(protocol: Protocol, name: str, epsilon: float) -> tuple[float, float]:
        """Rouge1 and N_w of the rewritten test split."""
        clip = None if protocol.released else 1.0
        space = Space(vocabulary.words, embedding.vectors, vocabulary.prior, clip=clip)
        noise = make(name, space, epsilon)
        if protocol.released:
            noise = make_released(name, space, epsilon, clip=0.005)
        task = RewriteTask(
            rows=rows_for(texts, vocabulary, noise, protocol),
            vocabulary=vocabulary,
            embedding=embedding,
            mechanism=noise,
            protocol=protocol,
            machine=Machine("cpu", torch.get_num_threads()),
            seed=42,
            identity=f"{protocol.name}-{name}-{epsilon}",
            folder=tmp_path / f"{protocol.name}-{name}",
        )
        rewriter = BiLSTMAutoEncoder(config.model.keys, task)
        rewriter.fit()
        written = Texts("rewritten", texts["test"], rewriter.rewrite("test"))
        values = measure(written, Scene(replace(config.metrics, bootstrap=0))).values
        rouge1, n_w = values["rouge1"], values["n_w"]
        assert rouge1 is not None and n_w is not None
        return rouge1, n_w

    plain = score(RELEASE, "none", float("inf"))
    trlap = score(RELEASE, "trlap", 0.05)
    laplace = score(RELEASE, "laplace", 0.05)
    fresh = score(PAPER, "trlap", 0.05)
    print(plain, trlap, laplace, fresh, sep="\n")
    assert plain[0] >= 45
    assert abs(trlap[0] - plain[0]) <= 5
    assert laplace[0] < 30 and laplace[1] < 0.10
    assert fresh[0] < 30
    # and no more words than the length alone gives away
    free = length_alone(texts["train"], texts["test"])
    assert free is not None
    assert fresh[1] < free
