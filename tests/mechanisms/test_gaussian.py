import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from diffprivlib.mechanisms import GaussianAnalytic
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from vector_helpers import fits, make, projects_as_brute_force

from trlap.mechanisms.gaussian import Gaussian


@pytest.mark.parametrize("calibration", ["published", "exact"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_the_noise_is_gaussian(epsilon: float, calibration: str) -> None:
    found = make(Gaussian, epsilon, delta=1e-5, calibration=calibration)
    fits(found, stats.norm(scale=found.law.sigma).cdf, found.law.sigma**2)


def test_published_scale() -> None:
    assert make(Gaussian, 0.5, delta=1e-5, clip=2.0).law.sigma ** 2 == pytest.approx(
        8 * 4 * math.log(1.25e5) / 0.25
    )
    paper = make(Gaussian, 0.5)  # δ = 4^-300
    assert paper.law.sigma**2 == pytest.approx(8 * (math.log(1.25) + 300 * math.log(4)) / 0.25)


def test_analytic_scale() -> None:
    assert make(Gaussian, 1.0, delta=1e-5, calibration="exact").law.sigma == pytest.approx(
        7.461, abs=5e-4
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-6), (8.0, 1e-3)])
def test_diffprivlib_agrees_in_one_dimension(epsilon: float, delta: float) -> None:
    theirs = GaussianAnalytic(epsilon=epsilon, delta=delta, sensitivity=2.0)
    ours = make(Gaussian, epsilon, dimension=1, delta=delta, calibration="exact")
    assert ours.law.sigma == pytest.approx(theirs._scale, rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta", "holds"),
    [
        (16.85, "paper", True),
        (16.95, "paper", False),
        (8.415, 1e-5, True),
        (8.425, 1e-5, False),
        (8.775, 1e-6, True),
        (8.785, 1e-6, False),
    ],
)
def test_how_far_the_published_scale_is_valid(
    epsilon: float, delta: float | str, holds: bool
) -> None:
    found = make(Gaussian, epsilon, delta=delta)
    assert (found.log_delta(epsilon) <= found.claimed().log_delta) == holds


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-3, 100), st.floats(-900, -1e-3), st.floats(1e-3, 100))
def test_exact_calibration_is_tight(epsilon: float, log_delta: float, clip: float) -> None:
    delta = math.exp(max(log_delta, -700))
    found = make(Gaussian, epsilon, dimension=3, delta=delta, clip=clip, calibration="exact")
    assert found.log_delta(epsilon) <= math.log(delta)
    found.law = replace(found.law, sigma=0.999 * found.law.sigma)
    assert found.log_delta(epsilon) > math.log(delta)


def test_a_pair_of_words_is_safer_than_the_worst() -> None:
    found = make(Gaussian, 1.0, delta=1e-5)
    difference = (found.space.vectors[0] - found.space.vectors[1]).double().numpy()
    assert found.log_delta(1.0, difference) < found.log_delta(1.0)
    assert found.epsilon_at(math.log(1e-6), difference) < found.epsilon_at(math.log(1e-6))


def test_replacements_are_those_of_brute_force() -> None:
    found = make(Gaussian, 8.0, dimension=3, delta=0.1, calibration="exact")
    projects_as_brute_force(found, lambda rng: rng.normal(scale=found.law.sigma, size=40_000))


def test_moments_of_the_direction() -> None:
    """Coordinates are independent: their correlations vanish within five standard errors."""
    found = make(Gaussian, 1.0, dimension=4)
    noise = found.noise(50_000, torch.Generator().manual_seed(3)).numpy()
    off = np.corrcoef(noise.T)[np.triu_indices(4, 1)]
    assert np.abs(off).max() < 5 / math.sqrt(50_000)
