"""The exact side of the audit: the block, the vocabulary in use, whole documents."""

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from audit_helpers import (
    VECTORS,
    build,
    every,
    integrated_delta,
    make,
    released,
    space_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from trlap.audit import exact
from trlap.audit.geometry import _sampled, extremes, geometry, hazards
from trlap.config import schema as config
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import build_table, frequent_words
from trlap.privacy import noise as privacy
from trlap.runs.cache import jsonable

LOG_1E6 = math.log(1e-6)


# ------------------------------------------------------------------------------------------ the block


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
    block = exact.guarantee(found)
    assert round(block["claimed"]["log10_delta"]) == claimed
    assert block["exact"]["delta"] == pytest.approx(spread, abs=5e-4)
    assert block["exact"]["epsilon"] == epsilon
    assert block["exact"]["epsilon_at_delta_1e6"] == math.inf
    assert block["holds"] is False
    along_one_axis = np.eye(300)[0] * 2
    assert math.exp(found.log_delta(epsilon, along_one_axis)) == pytest.approx(axis, abs=5e-4)


@pytest.mark.parametrize(
    ("delta", "valid", "invalid"), [("paper", 16.8, 20.0), (1e-5, 8.4, 8.5), (1e-6, 8.7, 8.9)]
)
def test_the_published_gaussian_holds_up_to_a_limit(
    delta: float | str, valid: float, invalid: float
) -> None:
    space = space_of(300, 2)
    assert exact.guarantee(make("gaussian", valid, space, delta=delta))["holds"] is True
    block = exact.guarantee(make("gaussian", invalid, space, delta=delta))
    assert block["holds"] is False
    assert block["word"]["verdict"] == "undecided"  # the vector's failure says nothing of the word
    if delta == "paper":
        assert block["exact"]["log10_delta"] == pytest.approx(-179.88, abs=5e-3)
        assert block["claimed"]["log10_delta"] == pytest.approx(-180.62, abs=5e-3)


@every
def test_which_claims_hold(spec: Any) -> None:
    found = build(spec)
    block = exact.guarantee(found)
    expected = {"none": None, "trlap": found.calibration == "exact"}.get(found.name, True)
    assert block["holds"] is expected
    verdict = {True: "holds", False: "undecided", None: None}[expected]
    assert block["word"]["verdict"] == verdict
    json.dumps(jsonable(block), allow_nan=False)


def test_metric_mechanisms_stand_on_the_canonical_axis() -> None:
    for name in ("cmp", "vickrey", "mahalanobis", "pte"):
        found = make(name, 3.0)
        block = exact.guarantee(found)
        assert block["claimed"]["notion"] == "metric DP"
        assert block["claimed"]["distance"]
        assert block["exact"]["epsilon"] == pytest.approx(3 * found.distance(), rel=1e-12)
        assert block["exact"]["delta"] == 0
        assert 0 < block["exact"]["epsilon_at_delta_1e6"] < block["exact"]["epsilon"]
    assert exact.guarantee(make("santext", 3.0))["exact"]["epsilon"] <= 6


def test_the_release_guarantees_nothing() -> None:
    for name in ("gaussian", "laplace", "trlap", "cmp", "pte"):
        block = exact.guarantee(released(name, 0.5))
        assert block["holds"] is False
        assert block["exact"]["delta"] == 1
        assert block["exact"]["epsilon_at_delta_1e6"] == math.inf
    unknown = exact.guarantee(released("mahalanobis", 0.5))
    assert unknown["holds"] is None
    assert unknown["exact"]["delta"] is None
    assert "no bound is known" in unknown["exact"]["reason"]
    assert unknown["word"] == {"delta_lower": 0.0, "delta_upper": None, "verdict": "undecided"}
    assert exact.guarantee(released("none", 0.5))["holds"] is None


def test_the_word_is_refuted_only_by_what_was_shown_of_the_word() -> None:
    found = make("trlap", 0.5)
    claim, block = found.claimed(), exact.guarantee(found)["exact"]
    assert exact.word_block(0.0, block, claim)["verdict"] == "undecided"
    assert exact.word_block(1e-3, block, claim)["verdict"] == "refuted"


def test_nothing_underflows_or_overflows() -> None:
    small = exact.guarantee(make("gaussian", 40.0, space_of(1700, 2), calibration="exact"))
    assert small["claimed"]["log10_delta"] == pytest.approx(-1700 * math.log10(4))
    assert small["exact"]["log10_delta"] == pytest.approx(-1700 * math.log10(4), rel=1e-6)
    assert small["holds"] is True
    large = exact.guarantee(make("krr", 2000.0))
    assert large["exact"]["log10_delta"] == -math.inf
    assert large["holds"] is True


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
    noise = geometry(found)
    assert noise is not None
    cells = {1: 40_000, 2: 900, 3: 130}[noise.points.shape[1]]
    s = (found.space.vectors[0] - found.space.vectors[4]).double().numpy()
    for epsilon in (0.0, 0.2, found.epsilon):
        delta = integrated_delta(noise, noise.points[[0, 4]].double(), epsilon, cells)
        expected = math.exp(found.log_delta(epsilon, s))
        assert delta == pytest.approx(expected, rel=0.02, abs=2e-3)


# ---------------------------------------------------------------------------- the vocabulary in use


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("clip", [1.0, 100.0])
def test_the_largest_pair_is_the_largest(name: str, clip: float) -> None:
    keys = {"delta": 0.3**12} if name == "trlap" else {}
    found = make(name, 1.0, space_of(clip=clip), clip=clip, **keys)
    noise = geometry(found)
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
        block = exact.vector_vocabulary(found, 0)
        pairs = itertools.combinations(found.space.vectors.double().numpy(), 2)
        deltas = [math.exp(found.log_delta(found.epsilon, x - y)) for x, y in pairs]
        assert block["largest"]["delta"] == pytest.approx(max(deltas), rel=1e-9)
        assert block["quantiles"]["delta"]["1"] <= max(deltas) * (1 + 1e-9)
        assert block["quantiles"]["delta"]["0.5"] == pytest.approx(np.median(deltas), rel=0.05)


@pytest.mark.slow
def test_the_published_mechanism_on_10000_words() -> None:
    """The most frequent words of GloVe 840B at ε = 0.1: no pair is below 0.18."""
    words = frequent_words()[:10_000]
    source = config.Embedding(name="glove840b", source="asset", id="glove840b")
    space = Space(words, build_table(source, words).vectors, np.full(10_000, 1e-4))
    block = exact.vector_vocabulary(make("trlap", 0.1, space), 0)
    assert block["search"] == "all 49,995,000 pairs"
    assert block["largest"]["delta"] == pytest.approx(0.932, abs=1e-3)
    assert block["smallest"]["delta"] == pytest.approx(0.188, abs=1e-3)
    assert block["quantiles"]["delta"]["0.5"] == pytest.approx(0.888, abs=3e-3)


def test_supports_that_do_not_meet_are_sampled_and_said_so() -> None:
    """Without clipping a difference may exceed 2A: no bound is at hand."""
    space = space_of(4, clip=None)
    noise = geometry(make("trlap", 0.5, space, delta=0.2**4))
    assert noise is not None
    assert extremes(noise, 0) == _sampled(noise, 0)
    assert "sampled" in extremes(noise, 0).search


def test_a_tie_of_too_many_pairs_is_said() -> None:
    """All pairs of unit vectors are equally far apart: more than the search compares in float64."""
    vectors = np.eye(250, dtype=np.float32)
    space = Space([str(i) for i in range(250)], vectors, np.full(250, 1 / 250))
    ends = extremes(geometry(make("gaussian", 1.0, space)), 0)  # type: ignore[arg-type]
    assert "20,000 of them exactly" in ends.search
    assert ends.largest[0] != ends.largest[1]


def test_words_with_the_same_vector_cost_nothing() -> None:
    vectors = np.ones((3, 4), np.float32)
    space = Space(["a", "b", "c"], vectors, np.full(3, 1 / 3))
    for name in ("gaussian", "laplace", "trlap", "cmp"):
        keys = {"delta": 0.3**4} if name == "trlap" else {}
        block = exact.vector_vocabulary(make(name, 1.0, space, **keys), 0)
        assert block["largest"]["delta"] == 0
        assert block["largest"]["epsilon_at_delta_1e6"] == 0


@every
def test_vocabulary_is_no_worse_than_all_clipped_vectors(spec: Any) -> None:
    found = build(spec)
    if found.name in VECTORS:
        everywhere = exact.guarantee(found)["exact"]
        largest = exact.vector_vocabulary(found, 0)["largest"]
        assert largest["epsilon_at_delta_1e6"] <= everywhere["epsilon_at_delta_1e6"] + 1e-9
        assert largest["log10_delta"] <= everywhere["log10_delta"] + 1e-9


@pytest.mark.parametrize("name", ["krr", "srr", "crr"])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 12.0])
def test_matrices_of_randomised_response(name: str, epsilon: float) -> None:
    found = make(name, epsilon, **({"K": 7} if name == "crr" else {}))
    matrix = exact.matrix(found)
    assert matrix.error < 1e-12
    assert matrix.epsilon == pytest.approx(epsilon, rel=1e-12)
    block = exact.word_vocabulary(found, matrix, 0)
    assert block["largest"]["epsilon"] == pytest.approx(epsilon, rel=1e-12)
    assert block["largest"]["log10_delta"] == -math.inf
    assert block["violations"] == 0


