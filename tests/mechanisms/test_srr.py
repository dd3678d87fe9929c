import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from response_helpers import (
    cosines,
    epsilons,
    follows_the_formula,
    glove_space,
    is_expectation,
    is_tight,
    make,
    matrix,
    random_space,
    space_of,
    spaces,
)

from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms import srr
from trlap.mechanisms._response import most_apart


def nearest(space: Space, m: int) -> list[set[int]]:
    cosine, _ = cosines(space)
    np.fill_diagonal(cosine, 2)
    return [set(np.argsort(-row.round(9), kind="stable")[:m].tolist()) for row in cosine]


@pytest.mark.parametrize("m", [1, 2, 4, 5])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_every_word_has_the_formulas_distribution(epsilon: float, m: int) -> None:
    found = make("srr", random_space(5), epsilon, m=m)
    follows_the_formula(found, nearest(found.space, m), set(range(5)))
    inside = np.exp(matrix(found)).max(1)
    total = m * math.exp(epsilon) + 5 - m
    np.testing.assert_allclose(inside, math.exp(epsilon) / total, rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(spaces, epsilons, st.data())
def test_epsilon_is_exact(space: Space, epsilon: float, data: st.DataObject) -> None:
    m = data.draw(st.integers(1, len(space)) | st.just("auto"))
    found = make("srr", space, epsilon, m=m)
    assert (found.claimed().notion, found.claimed().epsilon) == ("ε-DP", epsilon)
    assert (found.neighbours[:, 0] == torch.arange(len(space))).all()  # w is in S_w, first
    assert all(len(set(row)) == len(row) for row in found.neighbours.tolist())
    is_tight(found)
    is_expectation(found)


def test_neighbours_are_the_nearest_by_centred_cosine() -> None:
    space = random_space(700, dimension=20, clusters=30)  # more than one batch of rows would hold
    found = make("srr", space, 1.0, m=25)
    assert [set(row) for row in found.neighbours.tolist()] == nearest(space, 25)


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make("srr", random_space(60), 2.0, m=7)
    monkeypatch.setattr(srr, "SCORES", 130)  # two rows at once
    parts = make("srr", random_space(60), 2.0, m=7)
    assert torch.equal(whole.neighbours, parts.neighbours)
    assert whole.expected_cosine() == pytest.approx(parts.expected_cosine(), abs=1e-14)


def test_equal_words_come_in_order_of_index() -> None:
    points = np.array([[1, 0], [0, 1], [1, 0], [1, 0], [-1, -1], [0, 1]], np.float32)
    found = make("srr", space_of(points), 1.0, m=3)
    assert found.neighbours[[0, 2, 3]].tolist() == [[0, 2, 3], [2, 0, 3], [3, 0, 2]]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 5.0, 8.0])
def test_auto_is_the_best_m(epsilon: float) -> None:
    space = random_space(120, dimension=20, clusters=12)
    auto = make("srr", space, epsilon)
    others = [make("srr", space, epsilon, m=m).expected_cosine() for m in range(1, 121)]
    assert auto.expected_cosine() == pytest.approx(max(others), abs=1e-12)
    assert others[auto.neighbours.shape[1] - 1] == max(others)


@pytest.mark.parametrize("m", [0, -1, 31, "foo", "5", 2.0, True, None])
def test_bad_m(m: Any) -> None:
    with pytest.raises(TrlapError, match=r"^mechanism\.m"):
        make("srr", random_space(30), 1.0, m=m)


def test_lists_that_would_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(srr, "ENTRIES", 30 * 8)
    assert make("srr", random_space(30), 1.0).neighbours.shape[1] <= 8
    assert make("srr", random_space(30), 1.0, m=8).neighbours.shape == (30, 8)
    with pytest.raises(TrlapError, match="at most 8"):
        make("srr", random_space(30), 1.0, m=9)


def test_overlap_of_the_worst_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    monkeypatch.setattr("trlap.mechanisms._response.SCORES", 40)  # rows in pairs
    for m in range(1, 21):
        lists = np.array([rng.permutation(20)[:m] for _ in range(20)])
        brute = max(len(set(a) - set(b)) for a in lists for b in lists)
        assert most_apart(torch.from_numpy(lists), 20, 20) == brute


def test_lists_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make("srr", random_space(40, cache=tmp_path), 1.0, m=5)
    monkeypatch.setattr(srr, "nearest_words", lambda *_: pytest.fail("not read from disk"))
    again = make("srr", random_space(40, cache=tmp_path), 1.0, m=5)
    assert torch.equal(first.neighbours, again.neighbours)
    assert first.expected_cosine() == again.expected_cosine()
    with pytest.raises(pytest.fail.Exception):
        make("srr", random_space(41, cache=tmp_path), 1.0, m=5)


def test_expected_cosine_of_real_words() -> None:
    space = glove_space(2000)
    found = [make("srr", space, epsilon).expected_cosine() for epsilon in (1, 3, 5, 8)]
    assert found == pytest.approx([0.06, 0.17, 0.29, 0.60], abs=0.02)
