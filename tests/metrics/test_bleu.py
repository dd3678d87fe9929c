import math

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from text_metric_helpers import corpus, score, sentences


def test_by_hand() -> None:
    # unigrams 5/6, bigrams 3/5, trigrams 1/4, 4-grams 0/3 smoothed to 1/(2*3); equal lengths
    scores = score(["a b c d e f"], ["a b c x e f"])
    by_hand = 100 * (5 / 6 * 3 / 5 * 1 / 4 * 1 / 6) ** (1 / 4)
    assert scores.values["bleu"] == pytest.approx(by_hand)


def test_it_pays_for_brevity() -> None:
    scores = score(["a b c d e f g h"], ["a b c d e f"])
    assert scores.values["bleu"] == pytest.approx(100 * math.exp(1 - 8 / 6))
    assert scores.details["bleu_brevity_penalty"] == pytest.approx(math.exp(1 - 8 / 6))


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9])
def test_it_is_sacrebleus(kept: float) -> None:
    old, new = corpus(200, kept)
    scores = score(old, new)
    theirs = sacrebleu.corpus_bleu(new, [old], tokenize="none", force=True)
    assert scores.values["bleu"] == theirs.score
    assert "tok:none" in scores.provenance["bleu"]["signature"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4))
def test_it_is_sacrebleus_on_short_texts(pairs: list[tuple[str, str]]) -> None:
    old, new = ([pair[side] for pair in pairs] for side in (0, 1))
    theirs = sacrebleu.corpus_bleu(new, [old], tokenize="none", force=True).score
    assert score(old, new).values["bleu"] == theirs


def test_resampled_bleu_is_bleu_of_the_resampled_corpus() -> None:
    old, new = corpus(50, 0.6)
    # what one resample with seed 3 draws
    drawn = np.random.default_rng(3).integers(50, size=50)
    theirs = sacrebleu.corpus_bleu(
        [new[i] for i in drawn], [[old[i] for i in drawn]], tokenize="none", force=True
    )
    low, high = score(old, new, bootstrap=1, seed=3).intervals["bleu"]
    assert [low, high] == [theirs.score] * 2
