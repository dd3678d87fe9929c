"""Word-to-word matrices: one pass against three loops, and two rows against the definition."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from audit_helpers import make, matrix_of, space_of, vocabulary_of
from hypothesis import given, settings
from hypothesis import strategies as st

from trlap.mechanisms._channel import row_epsilon, row_log_delta


@pytest.mark.parametrize("name", ["krr", "srr", "crr"])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 12.0])
def test_matrices_of_randomised_response(name: str, epsilon: float) -> None:
    keys: dict[str, Any] = {"K": 7} if name == "crr" else {}
    found = make(name, epsilon, **keys)
    matrix = matrix_of(found)
    assert matrix.error < 1e-12
    assert matrix.epsilon == pytest.approx(epsilon, rel=1e-12)
    block = vocabulary_of(found)
    assert block.largest.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert block.largest.log10_delta == -math.inf
    assert block.violations == 0


@pytest.mark.parametrize("name", ["tem", "santext", "crr"])
def test_matrix_against_three_loops(name: str) -> None:
    keys: dict[str, Any] = {"gamma": 1.2} if name == "tem" else {}
    found = make(name, 4.0, space_of(3, 25), **keys)
    matrix = matrix_of(found)
    rows = found.log_probabilities(torch.arange(25)).numpy()
    with np.errstate(invalid="ignore"):
        every = np.nan_to_num(rows[:, None] - rows[None], nan=-np.inf)
    assert matrix.epsilon == pytest.approx(every.max(), rel=1e-12)
    w, other, y = matrix.pair
    assert every[w, other, y] == every.max()
    np.testing.assert_allclose(matrix.stays, np.exp(np.diag(rows)))
    posterior = rows + np.log(found.space.prior)[:, None]
    used = np.isfinite(posterior.max(0))
    np.testing.assert_array_equal(matrix.guesses[used], posterior.argmax(0)[used])
    bound = min(getattr(found, "threshold", np.inf), 2.0) * 4
    assert matrix.epsilon <= (4.0 if name == "crr" else bound)


@settings(deadline=None)
@given(
    weights=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=8),
    epsilon=st.floats(0, 6),
    log_delta=st.floats(-20, -0.1),
)
def test_two_rows(weights: list[tuple[float, float]], epsilon: float, log_delta: float) -> None:
    p, q = (np.array(column) + 1e-12 for column in zip(*weights, strict=True))
    p, q = p / p.sum(), q / q.sum()
    direct = float(np.maximum(p - np.exp(epsilon) * q, 0).sum())
    found = row_log_delta(np.log(p), np.log(q), epsilon)
    assert math.exp(found) == pytest.approx(direct, abs=1e-9)
    inverse = row_epsilon(np.log(p), np.log(q), log_delta)
    assert row_log_delta(np.log(p), np.log(q), inverse * (1 + 1e-6)) <= log_delta
    if inverse > 1e-6:
        assert row_log_delta(np.log(p), np.log(q), inverse * (1 - 1e-6)) > log_delta - 1e-3


def test_rows_with_different_supports() -> None:
    p, q = np.log([0.5, 0.5, 1e-300]), np.array([0.0, -np.inf, -np.inf])
    assert math.exp(row_log_delta(p, q, 50.0)) == pytest.approx(0.5)
    assert row_epsilon(p, q, math.log(0.4)) == math.inf
    assert row_epsilon(p, q, math.log(0.6)) == 0
    assert row_epsilon(p, q, -math.inf) == math.inf


def test_rows_at_no_delta_are_the_largest_loss() -> None:
    p, q = np.log([0.6, 0.3, 0.1]), np.log([0.2, 0.3, 0.5])
    assert row_epsilon(p, q, -math.inf) == pytest.approx(math.log(3), rel=1e-15)
    assert row_epsilon(q, p, -math.inf) == pytest.approx(math.log(5), rel=1e-15)
    assert row_epsilon(p, p, -math.inf) == 0