@pytest.mark.parametrize("name", ["tem", "santext", "crr"])
def test_matrix_against_three_loops(name: str) -> None:
    keys = {"gamma": 1.2} if name == "tem" else {}
    found = make(name, 4.0, space_of(3, 25), **keys)
    matrix = exact.matrix(found)
    rows = found.log_probabilities(torch.arange(25)).numpy()
    with np.errstate(invalid="ignore"):
        every = np.nan_to_num(rows[:, None] - rows[None], nan=-np.inf)
    assert matrix.epsilon == pytest.approx(every.max(), rel=1e-12)
    w, other, y = matrix.pair
    assert every[w, other, y] == every.max()
    np.testing.assert_allclose(matrix.kept, np.exp(np.diag(rows)))
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
    found = exact.row_log_delta(np.log(p), np.log(q), epsilon)
    assert math.exp(found) == pytest.approx(direct, abs=1e-9)
    inverse = exact.row_epsilon(np.log(p), np.log(q), log_delta)
    assert exact.row_log_delta(np.log(p), np.log(q), inverse * (1 + 1e-6)) <= log_delta
    if inverse > 1e-6:
        assert exact.row_log_delta(np.log(p), np.log(q), inverse * (1 - 1e-6)) > log_delta - 1e-3


def test_rows_with_different_supports() -> None:
    p, q = np.log([0.5, 0.5, 1e-300]), np.array([0.0, -np.inf, -np.inf])
    assert math.exp(exact.row_log_delta(p, q, 50.0)) == pytest.approx(0.5)
    assert exact.row_epsilon(p, q, math.log(0.4)) == math.inf
    assert exact.row_epsilon(p, q, math.log(0.6)) == 0


