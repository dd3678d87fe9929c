"""What the tests of krr, srr and crr share: the formula, by brute force."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from scipy import stats

from trlap.config.schema import Embedding
from trlap.data.vocabulary import public_vocabulary
from trlap.embeddings.space import Space
from trlap.embeddings.vectors import build_embedding, frequent_words
from trlap.mechanisms import registry
from trlap.mechanisms._response import Response

# A correct sampler fails a test at this level for one seed in 10,000; seeds are fixed.
LEVEL = 1e-4

epsilons = st.floats(math.log(1e-4), math.log(1000)).map(math.exp)
# vectors on a small grid: two words are often the same point, and sometimes all are
spaces = st.integers(2, 12).flatmap(
    lambda size: st.lists(
        st.tuples(st.integers(-1, 1), st.integers(-1, 1)), min_size=size, max_size=size
    ).map(lambda points: space_of(np.array(points, np.float32)))
)


def space_of(vectors: np.ndarray, **keys: Any) -> Space:
    prior = 1 / (np.arange(len(vectors)) + 2.7)
    words = [str(i) for i in range(len(vectors))]
    return Space(words, vectors.astype(np.float32), prior / prior.sum(), **keys)


def random_space(size: int, dimension: int = 4, clusters: int = 0, **keys: Any) -> Space:
    rng = np.random.default_rng(size)
    vectors = rng.normal(size=(size, dimension))
    if clusters:
        vectors = vectors * 0.4 + rng.normal(size=(clusters, dimension))[np.arange(size) % clusters]
    return space_of(vectors, **keys)


def glove_space(size: int) -> Space:
    """The first words of the public list, without <unk>, which has no vector of its own."""
    vocabulary = public_vocabulary(frequent_words(), size + 1)
    config = Embedding(name="glove840b", source="asset", id="glove840b")
    words, prior = vocabulary.words[1:], vocabulary.prior[1:]
    return Space(words, build_embedding(config, words).vectors, prior / prior.sum())


def make(name: str, space: Space, epsilon: float, **keys: Any) -> Response:
    found = registry.make(name, space, epsilon, **keys)
    assert isinstance(found, Response)
    return found


def cosines(space: Space) -> tuple[np.ndarray, np.ndarray]:
    """Centred cosines of all pairs, and the weights, written down once more."""
    vectors = space.vectors.double().numpy()
    moved = vectors - (space.prior[:, None] * vectors).sum(0)
    lengths = np.linalg.norm(moved, axis=1)
    lengths[lengths < 1e-6] = np.inf
    moved = moved / lengths[:, None]
    return moved @ moved.T, np.sqrt(space.prior) / np.sqrt(space.prior).sum()


def matrix(found: Response) -> np.ndarray:
    """ln Q, a row for each word."""
    rows = found.log_probabilities(torch.arange(len(found.space)))
    assert rows.dtype == torch.float64
    return rows.numpy()


def follows_the_formula(found: Response, neighbourhoods: list[set[int]], outputs: set[int]) -> None:
    """Q is the family's, and 200,000 draws are from it."""
    size, odds = len(found.space), math.expm1(found.epsilon)
    tau = len(neighbourhoods[0]) / len(outputs)
    expected = np.zeros((size, size))
    for w in range(size):
        assert len(neighbourhoods[w]) == len(neighbourhoods[0])
        for y in outputs:
            expected[w, y] = (1 + odds * (y in neighbourhoods[w])) / (1 + odds * tau) / len(outputs)
    np.testing.assert_allclose(np.exp(matrix(found)), expected, rtol=1e-12)
    words = torch.arange(size).repeat(200_000 // size)
    drawn = found.draw(words, torch.Generator().manual_seed(1))
    assert drawn.dtype == torch.int64
    assert drawn.shape == words.shape
    for w in range(size):
        counts = np.bincount(drawn[words == w].numpy(), minlength=size)
        possible = expected[w] > 0
        assert counts[~possible].sum() == 0
        if possible.sum() > 1:
            frequency = expected[w, possible] * counts.sum()
            assert stats.chisquare(counts[possible], frequency).pvalue > LEVEL


def is_tight(found: Response) -> None:
    """Rows sum to 1, the worst ratio is e^ε, and δ(ε') is the worst pair's hockey-stick divergence."""
    rows = matrix(found)[:, found.outputs.numpy()]
    np.testing.assert_allclose(np.exp(rows).sum(1), 1, rtol=0, atol=1e-12)
    ratios = rows[:, None] - rows[None]
    differ = len({frozenset(row) for row in found.neighbours.tolist()}) > 1
    assert ratios.max() == pytest.approx(found.epsilon if differ else 0, rel=0, abs=1e-12)
    assert found.log_delta(found.epsilon) == -math.inf
    assert found.epsilon_at(-math.inf) == (found.epsilon if differ else 0)
    for share in (0.0, 0.5, 0.99):
        epsilon = share * found.epsilon
        beyond = np.maximum(ratios - epsilon, 0)
        delta = (np.exp(rows)[:, None] * -np.expm1(-beyond)).sum(2).max()
        assert math.exp(found.log_delta(epsilon)) == pytest.approx(delta, rel=1e-9, abs=1e-300)
        if delta > 0:
            again = found.log_delta(found.epsilon_at(found.log_delta(epsilon)))
            assert again == pytest.approx(found.log_delta(epsilon), abs=1e-8)
    assert found.epsilon_at(0.0) == 0


def is_expectation(found: Response) -> None:
    """`expected_cosine` is Σ_w q_w Σ_y Q(y|w) cos(w, y)."""
    cosine, weights = cosines(found.space)
    expected = weights @ (np.exp(matrix(found)) * cosine).sum(1)
    assert found.expected_cosine() == pytest.approx(expected, abs=1e-9)
