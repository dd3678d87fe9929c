"""The exact guarantee of a mechanism, beside the one its authors claim."""

import math
from typing import Any

from trlap.mechanism import Base, VectorMechanism

LOG_1E6 = math.log(1e-6)


def guarantee(mechanism: Base) -> dict[str, Any]:
    """The `guarantee` block of result.json: worst case over all clipped vectors, for the noisy vector.

    `holds` compares the exact δ at the claimed ε with the claimed δ; null where nothing was claimed.
    """
    claim = mechanism.claimed()
    exact: dict[str, Any] = {
        "notion": "none",
        "epsilon": math.inf,
        "delta": 1.0,
        "log10_delta": 0.0,
    }
    exact["epsilon_at_delta_1e6"] = math.inf
    holds = None
    if isinstance(mechanism, VectorMechanism):
        log_delta = mechanism.log_delta(claim.epsilon)
        exact = {
            "notion": "(ε, δ)-DP",
            "epsilon": claim.epsilon,
            "delta": math.exp(log_delta),
            "log10_delta": log_delta / math.log(10),
            "epsilon_at_delta_1e6": mechanism.epsilon_at(LOG_1E6),
        }
        holds = log_delta <= claim.log_delta
    return {
        "claimed": {
            "notion": claim.notion,
            "epsilon": claim.epsilon,
            "log10_delta": claim.log_delta / math.log(10),
        },
        "exact": exact,
        "empirical": None,
        "word": None,
        "holds": holds,
    }
