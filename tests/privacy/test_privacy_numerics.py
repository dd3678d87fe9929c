"""Logarithms against mpmath, and the bisection against known answers."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from privacy_helpers import many

from trlap.privacy.numerics import (
    log1mexp,
    log_expm1,
    log_hazard_of,
    log_probability_of,
    log_subtract,
    minimise,
    smallest,
)


@many
@given(st.floats(-800, -1e-12))
def test_log1mexp_against_mpmath(x: float) -> None:
    with mpmath.workdps(400):
        exact = float(mpmath.log(1 - mpmath.exp(mpmath.mpf(x))))
    assert log1mexp(x) == pytest.approx(exact, rel=1e-13, abs=1e-320)
    difference = log_subtract(np.zeros(1), np.array([x]))[0]
    assert difference == pytest.approx(exact, rel=1e-13, abs=1e-320)


def test_differences_at_the_ends() -> None:
    one, two = np.array([0.0, -3.0, -math.inf, 2.0]), np.array([0.0, -math.inf, -math.inf, 3.0])
    assert log_subtract(one, two).tolist() == [-math.inf, -3.0, -math.inf, -math.inf]
    assert log1mexp(0.0) == -math.inf


@many
@given(st.floats(-3000, -1e-3))
def test_hazards_are_the_way_back_to_probabilities(log_p: float) -> None:
    assert log_probability_of(float(log_hazard_of(log_p))) == pytest.approx(log_p, rel=1e-12)


def test_hazards_of_independent_events_add() -> None:
    p, q = 0.3, 0.01
    either = math.exp(log_hazard_of(math.log(p))) + math.exp(log_hazard_of(math.log(q)))
    assert math.exp(log_probability_of(math.log(either))) == pytest.approx(1 - 0.7 * 0.99)
    assert log_probability_of(-math.inf) == -math.inf
    assert log_hazard_of(0.0) == math.inf


@many
@given(st.floats(1e-9, 1e9))
def test_the_smallest_valid_number_is_valid(limit: float) -> None:
    found = smallest(lambda x: x >= limit, 1e-10, 1e10)
    assert limit <= found <= limit * (1 + 2e-10)


def test_a_minimum_is_where_it_is() -> None:
    x, value = minimise(lambda x: (x - 2) ** 2 + 1, -20, 20)
    assert x == pytest.approx(2) and value == pytest.approx(1)


def test_log_expm1_where_the_exponential_is_no_float() -> None:
    assert log_expm1(1e-12) == pytest.approx(math.log(1e-12), rel=1e-12)
    assert log_expm1(1500.0) == 1500.0
