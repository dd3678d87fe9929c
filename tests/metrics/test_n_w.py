import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_metric_helpers import config, score

from trlap.metrics import Scene, Texts, measure
from trlap.metrics.n_w import best_constant, length_alone


def test_by_hand() -> None:
    # 2 of 3, 1 of 2 (one missing), 1 of 1 (extra ones ignored), 0 of 1 (all missing)
    scores = score(["a b c", "d e", "f", "g"], ["a x c", "d", "f g h", ""])
    assert scores.values["n_w"] == pytest.approx((2 + 1 + 1 + 0) / (3 + 2 + 1 + 1))


def test_a_rare_non_empty_original_survives_resampling() -> None:
    scores = score(["a"] + [""] * 9, ["a"] + [""] * 9, bootstrap=50)
    assert scores.values["n_w"] == 1
    assert scores.intervals["n_w"] == (0, 1)


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=5), min_size=1, max_size=5))
def test_the_best_constant_word_is_the_best(sentences: list[list[str]]) -> None:
    originals = [" ".join(words) for words in sentences]
    reached = []
    for word in "abc":
        constant = [" ".join(word for _ in words) for words in sentences]
        reached.append(score(originals, constant, names=["n_w"]).values["n_w"])
    assert best_constant(originals) == pytest.approx(max(reached))


def test_what_the_length_alone_tells() -> None:
    train = ["a b .", "a c .", "d c .", "x y"]
    # in sentences of three words: a, then c, then a stop; nobody has seen four words
    assert length_alone(train, ["a c .", "q q .", "x q", "a b c ."]) == 5 / 12
    assert length_alone([], ["a"]) == 0
    assert length_alone(train, [""]) is None


def test_each_text_has_its_own_floor() -> None:
    scene = Scene(config(names=["n_w"]))
    train, old = ["a b .", "a c ."], ["a c .", "a q"]
    private = measure(Texts("private", old, old, train), scene).details
    assert private["n_w_best_constant"] == 2 / 5
    assert "n_w_length_alone" not in private
    rewritten = measure(Texts("rewritten", old, old, train), scene).details
    # b is as common as c at the second place, and comes first
    assert rewritten["n_w_length_alone"] == 2 / 5
    assert "n_w_best_constant" not in rewritten
