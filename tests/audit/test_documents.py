"""Whole documents: composition against dp-accounting."""

import math

import pytest
from audit_helpers import documents_of, make, released, space_of

LOG_1E6 = math.log(1e-6)


def test_gaussian_documents_against_dp_accounting() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    found = make("gaussian", 1.0, delta=1e-6, calibration="exact")
    documents = documents_of(found, [3, 10, 10, 40, 0])
    assert (documents.median.words, documents.longest.words) == (10, 40)
    losses = pld.from_gaussian_mechanism(found.law.sigma, sensitivity=2.0)
    for document in (documents.median, documents.longest):
        expected = losses.self_compose(document.words).get_epsilon_for_delta(1e-6)
        assert document.loss_distribution.epsilon == pytest.approx(expected, rel=1e-3)
        assert document.loss_distribution.epsilon < document.basic.epsilon
        assert document.basic.epsilon == document.words
        expected = math.log10(document.words) - 6
        assert document.basic.log10_delta == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("draws", [1, 7, 60])
def test_metric_documents_against_dp_accounting_in_one_dimension(draws: int) -> None:
    """There CMP's noise is Laplace noise of scale 1/ε."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    found = make("cmp", 0.4, space_of(1))
    ours = found.compose(LOG_1E6, draws)
    losses = pld.from_laplace_mechanism(1 / 0.4, sensitivity=2.0).self_compose(draws)
    assert ours.method == "privacy-loss distribution"
    assert ours.epsilon == pytest.approx(losses.get_epsilon_for_delta(1e-6), rel=1e-3)


def test_metric_documents_cost_less_than_their_pure_epsilon() -> None:
    found = make("cmp", 10.0, space_of(300, 2))
    single = found.compose(LOG_1E6, 1).epsilon
    assert single == pytest.approx(found.epsilon_at(LOG_1E6), rel=1e-3)
    assert single < found.compose(LOG_1E6, 20).epsilon < 60  # adding up: 400


def test_every_draw_of_the_release_is_counted() -> None:
    found = released("trlap", 0.5)
    documents = documents_of(found, [10], 100)
    assert documents.draws_a_word == 100
    assert documents.longest.draws == 1000
    assert documents.longest.claimed_basic.epsilon == 500
    assert documents.longest.loss_distribution.epsilon == math.inf
    unknown = released("mahalanobis", 0.5)
    documents = documents_of(unknown, [10], 100)
    assert documents.longest.basic is None
    assert "no bound is known" in documents.longest.reason


def test_a_published_document_has_no_epsilon() -> None:
    found = make("trlap", 0.5)
    documents = documents_of(found, [10])
    assert documents.median.loss_distribution.epsilon == math.inf
    assert documents.median.basic.log10_delta > -0.3
    assert documents_of(found, []) is None
