"""What every noise promises, asked of all of them alike."""

import math

import pytest

from trlap.privacy.base import Noise
from trlap.privacy.gaussian import GaussianNoise
from trlap.privacy.laplace import LaplaceNoise
from trlap.privacy.multivariate_laplace import BallLaplaceNoise
from trlap.privacy.truncated_laplace import TruncatedLaplaceNoise

EPSILON, LOG_DELTA, DIMENSION, CLIP = 1.5, math.log(1e-4), 6, 0.5
# of length 2C, and half of it
FAR = [0.6, 0.0, 0.0, -0.8, 0.0, 0.0]
NEAR = [0.3, 0.0, 0.0, -0.4, 0.0, 0.0]

every = pytest.mark.parametrize(
    "kind", [GaussianNoise, LaplaceNoise, TruncatedLaplaceNoise, BallLaplaceNoise]
)


def calibrated(kind: type[Noise]) -> Noise:
    return kind.calibrate(EPSILON, LOG_DELTA, DIMENSION, CLIP)


@every
def test_calibrated_noise_keeps_its_promise(kind: type[Noise]) -> None:
    noise = calibrated(kind)
    assert noise.dimension == DIMENSION and noise.draws == 1
    # a bound for every direction may be met to 1e-3
    assert LOG_DELTA - 1e-3 < noise.log_delta(EPSILON) <= LOG_DELTA
    assert noise.epsilon_at(LOG_DELTA) <= EPSILON * (1 + 1e-9)
    less_private = kind.calibrate(2 * EPSILON, LOG_DELTA, DIMENSION, CLIP)
    assert less_private.variance < noise.variance


@every
def test_no_difference_is_worse_than_the_worst(kind: type[Noise]) -> None:
    noise = calibrated(kind)
    near, far, worst = (noise.log_delta(0.2, s) for s in (NEAR, FAR, None))
    assert near < far <= worst + 1e-9
    near, far, worst = (noise.epsilon_at(math.log(1e-3), s) for s in (NEAR, FAR, None))
    assert near < far <= worst * (1 + 1e-9)


@every
def test_more_draws_tell_more(kind: type[Noise]) -> None:
    noise = calibrated(kind)
    assert noise.compose(1) == noise
    assert noise.compose(2).compose(3) == noise.compose(6)
    assert type(noise.compose(2)) is kind
    assert noise.compose(2).variance == noise.variance
    for s in (FAR, None):
        one, two, four = (noise.compose(n).log_delta(0.5, s) for n in (1, 2, 4))
        assert one < two < four
        # n draws cost no more than n times one
        assert two <= noise.log_delta(0.25, s) + math.log(2)
        one, two = (noise.compose(n).epsilon_at(math.log(1e-2), s) for n in (1, 2))
        assert one < two


@every
def test_epsilon_inverts_delta_for_a_difference(kind: type[Noise]) -> None:
    for noise in (calibrated(kind), calibrated(kind).compose(3)):
        epsilon = 0.4
        log_delta = noise.log_delta(epsilon, FAR)
        assert noise.epsilon_at(log_delta, FAR) == pytest.approx(epsilon, rel=1e-3)


@every
def test_noise_is_a_value(kind: type[Noise]) -> None:
    noise = calibrated(kind)
    assert noise == calibrated(kind) and hash(noise) == hash(calibrated(kind))
    with pytest.raises(AttributeError):
        noise.draws = 2  # type: ignore[misc]
