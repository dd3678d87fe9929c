"""What the tests of metrics share: small corpora, one way to measure, a metric of another package."""

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from trlap.config.schema import BertScore, Metrics
from trlap.data.vocabulary import Vocabulary
from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.metrics import Measure, Scene, TextMetric, Texts, measure
from trlap.metrics.registry import METRICS

WORDS = ["the", "food", "was", "cold", ".", "$5", "7:30", "n't", "a", "waiter"]
OURS = ["rouge1", "bleu", "n_w", "bertscore", "cosine"]
sentences = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


def config(
    bootstrap: int = 0,
    model: str | None = None,
    num_layers: int | None = None,
    names: Sequence[str] = OURS,
) -> Metrics:
    return Metrics(
        names=list(names), bootstrap=bootstrap, bertscore=BertScore(model, num_layers, 64)
    )


def score(
    originals: list[str],
    candidates: list[str],
    bootstrap: int = 0,
    model: str | None = None,
    num_layers: int | None = None,
    seed: int = 0,
    names: Sequence[str] = OURS,
    kind: str = "rewritten",
) -> Any:  # Scores, but each test knows which values are not None
    scene = Scene(config(bootstrap, model, num_layers, names))
    return measure(Texts(kind, originals, candidates), scene, seed)


def corpus(n: int, kept: float, seed: int = 0) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    old = [[str(w) for w in rng.choice(WORDS, rng.integers(1, 13))] for _ in range(n)]
    new = [[w if rng.random() < kept else str(rng.choice(WORDS)) for w in words] for words in old]
    return [" ".join(words) for words in old], [" ".join(words) for words in new]


def word_scene(
    words: list[str],
    vectors: list[list[float]],
    prior: list[float] | None = None,
    bootstrap: int = 0,
    first_lines: int | None = None,
) -> Scene:
    """A scene with a vocabulary and its vectors."""
    chances = np.array(prior or [1 / len(words)] * len(words))
    space = Space(words, np.array(vectors, np.float32), chances, clip=None)
    return Scene(
        config(bootstrap),
        vocabulary=Vocabulary(words, chances, public=True),
        space=space,
        first_lines=first_lines,
    )


def make_tiny_bert(folder: Path) -> Path:
    """A BERT of random weights in a new folder."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "food", "cold", "soup", "."]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        shape: dict[str, Any] = {
            "hidden_size": 16,
            "num_attention_heads": 2,
            "intermediate_size": 16,
        }
        BertModel(
            BertConfig(vocab_size=len(vocabulary), num_hidden_layers=2, **shape)
        ).save_pretrained(folder)
    return folder


class Longer(TextMetric):
    """A metric of another package: the share of sentences that have become longer."""

    name = "longer"
    label = "Longer"
    meaning = "Longer: share of sentences that have grown"
    higher_is_better = False
    order = 1

    def measure(self, texts: Texts, scene: Scene) -> Measure:
        if texts.originals[0] == "refuse":
            raise TrlapError("refused")
        pairs = zip(texts.originals, texts.candidates, strict=True)
        rows = np.array([[float(len(new) > len(old))] for old, new in pairs])
        return Measure(rows, lambda total: total[0] / len(rows), {"count": int(rows.sum())})


def install(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """As if a package with that entry point were installed."""
    monkeypatch.setattr(METRICS, "foreign", {name: EntryPoint(name, value, "trlap.metrics")})
