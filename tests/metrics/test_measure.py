"""What holds for all metrics of a text together: marks, empty texts, reasons, what was asked for."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_metric_helpers import OURS, config, install, score, sentences, word_scene

from trlap.errors import TrlapError
from trlap.files import jsonable
from trlap.metrics import Scene, Texts, measure
from trlap.metrics.registry import text_metrics

COMPARED = [metric.name for metric in text_metrics("rewritten")]


def test_identical_texts_are_perfect() -> None:
    texts = ["the food was cold .", "it was n't 7:30 , was it ?"]
    scores = score(texts, texts, bootstrap=20)
    for name, best in (("rouge1", 100), ("bleu", 100), ("n_w", 1)):
        assert scores.values[name] == pytest.approx(best)
        assert scores.intervals[name] == pytest.approx((best, best))


# ---------------------------------------------------------------- <unk>, empty strings, odd spaces


def test_unk_never_matches() -> None:
    scores = score(["<unk> <unk> <unk> <unk>"], ["<unk> <unk> <unk> <unk>"])
    assert [scores.values[name] for name in ("rouge1", "bleu", "n_w")] == [0, 0, 0]
    # the default tokeniser of rouge-score would read `unk`
    assert score(["unk"], ["<unk>"]).values["rouge1"] == 0


def test_unk_counts_as_a_word() -> None:
    scores = score(["good <unk> ."], ["good <unk> ."])
    assert scores.values["n_w"] == pytest.approx(2 / 3)
    assert scores.values["rouge1"] == pytest.approx(100 * 2 / 3)


def test_a_word_may_hold_a_no_break_space() -> None:
    scores = score(["mail at\xa0home now please"], ["mail at\xa0home now please"])
    assert scores.details["original_words"] == 4
    assert scores.values["n_w"] == 1
    assert scores.values["bleu"] == pytest.approx(100)
    assert score(["at\xa0home now"], ["x now"]).values["n_w"] == 0.5


def test_no_sentences() -> None:
    scores = score([], [], bootstrap=10, model="minilm")
    assert COMPARED == ["rouge1", "bleu", "n_w", "bertscore"]
    assert scores.values == dict.fromkeys(COMPARED)
    assert set(scores.reasons) == set(COMPARED)
    assert scores.intervals == {}


def test_all_candidates_empty() -> None:
    scores = score(["a b", "c"], ["", ""], bootstrap=10)
    assert [scores.values[name] for name in ("rouge1", "bleu", "n_w")] == [0, 0, 0]
    assert scores.intervals["bleu"] == (0, 0)
    assert scores.details["empty_candidates"] == 2


def test_all_originals_empty() -> None:
    scores = score(["", ""], ["a", ""], bootstrap=10)
    assert scores.values["rouge1"] == 0
    assert scores.values["bleu"] == 0
    assert scores.values["n_w"] is None
    assert scores.reasons["n_w"] == "the originals have no words"
    assert scores.details["empty_originals"] == 2


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="2 originals but 1 candidates"):
        score(["a", "b"], ["a"])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=5))
def test_ranges(pairs: list[tuple[str, str]]) -> None:
    scores = score([old for old, _ in pairs], [new for _, new in pairs])
    assert -1e-9 <= scores.values["rouge1"] <= 100 + 1e-9
    assert -1e-9 <= scores.values["bleu"] <= 100 + 1e-9
    if any(old for old, _ in pairs):
        same = all(new.split()[: len(old.split())] == old.split() for old, new in pairs)
        assert 0 <= scores.values["n_w"] <= 1
        assert (scores.values["n_w"] == 1) == same
    json.dumps(jsonable(vars(scores)), allow_nan=False)


# ---------------------------------------------------------------- what was asked for


def test_what_was_not_asked_for_is_null_with_its_reason() -> None:
    scores = score(["a b"], ["a c"], bootstrap=5, names=["n_w"])
    assert scores.values == {"rouge1": None, "bleu": None, "n_w": 0.5, "bertscore": None}
    why = "not among metrics.names"
    assert scores.reasons == {"rouge1": why, "bleu": why, "bertscore": why}
    assert list(scores.intervals) == ["n_w"]
    assert set(scores.provenance) == {"n_w", "intervals"}
    nothing = score(["a"], ["a"], bootstrap=5, names=[])
    assert (nothing.intervals, set(nothing.values.values())) == ({}, {None})


def test_an_unknown_name_is_one_line() -> None:
    with pytest.raises(TrlapError, match="metrics.names=rouge: there is none; did you mean rouge1"):
        score(["a"], ["a"], names=["rouge"])


# ---------------------------------------------------------------- as the authors' code computed


def test_the_first_lines_of_the_rewritten_text_as_released() -> None:
    old, new = ["a b", "c d", "e f"], ["a b", "c x", "x x"]
    scene = Scene(config(), first_lines=2)
    scores = measure(Texts("rewritten", old, new, train=["a b"]), scene)
    assert scores.values["n_w"] == pytest.approx(3 / 6)
    assert scores.as_released["n_w"] == 3 / 4
    assert scores.as_released["bertscore"] is None
    assert set(scores.as_released) == {"rouge1", "bleu", "n_w", "bertscore"}
    assert scores.details["n_w_length_alone"] == pytest.approx(2 / 6)
    unasked = measure(Texts("rewritten", old, new), replace(scene, config=config(names=["rouge1"])))
    assert [n for n, value in unasked.as_released.items() if value is not None] == ["rouge1"]
    wordless = measure(Texts("rewritten", ["", "", "a"], ["", "", "a"]), scene)
    assert wordless.values["n_w"] == 1
    assert wordless.as_released["n_w"] is None


def test_nothing_was_released_of_the_private_text_or_under_the_paper() -> None:
    scene = word_scene(["a"], [[1.0]], first_lines=1)
    assert measure(Texts("private", ["a"], ["a"]), scene).as_released == {}
    assert score(["a"], ["a"]).as_released == {}


# ---------------------------------------------------------------- a metric of another package


def test_a_metric_of_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "longer", "text_metric_helpers:Longer")
    old, new = ["a"] * 40, ["a b"] * 10 + ["a"] * 30
    for kind in ("private", "rewritten"):
        scores = score(old, new, bootstrap=100, names=[*OURS, "longer"], kind=kind)
        assert scores.values["longer"] == 0.25
        # those of other packages come last
        assert list(scores.values)[-1] == "longer"
        low, high = scores.intervals["longer"]
        assert 0 < low < 0.25 < high < 0.5
        assert scores.details["longer_count"] == 10
        without = score(old, new, bootstrap=100, kind=kind)
        assert "longer" not in without.values and "longer" not in without.reasons
    refused = score(["refuse"], ["a"], bootstrap=10, names=["longer"])
    assert refused.values["longer"] is None
    assert refused.reasons["longer"] == "refused"
