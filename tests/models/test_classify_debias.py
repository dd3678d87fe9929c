"""`unbiased` is unbiased and `posterior` is Bayes, by exact sums over the channel of small vocabularies."""

from typing import Any

import numpy as np
import pytest
import torch
from classify_helpers import SPACE, VECTORS, VOCABULARY, rows, run
from hypothesis import given, settings
from hypothesis import strategies as st

from trlap.config.schema import Classify
from trlap.embeddings.space import Space
from trlap.errors import TrlapError
from trlap.mechanisms import base as mechanism
from trlap.mechanisms._response import Response
from trlap.models.classifiers import Means
from trlap.models.classifying import standardised
from trlap.models.decoding import Table, decode, unbiased


@st.composite
def channels(draw: Any, names: tuple[str, ...]) -> tuple[Response, np.ndarray, np.ndarray]:
    """A mechanism on a small vocabulary, its vectors, and Q with a row for each word."""
    size = draw(st.integers(3, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    vectors = rng.standard_normal((size, 4)).astype(np.float32)
    prior = rng.dirichlet(np.ones(size)) + 1e-6
    space = Space(["<unk>", *map(str, range(1, size))], vectors, prior / prior.sum(), clip=None)
    name = draw(st.sampled_from(names))
    own = {
        "krr": {},
        "srr": {"m": draw(st.integers(1, size))},
        "crr": {"K": draw(st.integers(1, size))},
    }
    epsilon = draw(st.floats(0.05, 12))
    found = mechanism.make(name, space, epsilon, **own[name])
    assert isinstance(found, Response)
    return found, vectors, found.log_probabilities(torch.arange(size)).exp().numpy()


@given(channels(("krr", "crr")))
@settings(max_examples=60, deadline=None)
def test_unbiased_is_unbiased(channel: tuple[Response, np.ndarray, np.ndarray]) -> None:
    """Σ_y Q(y|w) u(y) is w's vector under krr; under crr the mean vector of all that answer as w does."""
    found, vectors, Q = channel
    outputs = found.outputs.numpy()
    u = unbiased(found, vectors)
    expected = np.empty(vectors.shape)
    answers = found.neighbours[:, 0].numpy()
    for w, answer in enumerate(answers):
        same = answers == answer
        expected[w] = np.average(vectors[same], axis=0, weights=found.space.prior[same])
    if found.name == "krr":
        np.testing.assert_allclose(expected, vectors, rtol=1e-6)
    largest = np.abs(u[outputs]).max()
    np.testing.assert_allclose(Q[:, outputs] @ u[outputs], expected, atol=1e-9 * (1 + largest))
    np.testing.assert_allclose(
        decode(found, vectors, "unbiased")[0].vectors[outputs], u[outputs], rtol=1e-5, atol=1e-6
    )


@given(channels(("krr", "srr", "crr")))
@settings(max_examples=60, deadline=None)
def test_posterior_is_bayes(channel: tuple[Response, np.ndarray, np.ndarray]) -> None:
    found, vectors, Q = channel
    joint = found.space.prior[:, None] * Q
    table, original = decode(found, vectors, "posterior")
    shares = found.neighbours[:, 0].numpy() if found.name == "crr" else np.arange(len(vectors))
    np.testing.assert_array_equal(table.shares, shares)
    np.testing.assert_array_equal(original.shares, shares)
    for y in range(len(vectors)):
        mass = joint[:, y].sum()
        expected = joint[:, y] @ vectors / mass if mass else vectors[y]  # no output: never read
        np.testing.assert_allclose(table.vectors[y], expected, rtol=1e-4, atol=1e-5)
        likely = joint[shares == y, y].sum() / mass if mass else 1
        np.testing.assert_allclose(table.trust[y], likely, rtol=1e-5)


@pytest.mark.parametrize("how", ["unbiased", "posterior"])
@pytest.mark.parametrize("name", ["krr", "crr"])
def test_without_noise_words_stand_for_themselves(how: str, name: str) -> None:
    own = {"K": len(SPACE)} if name == "crr" else {}
    found = mechanism.make(name, SPACE, 900.0, **own)
    np.testing.assert_allclose(
        decode(found, VECTORS, how)[0].vectors, VECTORS, rtol=1e-5, atol=1e-6
    )
    nothing = mechanism.make("none", SPACE, float("inf"))
    assert decode(nothing, VECTORS, how)[0].vectors is VECTORS


def test_no_inverse_where_neighbourhoods_overlap_and_no_channel_where_none_is_known() -> None:
    srr = mechanism.make("srr", SPACE, 3.0, m=3)
    with pytest.raises(TrlapError, match="use classify.debias=posterior"):
        decode(srr, VECTORS, "unbiased")
    gaussian = mechanism.make("gaussian", SPACE, 3.0)
    with pytest.raises(TrlapError, match="mechanism=gaussian is not known in closed form"):
        decode(gaussian, VECTORS, "posterior")


def test_tables_are_moved_and_scaled_alike() -> None:
    texts = [row["private"] for row in rows()["train"]]
    tables = {"private": Table.plain(100 * VECTORS + 3), "original": Table.plain(VECTORS)}
    done = standardised(tables, VECTORS, tables["private"], texts, VOCABULARY)
    means = Means(texts, VOCABULARY, done["private"], "cpu").fixed
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
    noise = mechanism.make(name, SPACE, 2.0, **({"K": 8} if name == "crr" else {}))
    data = rows(train=600)
    generator = torch.Generator().manual_seed(0)
    for split in ("train", "validation"):
        for row in data[split]:
            ids, _ = VOCABULARY.encode([row["original"]])
            drawn = noise.draw(torch.from_numpy(ids).long(), generator)
            row["private"] = " ".join(VOCABULARY.words[i] for i in drawn)
    found = run(data, Classify("private", "original", how), mechanism=noise, seeds=[1])
    assert found.interval[0] > 0.6
