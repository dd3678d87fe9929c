"""Document randomised response: the exact law between any two documents, by enumeration."""

import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trlap.data.vocabulary import Vocabulary
from trlap.documents.candidates import Candidates
from trlap.documents.encoder import MeanWords
from trlap.documents.reading import OfAnswers
from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms import registry
from trlap.mechanisms.drr import DocumentRandomisedResponse
from trlap.privatize.blocks import answer_documents

WORDS = ["<unk>", "good", "bad", "film"]
RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(4, 5)).astype(np.float32)
ENCODER = MeanWords(Vocabulary(WORDS, np.full(4, 0.25), public=True), VECTORS)
DOCUMENTS = [" ".join(d) for n in range(4) for d in product(WORDS[1:], repeat=n)]
PUBLIC = ["good film", "bad film", "film", "good good", "bad", "good bad film"]


def candidates(size: int, seed: int = 0) -> Candidates:
    return Candidates.drawn(PUBLIC, ENCODER.encode(PUBLIC), size, seed)


def mechanism(public: Candidates, epsilon: float) -> DocumentRandomisedResponse:
    first = public.sets[0]
    prior = np.full(len(first), 1 / len(first))
    space = Space([public.texts[i] for i in first], public.vectors[first], prior, clip=None)
    made = registry.make("drr", space, epsilon, encoder="words")
    assert isinstance(made, DocumentRandomisedResponse)
    return made


@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_any_two_documents_of_any_length(size: int, epsilon: float) -> None:
    """All 40 documents of up to three words, the empty one too, at several places of a text."""
    public = candidates(size)
    drr = mechanism(public, epsilon)
    channel = drr.log_probabilities(torch.arange(size)).exp().numpy()
    assert channel.sum(axis=1) == pytest.approx(np.ones(size))
    vectors = ENCODER.encode(DOCUMENTS)
    largest = 0.0
    for place in range(6):
        # as if the document stood there; sets come in an order that is drawn
        chosen = [public.choose(np.stack([vector] * (place + 1)))[place] for vector in vectors]
        law = np.log(channel[chosen])
        largest = max(largest, float((law[:, None] - law[None]).max()))
    assert largest <= epsilon * (1 + 1e-12)
    assert largest == pytest.approx(epsilon)
    assert drr.epsilon_at(-math.inf) == epsilon and drr.log_delta(epsilon) == -math.inf


@pytest.mark.parametrize("epsilon", [0.5, 88.0, 89.0, 700.0])
def test_posterior_means_are_numbers_at_every_budget(epsilon: float) -> None:
    public = candidates(3)
    texts = public.answered(np.zeros(6, np.int32))
    rows = reading(public, epsilon, "posterior").rows("train", "private", texts)
    assert np.isfinite(rows).all()


def test_no_two_lists_of_public_texts_share_noise() -> None:
    """Also where the first set, on which the mechanism stands, is the same."""
    first = candidates(2)
    last = int(first.sets[-1, -1])
    texts = [*first.texts]
    texts[last] = "another text"
    vectors = first.vectors.copy()
    vectors[last] += 1
    others = [replace(first, texts=texts), replace(first, vectors=vectors), replace(first, seed=9)]
    contents = [each.content() for each in (first, *others)]
    assert all(one != other for one, other in combinations(contents, 2))


def test_what_is_drawn_is_the_channel() -> None:
    public = candidates(3)
    drr = mechanism(public, 1.0)
    vectors = np.repeat(ENCODER.encode(["good bad film"]), 30_000, axis=0)
    private = answer_documents(
        drr, public, vectors, lambda block: torch.Generator().manual_seed(block)
    )
    kept = public.answers(private.texts) == public.choose(vectors)
    keeps = math.e / (math.e + 2)
    assert kept.mean() == pytest.approx(keeps, abs=4 * math.sqrt(0.25 / 30_000))
    # what is written is of the document's own set, and a public text
    assert set(private.texts) <= set(PUBLIC)


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(len(DOCUMENTS))), st.integers(2, 6))
def test_a_document_chooses_by_itself(order: list[int], size: int) -> None:
    """Whatever else is in the text, and wherever in it: the set is that of the place."""
    public, vectors = candidates(size), ENCODER.encode(DOCUMENTS)
    moved = public.choose(vectors[order])
    for place in (0, 7, 39):
        alone = np.stack([vectors[order[place]]] * (place + 1))
        assert moved[place] == public.choose(alone)[place]


def test_sets_and_answers() -> None:
    twice = Candidates.drawn(PUBLIC * 2, ENCODER.encode(PUBLIC * 2), 2, seed=1)
    assert twice.texts == PUBLIC
    # no document is of two sets, so that a text tells its set
    assert sorted(twice.sets.ravel().tolist()) == list(range(6))
    assert sorted(twice.numbers(6).tolist()) == [0, 0, 1, 1, 2, 2]
    assert twice.numbers(100)[:50].tolist() == twice.numbers(50).tolist()
    answers = np.array([1, 0, 1, 1, 0], np.int32)
    assert twice.answers(twice.answered(answers)).tolist() == answers.tolist()
    assert twice.sets.tolist() != Candidates.drawn(PUBLIC, twice.vectors, 2, seed=2).sets.tolist()
    with pytest.raises(
        TrlapError, match=r"^mechanism\.K=7: there are 6 different public documents"
    ):
        Candidates.drawn(PUBLIC * 2, ENCODER.encode(PUBLIC * 2), 7, seed=1)


def test_the_posterior_is_that_of_bayes() -> None:
    """Over all public documents as equally likely origins of an answer, one by one."""
    public, epsilon = candidates(3), 1.2
    channel = mechanism(public, epsilon).log_probabilities(torch.arange(3)).exp().numpy()
    texts = public.answered(np.array([0, 2, 1, 1, 0], np.int32))
    read = reading(public, epsilon, "posterior").rows("train", "private", texts)
    for place, answer in enumerate((0, 2, 1, 1, 0)):
        repeated = [np.stack([vector] * (place + 1)) for vector in public.vectors]
        likely = np.array([channel[public.choose(r)[place], answer] for r in repeated])
        expected = (likely[:, None] * public.vectors).sum(axis=0) / likely.sum()
        assert read[place] == pytest.approx(expected, abs=1e-6)
    plain = reading(public, epsilon, "none").rows("train", "private", texts)
    assert plain == pytest.approx(ENCODER.encode(texts))


def reading(public: Candidates, epsilon: float, how: str) -> OfAnswers:
    return OfAnswers(public.texts, {}, np.arange(0), public, epsilon, how)


def test_sizes() -> None:
    size = DocumentRandomisedResponse.size
    sizes = [size("auto", epsilon, 10_000) for epsilon in (0.1, 1, 2, 3, 4, 50, 1e100)]
    assert sizes == [3, 3, 7, 20, 32, 32, 32]
    assert [size("auto", 8, public) for public in (3, 100, 900, 2000)] == [2, 10, 30, 32]
    assert size(5, 1.0, 10) == 5
    for wrong in (1, 0, -2, "many", 2.5):
        with pytest.raises(TrlapError, match=r"mechanism\.K"):
            DocumentRandomisedResponse.check_keys({"K": wrong}, 100, 3)
