import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from text_metric_helpers import corpus, score

from trlap.metrics.rouge1 import best_constant


def test_by_hand() -> None:
    # common: the (once), cat -> precision 2/4, recall 2/3, F = 2 * 1/2 * 2/3 / (1/2 + 2/3) = 4/7
    scores = score(["the cat sat"], ["the the cat ran"])
    assert scores.values["rouge1"] == pytest.approx(100 * 4 / 7)
    assert scores.details["rouge1_precision"] == pytest.approx(50)
    assert scores.details["rouge1_recall"] == pytest.approx(100 * 2 / 3)


def test_it_is_the_mean_over_sentences_and_keeps_punctuation() -> None:
    scores = score(["$5 !", "a b c d"], ["$5 ?", "e f g h"])
    assert scores.values["rouge1"] == pytest.approx((50 + 0) / 2)


def test_it_is_rouge_scores_where_its_tokeniser_changes_nothing() -> None:
    old, new = (
        [
            text.replace("$5", "five").replace("7:30", "x").replace("n't", "not").replace(".", "y")
            for text in side
        ]
        for side in corpus(200, 0.5)
    )
    theirs = RougeScorer(["rouge1"])
    each = [theirs.score(a, b)["rouge1"] for a, b in zip(old, new, strict=True)]
    scores = score(old, new)
    assert scores.values["rouge1"] == pytest.approx(100 * np.mean([s.fmeasure for s in each]))
    assert scores.details["rouge1_recall"] == pytest.approx(100 * np.mean([s.recall for s in each]))


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=5), min_size=1, max_size=5))
def test_the_best_constant_word_is_the_best(sentences: list[list[str]]) -> None:
    originals = [" ".join(words) for words in sentences]
    reached = []
    for word in "abc":
        constant = [" ".join(word for _ in words) for words in sentences]
        reached.append(score(originals, constant, names=["rouge1"]).values["rouge1"])
    assert best_constant(originals) == pytest.approx(max(reached))


def test_the_private_text_has_the_floor_and_the_rewritten_has_not() -> None:
    old, new = ["a a b", "a c"], ["a x x", "c"]
    private = score(old, new, kind="private", names=["rouge1"])
    assert private.details["rouge1_best_constant"] == pytest.approx(100 * (2 / 3 + 1 / 2) / 2)
    assert "rouge1_best_constant" not in score(old, new).details
    assert "rouge1_best_constant" not in score([""], [""], kind="private").details
