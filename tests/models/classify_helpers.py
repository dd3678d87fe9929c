"""Sentences whose class is plain from one word, small enough to learn in a second."""

from dataclasses import replace
from typing import Any

import numpy as np

from trlap.config.schema import Classifier, Classify
from trlap.data.tokens import Vocabulary, build_vocabulary
from trlap.embeddings.space import Space
from trlap.mechanisms import base as mechanism
from trlap.mechanisms.base import Base
from trlap.models.classifying import Classified, classify

SMALL = Classifier(
    name="average",
    hidden=8,
    dropout=0.2,
    lr=0.01,
    batch=16,
    epochs=8,
    patience=None,
    seeds=[1, 2],
)
ORIGINAL = Classify(train_on="original", test_on="original", debias="none")
NAMES = ["negative", "positive"]
FILLERS = "the a food was it and we soup".split()
TELLING = ["bad", "good"]


def rows(train: int = 96, validation: int = 24, test: int = 40) -> dict[str, list[dict[str, Any]]]:
    """`rewritten` says the class as `original` does; `private` says the opposite."""
    rng = np.random.default_rng(0)
    found: dict[str, list[dict[str, Any]]] = {}
    for split, count in (("train", train), ("validation", validation), ("test", test)):
        found[split] = []
        for number in range(count):
            words = [str(word) for word in rng.choice(FILLERS, rng.integers(1, 6))]
            place, label = int(rng.integers(len(words) + 1)), number % 2

            def text(word: str, words: list[str] = words, place: int = place) -> str:
                return " ".join([*words[:place], word, *words[place:]])

            row = {"original": text(TELLING[label]), "private": text(TELLING[1 - label])}
            found[split].append(row | {"rewritten": row["original"], "label": label})
    return found


VOCABULARY: Vocabulary = build_vocabulary([row["original"] for row in rows()["train"]], 50)
VECTORS = np.random.default_rng(1).standard_normal((len(VOCABULARY.words), 12)).astype(np.float32)
SPACE = Space(VOCABULARY.words, VECTORS, VOCABULARY.prior, clip=None)


def run(data: Any = None, inputs: Classify = ORIGINAL, **keys: Any) -> Classified:
    """`keys` are those of the classifier, or of `classify`."""
    own = {key: keys.pop(key) for key in list(keys) if key in Classifier.__dataclass_fields__}
    noise: Base = mechanism.make("none", SPACE, float("inf"))
    given = {"label_names": NAMES, "mechanism": noise, "device": "cpu", "threads": 1}
    data = rows() if data is None else data
    return classify(data, VOCABULARY, VECTORS, replace(SMALL, **own), inputs, **given | keys)
