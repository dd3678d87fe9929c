"""The words in use: the largest pair of all, quantiles, and the worst two vectors there can be."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from audit_helpers import VECTORS, build, every, guarantee_of, make, space_of, vocabulary_of

from trlap.config import schema as config
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import build_embedding, frequent_words
from trlap.mechanisms._extremes import _sampled, extremes, hazards


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("clip", [1.0, 100.0])
def test_the_largest_pair_is_the_largest(name: str, clip: float) -> None:
    keys = {"delta": 0.3**12} if name == "trlap" else {}
    found = make(name, 1.0, space_of(clip=clip), clip=clip, **keys)
    noise = found.geometry()
    assert noise is not None
    ends = extremes(noise, 0)
    pairs = np.array(list(itertools.combinations(range(60), 2)))
    values = hazards(noise, pairs[:, 0], pairs[:, 1])
    assert ends.search == "all 1,770 pairs"
    assert ends.largest == tuple(pairs[values.argmax()])
    assert ends.smallest == tuple(pairs[values.argmin()])


def test_the_largest_pair_has_the_largest_delta() -> None:
    """The order by hazard is the order by δ, for noise that is far from uniform, too."""
    for found in (make("trlap", 0.5), make("trlap", 1.0, delta=1e-9, calibration="exact")):
        block = vocabulary_of(found)
        pairs = itertools.combinations(found.space.vectors.double().numpy(), 2)
        deltas = [math.exp(found.log_delta(found.epsilon, x - y)) for x, y in pairs]
        assert block.largest.delta == pytest.approx(max(deltas), rel=1e-9)
        assert block.quantiles.delta["1"] <= max(deltas) * (1 + 1e-9)
        assert block.quantiles.delta["0.5"] == pytest.approx(np.median(deltas), rel=0.05)


@pytest.mark.slow
def test_the_published_mechanism_on_10000_words() -> None:
    """The most frequent words of GloVe 840B at ε = 0.1: no pair is below 0.18."""
    words = frequent_words()[:10_000]
    source = config.Embedding(name="glove840b", source="asset", id="glove840b")
    space = Space(words, build_embedding(source, words).vectors, np.full(10_000, 1e-4))
    block = vocabulary_of(make("trlap", 0.1, space))
    assert block.search == "all 49,995,000 pairs"
    assert block.largest.delta == pytest.approx(0.932, abs=1e-3)
    assert block.smallest.delta == pytest.approx(0.188, abs=1e-3)
    assert block.quantiles.delta["0.5"] == pytest.approx(0.888, abs=3e-3)


def test_supports_that_do_not_meet_are_sampled_and_said_so() -> None:
    """Without clipping a difference may exceed 2A: no bound is at hand."""
    space = space_of(4, clip=None)
    noise = make("trlap", 0.5, space, delta=0.2**4).geometry()
    assert noise is not None
    assert extremes(noise, 0) == _sampled(noise, 0)
    assert "sampled" in extremes(noise, 0).search


def test_a_tie_of_too_many_pairs_is_said() -> None:
    """All pairs of unit vectors are equally far apart: more than the search compares in float64."""
    vectors = np.eye(250, dtype=np.float32)
    space = Space([str(i) for i in range(250)], vectors, np.full(250, 1 / 250))
    ends = extremes(make("gaussian", 1.0, space).geometry(), 0)
    assert "20,000 of them exactly" in ends.search
    assert ends.largest[0] != ends.largest[1]


def test_words_with_the_same_vector_cost_nothing() -> None:
    vectors = np.ones((3, 4), np.float32)
    space = Space(["a", "b", "c"], vectors, np.full(3, 1 / 3))
    for name in ("gaussian", "laplace", "trlap", "cmp"):
        keys = {"delta": 0.3**4} if name == "trlap" else {}
        block = vocabulary_of(make(name, 1.0, space, **keys))
        assert block.largest.delta == 0
        assert block.largest.epsilon_at_delta_1e6 == 0


@every
def test_vocabulary_is_no_worse_than_all_clipped_vectors(spec: Any) -> None:
    found = build(spec)
    if found.name in VECTORS:
        everywhere = guarantee_of(found).exact
        largest = vocabulary_of(found).largest
        assert largest.epsilon_at_delta_1e6 <= everywhere.epsilon_at_delta_1e6 + 1e-9
        assert largest.log10_delta <= everywhere.log10_delta + 1e-9


@every
def test_the_worst_pair_has_the_exact_delta(spec: Any) -> None:
    """The two clipped vectors that the attack starts with are as far apart as the block says."""
    found = build(spec)
    noise = found.geometry()
    if noise is None:
        return
    first, second = (x.double() for x in noise.worst_pair(found.clip, found.dimension))
    if found.name == "pte":
        s = np.linalg.lstsq(found.phi, (first - second).numpy())[0]
    else:
        s = (first - second).numpy()
        assert np.linalg.norm(s) == pytest.approx(2, rel=1e-6)
    if found.name in ("cmp", "vickrey", "mahalanobis", "pte"):
        assert found.distance(s) == pytest.approx(found.distance(), rel=1e-5)
    elif found.name == "trlap":
        own = found.law.log_infinity(s)
        assert own == pytest.approx(found.log_delta(found.epsilon), rel=1e-4)
