"""The pattern of the paper's tables on real text, at a size that takes minutes."""

from pathlib import Path

import pytest
import torch

from trlap.config.schema import check
from trlap.data import corpus, tokens
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import build_table
from trlap.mechanisms import base as mechanism
from trlap.mechanisms._released import Released
from trlap.metrics.text import length_alone, text_metrics
from trlap.models.rewriting import rewrite
from trlap.privatize.blocks import block_generator, privatize_texts

SIZE = ("dataset.max_words=10", "dataset.split.train=3160", "dataset.split.test=300")
MODEL = ("model=bilstm_demo", "model.layers=1", "model.epochs=12")


@pytest.mark.slow
def test_shared_noise_hides_nothing_and_fresh_noise_everything(
    configure,  # type: ignore[no-untyped-def]
    corpora: Path,
    tmp_path: Path,
) -> None:
    cfg = configure("dataset=yelp", *SIZE, *MODEL, "metrics.bertscore.model=null")
    check(cfg)
    cfg.metrics.bootstrap = 0
    texts = {name: split.texts for name, split in corpus.load(cfg.dataset).splits.items()}
    vocabulary = tokens.build_vocabulary(texts["train"], cfg.dataset.vocabulary_size)
    table = build_table(cfg.embedding, vocabulary.words)

    def score(protocol: str, name: str, epsilon: float) -> dict[str, float]:
        paper = protocol == "paper"
        space = Space(
            vocabulary.words, table.vectors, vocabulary.prior, clip=1.0 if paper else None
        )
        if paper:
            noise = mechanism.make(name, space, epsilon)
        else:
            noise = Released(space=space, epsilon=epsilon, clip=0.005, released=name)
        rows = {}
        for split, originals in texts.items():
            private = originals
            if paper:

                def generator(block: int, split: str = split) -> torch.Generator:
                    return block_generator(42, split, block, torch.device("cpu"))

                private = privatize_texts(noise, vocabulary, originals, generator).texts
            pairs = zip(originals, private, strict=True)
            rows[split] = [{"original": old, "private": new} for old, new in pairs]
        done = rewrite(
            rows,
            vocabulary,
            table,
            cfg.model,
            mechanism=noise,
            protocol=protocol,
            device="cpu",
            threads=torch.get_num_threads(),
            seed=42,
            folder=tmp_path / f"{protocol}-{name}",
        )
        return text_metrics(texts["test"], done.texts["test"], cfg.metrics, "cpu").values  # type: ignore[return-value]

    plain = score("release", "none", float("inf"))
    trlap = score("release", "trlap", 0.05)
    laplace = score("release", "laplace", 0.05)
    fresh = score("paper", "trlap", 0.05)
    print(plain, trlap, laplace, fresh, sep="\n")
    assert plain["rouge1"] >= 45
    assert abs(trlap["rouge1"] - plain["rouge1"]) <= 5
    assert laplace["rouge1"] < 30 and laplace["n_w"] < 0.10
    assert fresh["rouge1"] < 30  # and no more words than the length alone gives away
    assert fresh["n_w"] < length_alone(texts["train"], texts["test"])
