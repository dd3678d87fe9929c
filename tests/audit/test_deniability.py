"""Plausible deniability against what can be computed by hand."""

import math

import pytest
from audit_helpers import make, matrix_of, released, scene_of

from trlap.audit.attacks.deniability import PlausibleDeniability, deniability
from trlap.audit.records import Spread


def test_deniability_of_randomised_response_by_hand() -> None:
    found = make("krr", 3.0)
    kept = math.e**3 / (math.e**3 + 59)
    other = (1 - kept) / 59
    block = deniability(found, matrix_of(found), 20, 50, 0)
    assert block.N_w.mean == pytest.approx(kept)
    assert block.N_w.worst_decile == pytest.approx(kept)
    expected = 1 - (1 - kept) ** 50 + 59 * (1 - (1 - other) ** 50)
    assert block.S_w.mean == pytest.approx(expected)
    assert block.sampled is False


@pytest.mark.parametrize("name", ["krr", "santext"])
def test_sampled_deniability_agrees_with_the_exact_one(name: str) -> None:
    found = make(name, 4.0)
    known = deniability(found, matrix_of(found), 60, 400, 0)
    sampled = deniability(found, None, 60, 400, 0)
    for key in ("N_w", "S_w"):
        assert getattr(sampled, key).mean == pytest.approx(getattr(known, key).mean, rel=0.05)


def test_deniability_at_the_ends() -> None:
    block = deniability(make("none", 1.0), None, 20, 10, 0)
    assert block.N_w == Spread(mean=1.0, worst_decile=1.0)
    assert block.S_w == Spread(mean=1.0, worst_decile=1.0)
    loud = deniability(make("gaussian", 0.01), None, 20, 60, 0)
    assert loud.N_w.mean < 0.1
    assert loud.S_w.mean > 20
    batches = deniability(released("trlap", 0.5), None, 20, 10, 0)
    assert batches.N_w.mean == 1  # noise of length 0.02 between words at a distance of 10


def test_the_attack_takes_its_sizes_from_the_config() -> None:
    found = make("gaussian", 1.0)
    scene = scene_of(found, words=7, draws=9)
    assert PlausibleDeniability().run(scene) == deniability(found, None, 7, 9, 0)
    assert PlausibleDeniability().confidence(scene) is None
