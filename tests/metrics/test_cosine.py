import numpy as np
import pytest
from text_metric_helpers import score, word_scene

from trlap.metrics import Texts, measure


def test_by_hand() -> None:
    # a shared direction, (5, 5)
    scene = word_scene(list("abcd"), [[6, 5], [5, 6], [4, 5], [5, 4]])
    same = measure(Texts("private", ["a b c d"], ["a b c d"]), scene)
    assert same.values["cosine"] == pytest.approx(1)
    assert same.details["cosine_best_constant"] == pytest.approx(0, abs=1e-12)
    opposite = measure(Texts("private", ["a b c d"], ["c d a b"]), scene)
    assert opposite.values["cosine"] == pytest.approx(-1)
    constant = measure(Texts("private", ["a b c d"], ["a a a a"]), scene)
    # raw cosine would say about 0.98
    assert constant.values["cosine"] == pytest.approx(0, abs=1e-12)


def test_the_vector_of_unk_neither_moves_the_mean_nor_is_judged() -> None:
    vectors = [[90.0, 70.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    scene = word_scene(["<unk>", *"abcd"], vectors, [0.6, 0.1, 0.1, 0.1, 0.1])
    with_unk = np.array(vectors[4]) @ np.array(vectors[0]) / np.linalg.norm(vectors[0])
    scores = measure(Texts("private", ["<unk> a b c d"], ["d c b a <unk>"]), scene)
    assert scores.values["cosine"] == pytest.approx((-1 + 1 - 1 + with_unk) / 4)
    unknown = measure(Texts("private", ["<unk>"], ["<unk>"]), scene)
    assert unknown.values["cosine"] is None
    assert unknown.reasons["cosine"] == "the originals have no known words"
    assert "cosine_best_constant" not in unknown.details


def test_the_interval_is_over_sentences() -> None:
    scene = word_scene(list("abcd"), [[1, 0], [0, 1], [-1, 0], [0, -1]], bootstrap=500)
    # 3 words of cosine 1 against 1 word of cosine -1, and an empty sentence; a mean over words
    texts = Texts("private", ["a b c", "a", ""] * 20, ["a b c", "c", ""] * 20)
    scores = measure(texts, scene)
    assert scores.values["cosine"] == pytest.approx((3 - 1) / 4)
    low, high = scores.intervals["cosine"]
    assert -1 < low < 0.5 < high < 1
    whole = measure(Texts("private", ["a b c"] * 9, ["a b c"] * 9), scene)
    assert whole.intervals["cosine"] == pytest.approx((1, 1))


def test_it_needs_a_replacement_for_every_word() -> None:
    scene = word_scene(list("ab"), [[1, 0], [-1, 0]])
    # as many words in all, but not in each sentence
    moved = measure(Texts("private", ["a b", "a"], ["a", "b a"]), scene)
    assert moved.values["cosine"] is None
    assert "lost or gained words" in moved.reasons["cosine"]
    assert moved.values["n_w"] == pytest.approx(1 / 3)


def test_it_needs_vectors_and_is_of_the_private_text_only() -> None:
    without = score(["a"], ["a"], kind="private")
    assert without.reasons["cosine"] == "no vectors of words at hand"
    assert "cosine" not in score(["a"], ["a"], kind="rewritten").values
