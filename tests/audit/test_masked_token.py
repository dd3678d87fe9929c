"""Masked-token inference with a language model of thirty words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from audit_helpers import make, scene_of, space_of, tokens_of

from trlap.audit.attacks.masked_token import MaskedTokenInference, masked_token
from trlap.audit.records import MaskedToken
from trlap.errors import TrlapError
from trlap.mechanisms.base import Mechanism


@pytest.fixture(scope="module")
def masked_lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT, randomly initialised, whose tokens are the first 30 words."""
    import transformers

    library: Any = transformers  # makes its names as they are asked for
    folder = tmp_path_factory.mktemp("bert")
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (folder / "vocab.txt").write_text("\n".join([*marks, *(f"w{i}" for i in range(30))]))
    tokenizer = library.BertTokenizerFast(str(folder / "vocab.txt"))
    torch.manual_seed(0)
    settings = library.BertConfig(
        vocab_size=35,
        num_hidden_layers=1,
        max_position_embeddings=40,
        hidden_size=16,
        intermediate_size=16,
        num_attention_heads=2,
    )
    library.BertForMaskedLM(settings).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def context(found: Mechanism, path: Path, lengths: list[int], seed: int = 0) -> MaskedToken:
    tokens = tokens_of(found, sum(lengths))
    return masked_token(found, tokens, lengths, str(path), 40, 0.95, seed)


def test_masked_token_inference(masked_lm: Path) -> None:
    found = make("krr", 3.0)
    block = context(found, masked_lm, [5, 0, 30, 1, 64])
    assert block.trials == 40
    assert 0 <= block.interval[0] <= block.success <= block.interval[1] <= 1
    assert 0.3 < block.guessable < 1
    assert block == context(found, masked_lm, [5, 0, 30, 1, 64])


def test_with_no_noise_the_private_context_is_the_original(masked_lm: Path) -> None:
    block = context(make("none", 1.0), masked_lm, [20, 20])
    assert block.success == block.original.success


def test_a_model_of_one_word_guesses_that_word(masked_lm: Path) -> None:
    words = ["w0", *(f"not{i}" for i in range(59))]
    space = space_of()
    space.words = words
    found = make("krr", 1.0, space)
    block = context(found, masked_lm, [20, 20])
    assert block.success == block.guessable > 0


def test_a_missing_model_is_one_clear_line(tmp_path: Path, masked_lm: Path) -> None:
    with pytest.raises(TrlapError, match="no masked language model"):
        context(make("krr", 1.0), tmp_path, [10])
    space = space_of()
    space.words = [f"not{i}" for i in range(60)]
    with pytest.raises(TrlapError, match="none of the vocabulary"):
        context(make("krr", 1.0, space), masked_lm, [10])


def test_it_says_why_it_is_left_out(masked_lm: Path) -> None:
    attack = MaskedTokenInference()
    assert attack.reason(scene_of(make("krr", 1.0))) == "audit.masked_lm is null"
    scene = scene_of(make("krr", 1.0), masked_lm=str(masked_lm), tokens=10)
    assert attack.reason(scene) is None
    assert attack.run(scene).trials == 10
    empty = replace(scene, tokens=np.zeros(0, np.int32))
    assert attack.reason(empty) == "the test split has no words"
