"""`unbiased` is unbiased and `posterior` is Bayes, by exact sums over the channel of small vocabularies."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from classify_helpers import SPACE, VECTORS, VOCABULARY, rows, run
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trlap.data.rows import texts
from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms._decoding import Reading, unbiased
from trlap.mechanisms._response import Response
from trlap.mechanisms.registry import make
from trlap.models.classifiers._forms import Means
from trlap.models.classifying import standardised
from trlap.runs.result import Inputs

# a mechanism, the vectors of its words, and Q
KnownChannel = tuple[Response, NDArray[np.float32], NDArray[np.float64]]


@st.composite
def channels(draw: Any, names: tuple[str, ...]) -> KnownChannel:
    """A mechanism on a small vocabulary, its vectors, and Q with a row for each word."""
    size = draw(st.integers(3, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    vectors = rng.standard_normal((size, 4)).astype(np.float32)
    prior = rng.dirichlet(np.ones(size)) + 1e-6
    space = Space(["<unk>", *map(str, range(1, size))], vectors, prior / prior.sum(), clip=None)
    name = draw(st.sampled_from(names))
    own: dict[str, dict[str, int]] = {
        "krr": {},
        "srr": {"m": draw(st.integers(1, size))},
        "crr": {"K": draw(st.integers(1, size))},
    }
    epsilon = draw(st.floats(0.05, 12))
    mechanism = make(name, space, epsilon, **own[name])
    assert isinstance(mechanism, Response)
    return mechanism, vectors, mechanism.log_probabilities(torch.arange(size)).exp().numpy()


@given(channels(("krr", "crr")))
@settings(max_examples=60, deadline=None)
def test_unbiased_is_unbiased(channel: KnownChannel) -> None:
    """Σ_y Q(y|w) u(y) is w's vector under krr; under crr the mean vector of all that answer as w does."""
    mechanism, vectors, Q = channel
    outputs = mechanism.outputs.numpy()
    u = unbiased(mechanism, vectors)
    expected = np.empty(vectors.shape)
    answers = mechanism.neighbours[:, 0].numpy()
    for w, answer in enumerate(answers):
        same = answers == answer
        expected[w] = np.average(vectors[same], axis=0, weights=mechanism.space.prior[same])
    if mechanism.name == "krr":
        np.testing.assert_allclose(expected, vectors, rtol=1e-6)
    largest = np.abs(u[outputs]).max()
    np.testing.assert_allclose(Q[:, outputs] @ u[outputs], expected, atol=1e-9 * (1 + largest))
    private, _ = mechanism.decode(vectors, "unbiased")
    np.testing.assert_allclose(private.vectors[outputs], u[outputs], rtol=1e-5, atol=1e-6)


@given(channels(("krr", "srr", "crr")))
@settings(max_examples=60, deadline=None)
def test_posterior_is_bayes(channel: KnownChannel) -> None:
    mechanism, vectors, Q = channel
    joint = mechanism.space.prior[:, None] * Q
    private, original = mechanism.decode(vectors, "posterior")
    shares = np.arange(len(vectors))
    if mechanism.name == "crr":
        shares = mechanism.neighbours[:, 0].numpy()
    np.testing.assert_array_equal(private.shares, shares)
    np.testing.assert_array_equal(original.shares, shares)
    for y in range(len(vectors)):
        mass = joint[:, y].sum()
        # what is no output is never read
        expected = joint[:, y] @ vectors / mass if mass else vectors[y]
        np.testing.assert_allclose(private.vectors[y], expected, rtol=1e-4, atol=1e-5)
        likely = joint[shares == y, y].sum() / mass if mass else 1
        np.testing.assert_allclose(private.trust[y], likely, rtol=1e-5)


@pytest.mark.parametrize("how", ["unbiased", "posterior"])
@pytest.mark.parametrize("name", ["krr", "crr"])
def test_without_noise_words_stand_for_themselves(how: str, name: str) -> None:
    own = {"K": len(SPACE)} if name == "crr" else {}
    private, _ = make(name, SPACE, 900.0, **own).decode(VECTORS, how)
    np.testing.assert_allclose(private.vectors, VECTORS, rtol=1e-5, atol=1e-6)
    nothing = make("none", SPACE, float("inf"))
    assert nothing.decode(VECTORS, how)[0].vectors is VECTORS


def test_no_inverse_where_neighbourhoods_overlap_and_no_channel_where_none_is_known() -> None:
    srr = make("srr", SPACE, 3.0, m=3)
    with pytest.raises(TrlapError, match="use classify.debias=posterior"):
        srr.decode(VECTORS, "unbiased")
    gaussian = make("gaussian", SPACE, 3.0)
    with pytest.raises(TrlapError, match="mechanism=gaussian is not known in closed form"):
        gaussian.decode(VECTORS, "posterior")


def test_readings_are_moved_and_scaled_alike() -> None:
    train = texts(rows()["train"], "private")
    readings = {"private": Reading.plain(100 * VECTORS + 3), "original": Reading.plain(VECTORS)}
    done = standardised(readings, VECTORS, readings["private"], train, VOCABULARY)
    means = Means(train, VOCABULARY, done["private"], "cpu").fixed
    assert means.square().mean().item() == pytest.approx(1, rel=1e-4)
    np.testing.assert_allclose(VOCABULARY.prior @ done["original"].vectors, 0, atol=1e-6)
    private, original = done["private"].vectors, done["original"].vectors
    ratio = (private[1] - private[0]) / (original[1] - original[0])
    np.testing.assert_allclose(ratio, 100, rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "how"),
    [("krr", "unbiased"), ("krr", "posterior"), ("srr", "posterior"), ("crr", "posterior")],
)
def test_it_learns_from_noise_that_it_knows(name: str, how: str) -> None:
    """Trained on words of which krr keeps a third; tested on the originals."""
    noise = make(name, SPACE, 2.0, **({"K": 8} if name == "crr" else {}))
    data = rows(train=600)
    generator = torch.Generator().manual_seed(0)
    for split in ("train", "validation"):
        for number, row in enumerate(data[split]):
            ids, _ = VOCABULARY.encode([row.original])
            drawn = noise.draw(torch.from_numpy(ids).long(), generator)
            private = " ".join(VOCABULARY.words[i] for i in drawn)
            data[split][number] = replace(row, private=private)
    done = run(data, Inputs("private", "original", how), mechanism=noise, seeds=[1])
    assert done.interval is not None
    assert done.interval[0] > 0.6
