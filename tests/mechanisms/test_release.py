"""The released behaviour, slip by slip."""

import math

import numpy as np
import pytest
import torch
from conftest import Run
from scipy import stats

from trlap.embeddings.space import Space
from trlap.mechanisms.registry import RELEASED, find, make_released
from trlap.mechanisms.released.base import ReleasedMechanism

D = 300


def released(name: str, epsilon: float = 0.5) -> ReleasedMechanism:
    vectors = np.random.default_rng(0).normal(size=(50, D)).astype(np.float32)
    space = Space([str(i) for i in range(50)], vectors, np.full(50, 1 / 50), clip=None)
    return make_released(name, space, epsilon, clip=0.005)


def noise_of(found: ReleasedMechanism, seed: int = 0, tokens: int = 64) -> torch.Tensor:
    words = torch.arange(tokens) % 50
    noisy = found.perturb(words, torch.Generator().manual_seed(seed))
    return (noisy - found.space.vectors[words]).double()


def test_vectors_are_not_clipped() -> None:
    assert float(released("none").space.vectors.norm(dim=1).min()) > 10


@pytest.mark.parametrize("name", ["gaussian", "laplace", "trlap", "cmp"])
def test_a_batch_shares_one_draw_and_another_batch_has_its_own(name: str) -> None:
    found = released(name)
    first, second = noise_of(found, 0), noise_of(found, 1)
    assert (first - first[0]).abs().max() < 1e-5
    assert (first[0] - second[0]).abs().max() > 1e-4


def test_shared_noise_protects_nothing() -> None:
    """One known word gives the noise, and the noise gives every other word."""
    found = released("gaussian", epsilon=0.001)  # far more noise than signal
    words = torch.arange(50)
    noisy = found.perturb(words, torch.Generator().manual_seed(2))
    noise = noisy[7] - found.space.vectors[7]
    assert torch.equal(found.space.nearest(noisy - noise), words)
    assert found.log_delta(0.001) == 0.0  # δ = 1


@pytest.mark.parametrize(("name", "law"), [("gaussian", stats.norm), ("laplace", stats.laplace)])
def test_both_take_the_laplace_scale(name: str, law: stats.rv_continuous) -> None:
    """Kolmogorov–Smirnov at 1e-4, fixed seeds."""
    found = released(name)
    scale = 2 * 0.005 * math.sqrt(D) / 0.5
    draws = found.noise(100, torch.Generator().manual_seed(3)).double().numpy().ravel()
    assert stats.kstest(draws, law(scale=scale).cdf).pvalue > 1e-4


@pytest.mark.parametrize(("epsilon", "d"), [(0.05, 300), (10.0, 500), (20.0, 1700)])
def test_trlap_is_one_sided(epsilon: float, d: int) -> None:
    found = released("trlap", epsilon)
    draws = found.noise(200, torch.Generator().manual_seed(4))
    scale = 2 * 0.005 * math.sqrt(d) / epsilon
    A = -scale * math.log(1 - 2 * epsilon / math.sqrt(d))
    assert draws.min() >= 0
    assert 0.99 * A < draws.max() <= A * (1 + 1e-6)
    assert draws.shape == (200, D)


def test_mahalanobis_is_per_token_and_depends_on_the_batch() -> None:
    found = released("mahalanobis", 10.0)
    noise = noise_of(found)
    assert (noise[0] - noise[1]).abs().max() > 1e-3
    few, many = noise_of(found, tokens=10), noise_of(found, tokens=1000)
    # normalised over the tokens: the more tokens, the less noise
    assert few.norm(dim=1).mean() > 5 * many.norm(dim=1).mean()


def test_pte_goes_through_149_dimensions_and_back() -> None:
    found = released("pte", 1e9)  # no noise to speak of: what is left is Φᵀ Φ x
    words = torch.arange(50)
    noisy = found.perturb(words, torch.Generator().manual_seed(5))
    assert noisy.shape == (50, D)
    assert np.linalg.matrix_rank(noisy.numpy(), tol=1e-4) <= 50
    ratio = (noisy.norm(dim=1) / found.space.vectors.norm(dim=1)).mean()
    assert float(ratio) == pytest.approx(math.sqrt(149 * 300 + 149**2 + 149) / 149**2, rel=0.1)


@pytest.mark.parametrize("name", RELEASED.names)
def test_each_looks_as_the_published_one_does(name: str) -> None:
    found, published = RELEASED.find(name), find(name)
    assert (found.look, found.label) == (published.look, published.label)
    assert found.private == published.private
    assert not found.calibrated


def test_it_takes_only_what_was_released(run: Run) -> None:
    done = run("protocol=release", "mechanism=tem")
    assert done.returncode == 2
    assert done.stderr == (
        "error: protocol=release: the authors' code has no mechanism=tem; "
        f"it has {', '.join(RELEASED.names)}\n"
    )


@pytest.mark.parametrize("name", RELEASED.names)
def test_every_released_mechanism_runs(run: Run, name: str) -> None:
    limits = ("dataset.limit.train=200", "dataset.limit.validation=10", "dataset.limit.test=20")
    done = run(
        *("protocol=release", f"mechanism={name}", "epsilon=0.05", *limits),
        *("metrics.bertscore.model=null", "metrics.bootstrap=10", "stages=[privatize]"),
    )
    assert done.returncode == 0, done.stderr
    assert "protocol release" in done.stdout
