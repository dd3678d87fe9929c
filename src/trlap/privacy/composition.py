"""Composition where nothing is known but (ε, δ), and the paper's choice of δ."""

import math

from trlap.privacy.loss_distribution import LossDistribution
from trlap.privacy.numerics import log_hazard_of


def paper_log_delta(dimension: int) -> float:
    """ln δ for the paper's δ = 4^-d."""
    return -dimension * math.log(4)


def log_to_log10(log_delta: float) -> float:
    """log₁₀ δ from ln δ."""
    return log_delta / math.log(10)


def basic_composition(epsilon: float, log_delta: float, draws: int) -> tuple[float, float]:
    """(nε, ln nδ) for n draws of an (ε, δ)-DP mechanism: always holds, is seldom tight.

    Dwork & Roth 2014, Theorem 3.16.
    """
    return draws * epsilon, min(0.0, log_delta + math.log(draws))


def dominating_losses(epsilon: float, log_delta: float = -math.inf) -> LossDistribution:
    """The losses that no (ε, δ)-DP mechanism exceeds, composed or not: the least that holds for all.

    Kairouz, Oh & Viswanath 2015: every such mechanism is dominated by randomised response on two
    values that tells the value outright with probability δ. It loses ±ε with probability
    (1 − δ)e^{±ε/2}/2cosh(ε/2), and infinitely much with probability δ.
    """
    log_stay = -math.exp(float(log_hazard_of(log_delta))) if log_delta < 0 else -math.inf
    # where everything is told, no loss is finite
    if log_stay == -math.inf:
        return LossDistribution.of_atoms(0.0, [0.0], 0.0)
    log_probability = log_stay - math.log1p(math.exp(-epsilon))
    return LossDistribution.of_atoms(epsilon, [-math.inf, log_probability], log_delta)


def response_losses(epsilon: float, log_reach: float) -> LossDistribution:
    """The losses of randomised response over words, for the two that are furthest apart.

    A draw loses ε with probability p = e^`log_reach`, −ε with probability e^-ε p, else nothing.
    """
    stay = 1 - math.exp(log_reach) - math.exp(log_reach - epsilon)
    log_stay = math.log(stay) if stay > 0 else -math.inf
    return LossDistribution.of_atoms(epsilon, [log_stay, log_reach])
