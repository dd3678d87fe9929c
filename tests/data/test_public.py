"""Public documents are set aside by row, or by source where texts are parts of one another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trlap.data.public import on_both_sides, set_aside, sources

PHRASES = [
    "a gorgeous film",
    "gorgeous film",
    "it is a gorgeous film indeed",
    "dull",
    "as dull as it gets",
    "film",
    "gorgeous film",
]
corpora = st.lists(st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join), max_size=30)


def test_parts_have_the_source_of_the_whole() -> None:
    found = sources(PHRASES)
    assert len({found[i] for i in (0, 1, 2, 5, 6)}) == 1
    assert found[3] == found[4] != found[0]


@given(corpora)
def test_a_text_is_never_apart_from_all_longer_ones_that_hold_it(texts: list[str]) -> None:
    found = dict(zip(texts, sources(texts).tolist(), strict=True))
    for text in texts:
        holders = {
            found[other]
            for other in texts
            if text and f" {text} " in f" {other} " and len(other) > len(text)
        }
        assert not holders or found[text] in holders


@given(corpora.filter(lambda texts: len(set(texts)) > 1), st.floats(0.05, 0.95), st.booleans())
def test_both_sides_are_all_of_it(texts: list[str], share: float, overlapping: bool) -> None:
    public, private = set_aside(texts, share, np.random.default_rng(1), overlapping)
    assert sorted([*public, *private]) == list(range(len(texts)))
    number = sources(texts) if overlapping else np.arange(len(texts))
    assert not set(number[public]) & set(number[private])
    if len(set(number)) > 1:
        assert len(public) and len(private)
        # the share is passed by one source at most
        assert len(public) - max(np.bincount(number)) <= share * len(texts)


@given(corpora.filter(lambda texts: len(texts) > 1), st.integers(0, 29), st.sampled_from("abcd"))
def test_what_stands_in_a_row_does_not_move_others(texts: list[str], row: int, text: str) -> None:
    """Not even where it becomes the same as another one."""
    other = list(texts)
    other[row % len(texts)] = text
    cuts = [set_aside(each, 0.5, np.random.default_rng(1), False)[0] for each in (texts, other)]
    assert cuts[0].tolist() == cuts[1].tolist()


def test_the_seed_decides_and_overlap_is_counted() -> None:
    texts = [f"text {i}" for i in range(100)]
    first, again, other = (
        set_aside(texts, 0.5, np.random.default_rng(seed), False)[0] for seed in (1, 1, 2)
    )
    assert first.tolist() == again.tolist() != other.tolist()
    assert len(first) == pytest.approx(50, abs=1)
    assert on_both_sides(["a", "b"], ["b", "b", "c"]) == 2
