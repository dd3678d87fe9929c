"""The three classifiers: gradients, what each can learn, and transformers from a folder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from classify_helpers import VECTORS, VOCABULARY, rows, run, tiny_bert
from torch.nn.functional import embedding_bag

from trlap.data.rows import Row
from trlap.errors import TrlapError
from trlap.mechanisms._decoding import Reading
from trlap.models.classifiers._forms import Means, SummedRows


def test_summed_rows_has_the_gradient_of_embedding_bag() -> None:
    table = torch.randn(7, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    words, lengths = torch.tensor([1, 1, 4, 6, 0]), torch.tensor([3, 0, 2])
    offsets, weights = torch.tensor([0, 3, 3]), torch.tensor([0.5, 1, 2, 3, 0])
    factors = torch.arange(9.0).view(3, 3)
    theirs = embedding_bag(words, table, offsets, mode="sum", per_sample_weights=weights)
    (expected,) = torch.autograd.grad((theirs * factors).sum(), table)
    table.grad = torch.ones_like(table)
    ours = SummedRows.apply(table, words, offsets, lengths, weights)
    (ours * factors).sum().backward()
    assert torch.equal(ours, theirs)
    torch.testing.assert_close(table.grad, expected + 1)


def test_means_are_over_the_words_of_each_sentence() -> None:
    # the third begins with an unknown word
    texts = ["good soup", "", "zyzzyva bad bad", "the"]
    trust = np.linspace(0, 1, len(VECTORS), dtype=np.float32)
    shares = np.arange(len(VECTORS)) // 2
    form = Means(texts, VOCABULARY, Reading(VECTORS, shares, trust), "cpu")
    displacement = torch.from_numpy(VECTORS[::-1].copy())
    means = form.displaced(displacement, torch.tensor([3, 2, 1, 0])).numpy()[::-1]
    index = {word: i for i, word in enumerate(VOCABULARY.words)}
    vectors = VECTORS + trust[:, None] * VECTORS[::-1][shares]
    for text, mean in zip(texts, means, strict=True):
        ids = [index.get(word, 0) for word in text.split()]
        expected = vectors[ids].mean(0) if ids else np.zeros(12)
        np.testing.assert_allclose(mean, expected, atol=1e-6)


def ordered(split: str, count: int) -> list[Row]:
    """The class is whether "good" comes before "bad": every sentence has the same words."""
    return [
        Row(split, "good the bad" if i % 2 else "bad the good", label=i % 2) for i in range(count)
    ]


def test_a_bilstm_knows_the_order_of_words_and_an_average_does_not() -> None:
    sizes = {"train": 64, "validation": 16, "test": 20}
    data = {split: ordered(split, count) for split, count in sizes.items()}
    assert run(data, name="bilstm", seeds=[1], lr=0.01, dropout=0.0).accuracy == 1.0
    assert run(data, name="average", seeds=[1]).accuracy == 0.5


def test_a_bilstm_learns_and_repeats_itself() -> None:
    done = run(name="bilstm", seeds=[3], epochs=4)
    assert done.accuracy >= 0.95
    assert done == run(name="bilstm", seeds=[3], epochs=4)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"))


BERT: dict[str, Any] = {"name": "transformer", "hidden": None, "dropout": None, "max_length": 8}


def test_a_transformer_from_a_folder_learns(tiny: Path) -> None:
    keys: dict[str, Any] = BERT | {"model": str(tiny), "lr": 0.01, "epochs": 6, "seeds": [1]}
    done = run(**keys)
    assert done.accuracy >= 0.9
    assert done == run(**keys)


def test_a_transformer_reads_texts_up_to_its_limit(tiny: Path) -> None:
    data = rows()
    # BERT has 512 places
    data["test"] = [replace(row, original="the " * 600 + row.original) for row in data["test"]]
    assert 0 <= run(data, **BERT, model=str(tiny), epochs=1, seeds=[1]).accuracy <= 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/nowhere/model", "there is no such folder"),
        (".", "there is no model in this folder, as it has no config.json"),
    ],
)
def test_a_transformer_that_is_not_there_is_one_line(name: str, reason: str) -> None:
    with pytest.raises(TrlapError, match=f"^classifier.model={name}: {reason}$"):
        run(**BERT, model=name, epochs=1)
