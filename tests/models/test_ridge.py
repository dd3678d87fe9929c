"""Ridge regression against its own definition, and what public documents add."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trlap.models.classifiers._least_squares import matched, ridge


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.floats(0.01, 100))
def test_no_other_weights_are_better(seed: int, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    rows, wanted = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    weights, bias = ridge(rows, wanted, penalty)

    def cost(w: np.ndarray, b: np.ndarray) -> float:
        return float(((wanted - rows @ w - b) ** 2).sum() + penalty * (w**2).sum())

    least = cost(weights, bias)
    for _ in range(5):
        step = 1e-2 * rng.normal(size=(4, 3))
        assert cost(weights + step, bias) > least
        assert cost(weights, bias + step[0]) > least


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.9, 0.1], [0.25, 0.25, 0.4, 0.1]])
def test_classes_have_the_shares_they_are_to_have(shares: list[float]) -> None:
    scores = np.random.default_rng(3).normal(size=(4000, len(shares)))
    named = (scores + matched(scores, np.array(shares))).argmax(axis=1)
    assert np.bincount(named, minlength=len(shares)) / 4000 == pytest.approx(shares, abs=0.02)
