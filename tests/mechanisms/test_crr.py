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
    random_space,
    space_of,
    spaces,
)
from scipy.optimize import linprog

from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms import crr
from trlap.mechanisms._response import best_constant, centred, constant_scores


def greedy(space: Space, K: int) -> list[int]:
    cosine, weights = cosines(space)
    order: list[int] = []
    for _ in range(K):
        coverage = [
            -2.0 if c in order else weights @ cosine[:, [*order, c]].max(1)
            for c in range(len(space))
        ]
        order.append(int(np.argmax(np.round(coverage, 12))))
    return order


@pytest.mark.parametrize("K", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_every_word_has_the_formulas_distribution(epsilon: float, K: int) -> None:
    found = make("crr", random_space(5), epsilon, K=K)
    cosine, _ = cosines(found.space)
    centres = greedy(found.space, K)
    answers = [{centres[int(np.argmax(row[centres]))]} for row in cosine]
    follows_the_formula(found, answers, set(centres))


@settings(max_examples=100, deadline=None)
@given(spaces, epsilons, st.data())
def test_epsilon_is_exact(space: Space, epsilon: float, data: st.DataObject) -> None:
    K = data.draw(st.integers(1, len(space)) | st.just("auto"))
    found = make("crr", space, epsilon, K=K)
    assert (found.claimed().notion, found.claimed().epsilon) == ("ε-DP", epsilon)
    assert len(set(found.outputs.tolist())) == len(found.outputs)
    assert (found.neighbours[found.outputs, 0] == found.outputs).all()  # a centre is its own
    is_tight(found)
    is_expectation(found)


def test_centres_are_greedy_and_nested(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = greedy(random_space(80, dimension=6, clusters=9), 60)
    for K in (1, 2, 7, 60):
        found = make("crr", random_space(80, dimension=6, clusters=9), 1.0, K=K)
        assert found.outputs.tolist() == expected[:K]
    monkeypatch.setattr(crr, "SCORES", 200)  # two rows at once
    monkeypatch.setattr(crr, "STEP", 7)
    found = make("crr", random_space(80, dimension=6, clusters=9), 1.0, K=60)
    assert found.outputs.tolist() == expected


def test_equal_words_and_words_without_direction() -> None:
    points = np.array([[1, 0]] * 3 + [[-1, 0]] * 3 + [[0, 0]], np.float32)
    prior = np.array([1, 1, 1, 1, 1, 1, 3]) / 9  # the mean is 0, and so is the last word
    space = Space([str(i) for i in range(7)], points, prior)
    found = make("crr", space, 2.0, K=2)
    assert found.outputs.tolist() == [0, 3]
    assert found.neighbours[:6, 0].tolist() == [0, 0, 0, 3, 3, 3]
    for K in range(1, 8):
        found = make("crr", space, 2.0, K=K)
        is_tight(found)
        is_expectation(found)
    is_expectation(make("crr", space_of(np.ones((4, 2))), 2.0))  # all words are one point


def test_all_centres_are_krr() -> None:
    space = random_space(20)
    every, plain = make("crr", space, 2.0, K=20), make("krr", space, 2.0)
    words = torch.arange(20)
    assert torch.equal(every.log_probabilities(words), plain.log_probabilities(words))
    assert every.expected_cosine() == pytest.approx(plain.expected_cosine(), abs=1e-12)
    assert len(make("crr", space, 20.0).outputs) == 20


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0, 5.0, 6.0, 8.0, 20.0])
def test_auto_is_the_best_K(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crr, "STEP", 16)
    space = random_space(150, dimension=20, clusters=15)
    auto = make("crr", space, epsilon)
    others = [make("crr", space, epsilon, K=K).expected_cosine() for K in range(1, 151)]
    K = len(auto.outputs)
    assert auto.expected_cosine() == others[K - 1]
    assert auto.expected_cosine() >= max(others[max(0, K - 2) : K + 1]) - 1e-12
    assert auto.expected_cosine() >= max(others) - crr.TOLERANCE
    assert auto.expected_cosine() >= best_constant(space) - 1e-12


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 5.0, 8.0])
def test_no_longer_order_exceeds_the_limit(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crr, "STEP", 8)
    space = random_space(60, dimension=5, clusters=6)
    unit, weights = centred(space)
    scores = constant_scores(unit, weights).numpy()
    found = make("crr", space, epsilon, K=1)
    assert isinstance(found, crr.CentreRandomisedResponse)
    J = [make("crr", space, epsilon, K=K).expected_cosine() for K in range(1, 60)]
    for order in crr.orders(space, unit, weights):
        reached = len(order["order"])
        if reached < 59:
            assert found._limit(order, scores, weights.numpy()) >= max(J[reached:]) - 1e-12


def test_large_epsilon_needs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crr, "extended", lambda *_: pytest.fail("a search"))
    assert len(make("crr", random_space(150, dimension=20), 20.0).outputs) == 150


@pytest.mark.parametrize("K", [0, -1, 31, "foo", "5", 2.0, True, None])
def test_bad_K(K: Any) -> None:
    with pytest.raises(TrlapError, match=r"^mechanism\.K"):
        make("crr", random_space(30), 1.0, K=K)


def test_orders_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make("crr", random_space(40, cache=tmp_path), 1.0, K=30)
    monkeypatch.setattr(crr, "first_centre", lambda *_: pytest.fail("not read from disk"))
    monkeypatch.setattr(crr, "extended", lambda *_: pytest.fail("not read from disk"))
    again = make("crr", random_space(40, cache=tmp_path), 3.0, K=30)
    assert torch.equal(first.outputs, again.outputs)
    assert torch.equal(first.neighbours, again.neighbours)
    assert first.inside == again.inside
    with pytest.raises(pytest.fail.Exception):
        make("crr", random_space(40, clusters=3, cache=tmp_path), 1.0, K=30)


def optimum(space: Space, epsilon: float) -> float:
    """The highest expected centred cosine of any ε-DP mechanism, by a linear program.

    Q is ε-DP exactly if for every y there is a t_y with t_y ≤ Q(y|w) ≤ e^ε t_y for all w.
    """
    cosine, weights = cosines(space)
    size = len(space)
    one, zero = np.eye(size * size), np.zeros((size, size * size))
    t = np.tile(np.eye(size), (size, 1))  # Q(y|w) stands at w · size + y
    bounds = np.vstack([np.hstack([-one, t]), np.hstack([one, -np.exp(epsilon) * t])])
    sums = np.hstack([np.kron(np.eye(size), np.ones(size)), zero[:, :size]])
    found = linprog(
        np.concatenate([-(weights[:, None] * cosine).ravel(), np.zeros(size)]),
        A_ub=bounds,
        b_ub=np.zeros(len(bounds)),
        A_eq=sums,
        b_eq=np.ones(size),
    )
    assert found.status == 0
    return float(-found.fun)


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 5.0])
def test_close_to_the_best_there_is(epsilon: float) -> None:
    space = glove_space(30)
    best = optimum(space, epsilon)
    assert best - 0.02 <= make("crr", space, epsilon).expected_cosine() <= best + 1e-9


def test_expected_cosine_of_real_words() -> None:
    space = glove_space(2000)
    found = [make("crr", space, epsilon).expected_cosine() for epsilon in (1, 3, 5, 8)]
    assert found == pytest.approx([0.087, 0.208, 0.353, 0.678], abs=0.005)
    other = [make("srr", space, epsilon).expected_cosine() for epsilon in (1, 3, 5, 8)]
    assert all(a > b + 0.02 for a, b in zip(found, other, strict=True))
