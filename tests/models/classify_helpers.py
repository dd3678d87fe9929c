"""Sentences whose class is plain from one word, small enough to learn in a second."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trlap.data.rows import Row, Rows
from trlap.data.vocabulary import Vocabulary, build_vocabulary
from trlap.embeddings.space import Space
from trlap.mechanisms.registry import make
from trlap.models.base import Machine
from trlap.models.classifiers.base import ClassifyTask
from trlap.models.registry import CLASSIFIERS
from trlap.runs.result import Classified, Inputs

# keys that every classifier has
SMALL: dict[str, Any] = {
    "hidden": 8,
    "dropout": 0.2,
    "lr": 0.01,
    "batch": 16,
    "epochs": 8,
    "patience": None,
    "seeds": [1, 2],
}
ORIGINAL = Inputs(train_on="original", test_on="original", debias="none")
NAMES = ["negative", "positive"]
FILLERS = ["the", "a", "food", "was", "it", "and", "we", "soup"]
TELLING = ["bad", "good"]


def rows(train: int = 96, validation: int = 24, test: int = 40) -> Rows:
    """`rewritten` says the class as `original` does; `private` says the opposite."""
    rng = np.random.default_rng(0)
    data: Rows = {}
    for split, count in (("train", train), ("validation", validation), ("test", test)):
        data[split] = []
        for number in range(count):
            words = [str(word) for word in rng.choice(FILLERS, rng.integers(1, 6))]
            place, label = int(rng.integers(len(words) + 1)), number % 2
            before, after = " ".join(words[:place]), " ".join(words[place:])
            original = f"{before} {TELLING[label]} {after}".strip()
            private = f"{before} {TELLING[1 - label]} {after}".strip()
            data[split].append(Row(split, original, private, label, original))
    return data


VOCABULARY: Vocabulary = build_vocabulary([row.original for row in rows()["train"]], 50)
VECTORS = np.random.default_rng(1).standard_normal((len(VOCABULARY.words), 12)).astype(np.float32)
SPACE = Space(VOCABULARY.words, VECTORS, VOCABULARY.prior, clip=None)


def task(data: Rows | None = None, inputs: Inputs = ORIGINAL, **given: Any) -> ClassifyTask:
    usual = ClassifyTask(
        rows=rows() if data is None else data,
        label_names=NAMES,
        train_on=inputs.train_on,
        test_on=inputs.test_on,
        debias=inputs.debias,
        vocabulary=VOCABULARY,
        vectors=VECTORS,
        mechanism=make("none", SPACE, float("inf")),
        machine=Machine("cpu", 1),
    )
    return replace(usual, **given)


def run(
    data: Rows | None = None, inputs: Inputs = ORIGINAL, name: str = "average", **given: Any
) -> Classified:
    """`given` are keys of the classifier, or parts of the task."""
    kind = CLASSIFIERS.find(name)
    names = {item.name for item in fields(kind.Keys)}
    own = {key: given.pop(key) for key in list(given) if key in names}
    return kind(kind.Keys(**SMALL | own), task(data, inputs, **given)).classify()


def tiny_bert(folder: Path) -> Path:
    """A BERT of random weights that has never been a classifier."""
    from transformers import BertConfig, BertModel, BertTokenizer

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *VOCABULARY.words[1:]]
    (folder / "vocab.txt").write_text("\n".join(pieces))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    shape: dict[str, Any] = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BertModel(BertConfig(vocab_size=len(pieces), num_hidden_layers=1, **shape))
        model.save_pretrained(folder)
    return folder