# ------------------------------------------------------------------------------------- whole documents


def test_gaussian_documents_against_dp_accounting() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    found = make("gaussian", 1.0, delta=1e-6, calibration="exact")
    block = exact.guarantee(found)["exact"]
    documents = exact.composition(found, [3, 10, 10, 40, 0], None, block)
    assert (documents["median"]["words"], documents["longest"]["words"]) == (10, 40)
    losses = pld.from_gaussian_mechanism(found.sigma, sensitivity=2.0)
    for document in (documents["median"], documents["longest"]):
        expected = losses.self_compose(document["words"]).get_epsilon_for_delta(1e-6)
        assert document["loss_distribution"]["epsilon"] == pytest.approx(expected, rel=1e-3)
        assert document["loss_distribution"]["epsilon"] < document["basic"]["epsilon"]
        assert document["basic"]["epsilon"] == document["words"]
        expected = math.log10(document["words"]) - 6
        assert document["basic"]["log10_delta"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("draws", [1, 7, 60])
def test_metric_documents_against_dp_accounting_in_one_dimension(draws: int) -> None:
    """There CMP's noise is Laplace noise of scale 1/ε."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    found = make("cmp", 0.4, space_of(1))
    ours, method = exact.composed_epsilon(found, LOG_1E6, draws)
    losses = pld.from_laplace_mechanism(1 / 0.4, sensitivity=2.0).self_compose(draws)
    assert method == "privacy-loss distribution"
    assert ours == pytest.approx(losses.get_epsilon_for_delta(1e-6), rel=1e-3)


def test_metric_documents_cost_less_than_their_pure_epsilon() -> None:
    found = make("cmp", 10.0, space_of(300, 2))
    single = exact.composed_epsilon(found, LOG_1E6, 1)[0]
    assert single == pytest.approx(found.epsilon_at(LOG_1E6), rel=1e-3)
    assert single < exact.composed_epsilon(found, LOG_1E6, 20)[0] < 60  # adding up: 400


def test_every_draw_of_the_release_is_counted() -> None:
    found = released("trlap", 0.5)
    documents = exact.composition(found, [10], 100, exact.guarantee(found)["exact"])
    assert documents["draws_a_word"] == 100
    assert documents["longest"]["draws"] == 1000
    assert documents["longest"]["claimed_basic"]["epsilon"] == 500
    assert documents["longest"]["loss_distribution"]["epsilon"] == math.inf
    unknown = released("mahalanobis", 0.5)
    documents = exact.composition(unknown, [10], 100, exact.guarantee(unknown)["exact"])
    assert documents["longest"]["basic"] is None


def test_a_published_document_has_no_epsilon() -> None:
    found = make("trlap", 0.5)
    documents = exact.composition(found, [10], None, exact.guarantee(found)["exact"])
    assert documents["median"]["loss_distribution"]["epsilon"] == math.inf
    assert documents["median"]["basic"]["log10_delta"] > -0.3
    assert exact.composition(found, [], None, exact.guarantee(found)["exact"]) == {}


@every
def test_the_worst_pair_has_the_exact_delta(spec: Any) -> None:
    """The two clipped vectors that the attack starts with are as far apart as the block says."""
    found = build(spec)
    noise = geometry(found)
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
        own = privacy.trlap_log_delta(s, found.alpha, found.A)
        assert own == pytest.approx(found.log_delta(found.epsilon), rel=1e-4)
