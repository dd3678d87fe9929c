"""What was claimed and what is exactly true: the block, and brute force."""

import json
import math
from typing import Any

import numpy as np
import pytest
from audit_helpers import (
    VECTORS,
    build,
    every,
    guarantee_of,
    integrated_delta,
    make,
    released,
    space_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from trlap.audit.guarantee import word_bounds
from trlap.files import jsonable
from trlap.runs import records
from trlap.runs.result import WordBounds


@pytest.mark.parametrize(
    ("epsilon", "claimed", "axis", "spread"),
    [
        (0.05, -181, 0.249, 0.987),
        (0.1, -181, 0.248, 0.987),
        (1, -181, 0.228, 0.979),
        (5, -181, 0.122, 0.843),
        (10, -301, 0.033, 0.371),
        (20, -1024, 0.010, 0.123),
    ],
)
def test_the_published_claim_fails_by_this_much(
    epsilon: float, claimed: int, axis: float, spread: float
) -> None:
    found = make("trlap", epsilon, space_of(300, 2))
    block = guarantee_of(found)
    assert round(block.claimed.log10_delta) == claimed
    assert block.exact.delta == pytest.approx(spread, abs=5e-4)
    assert block.exact.epsilon == epsilon
    assert block.exact.epsilon_at_delta_1e6 == math.inf
    assert block.holds is False
    along_one_axis = np.eye(300)[0] * 2
    assert math.exp(found.log_delta(epsilon, along_one_axis)) == pytest.approx(axis, abs=5e-4)


@pytest.mark.parametrize(
    ("delta", "valid", "invalid"), [("paper", 16.8, 20.0), (1e-5, 8.4, 8.5), (1e-6, 8.7, 8.9)]
)
def test_the_published_gaussian_holds_up_to_a_limit(
    delta: float | str, valid: float, invalid: float
) -> None:
    space = space_of(300, 2)
    assert guarantee_of(make("gaussian", valid, space, delta=delta)).holds is True
    block = guarantee_of(make("gaussian", invalid, space, delta=delta))
    assert block.holds is False
    assert block.word.verdict == "undecided"  # the vector's failure says nothing of the word
    if delta == "paper":
        assert block.exact.log10_delta == pytest.approx(-179.88, abs=5e-3)
        assert block.claimed.log10_delta == pytest.approx(-180.62, abs=5e-3)


@every
def test_which_claims_hold(spec: Any) -> None:
    found = build(spec)
    block = guarantee_of(found)
    expected = {"none": None, "trlap": found.calibration == "exact"}.get(found.name, True)
    assert block.holds is expected
    verdict = {True: "holds", False: "undecided", None: None}[expected]
    assert block.word.verdict == verdict
    json.dumps(jsonable(records.to_json(block)), allow_nan=False)


def test_metric_mechanisms_stand_on_the_canonical_axis() -> None:
    for name in ("cmp", "vickrey", "mahalanobis", "pte"):
        found = make(name, 3.0)
        block = guarantee_of(found)
        assert block.claimed.notion == "metric DP"
        assert block.claimed.distance
        assert block.exact.epsilon == pytest.approx(3 * found.distance(), rel=1e-12)
        assert block.exact.delta == 0
        assert 0 < block.exact.epsilon_at_delta_1e6 < block.exact.epsilon
    assert guarantee_of(make("santext", 3.0)).exact.epsilon <= 6


def test_the_release_guarantees_nothing() -> None:
    for name in ("gaussian", "laplace", "trlap", "cmp", "pte"):
        block = guarantee_of(released(name, 0.5))
        assert block.holds is False
        assert block.exact.delta == 1
        assert block.exact.epsilon_at_delta_1e6 == math.inf
    unknown = guarantee_of(released("mahalanobis", 0.5))
    assert unknown.holds is None
    assert unknown.exact.delta is None
    assert "no bound is known" in unknown.exact.reason
    assert unknown.word == WordBounds(delta_lower=0.0, delta_upper=None, verdict="undecided")
    assert guarantee_of(released("none", 0.5)).holds is None


def test_the_word_is_refuted_only_by_what_was_shown_of_the_word() -> None:
    found = make("trlap", 0.5)
    claim, block = found.claimed(), guarantee_of(found).exact
    assert word_bounds(0.0, block, claim).verdict == "undecided"
    assert word_bounds(1e-3, block, claim).verdict == "refuted"


def test_nothing_underflows_or_overflows() -> None:
    small = guarantee_of(make("gaussian", 40.0, space_of(1700, 2), calibration="exact"))
    assert small.claimed.log10_delta == pytest.approx(-1700 * math.log10(4))
    assert small.exact.log10_delta == pytest.approx(-1700 * math.log10(4), rel=1e-6)
    assert small.holds is True
    large = guarantee_of(make("krr", 2000.0))
    assert large.exact.log10_delta == -math.inf
    assert large.holds is True


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(["gaussian", "cmp", "krr", "crr", "santext"]),
    epsilon=st.floats(0.05, 20),
    more=st.floats(0.01, 5),
    log_delta=st.floats(-30, -1),
)
def test_curves_fall(name: str, epsilon: float, more: float, log_delta: float) -> None:
    found = make(name, 2.0)
    assert found.log_delta(epsilon + more) <= found.log_delta(epsilon)
    assert found.epsilon_at(log_delta + more) <= found.epsilon_at(log_delta) + 1e-12


@settings(deadline=None, max_examples=8)
@given(name=st.sampled_from(["laplace", "trlap"]), epsilon=st.floats(0.05, 3))
def test_curves_of_loss_distributions_fall(name: str, epsilon: float) -> None:
    found = make(name, 2.0, space_of(3), delta=1e-3, calibration="exact")
    assert found.log_delta(epsilon * 1.5) <= found.log_delta(epsilon) + 1e-9


# ------------------------------------------------------------------------------------- brute force


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("name", VECTORS)
def test_delta_is_the_integral_of_the_densities(name: str, dimension: int) -> None:
    """Both sides: the closed forms, and the likelihoods that the attacks use."""
    keys = {"m": {1: 1, 2: 2, 3: 2}[dimension]} if name == "pte" else {}
    if name == "trlap":
        found = make(name, 1.0, space_of(dimension, 6), delta=0.3**dimension)
    else:
        found = make(name, 2.0, space_of(dimension, 6), delta=1e-2, **keys)
    noise = found.geometry()
    assert noise is not None
    cells = {1: 40_000, 2: 900, 3: 130}[noise.points.shape[1]]
    s = (found.space.vectors[0] - found.space.vectors[4]).double().numpy()
    for epsilon in (0.0, 0.2, found.epsilon):
        delta = integrated_delta(noise, noise.points[[0, 4]].double(), epsilon, cells)
        expected = math.exp(found.log_delta(epsilon, s))
        assert delta == pytest.approx(expected, rel=0.02, abs=2e-3)
