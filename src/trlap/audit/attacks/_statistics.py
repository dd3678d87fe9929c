"""Exact binomial bounds, for every number of trials (Clopper & Pearson 1934)."""

from typing import Any

import numpy as np
from scipy import stats

from trlap.audit.records import Rate


def clopper_pearson_lower(hits: Any, trials: int, error: float) -> Any:
    """The p below which so many hits or more have probability `error` at most."""
    return np.where(hits > 0, stats.beta.ppf(error, np.maximum(hits, 1), trials - hits + 1), 0.0)


def clopper_pearson_upper(hits: Any, trials: int, error: float) -> Any:
    """The p above which so many hits or fewer have probability `error` at most."""
    return 1.0 - clopper_pearson_lower(trials - np.asarray(hits), trials, error)


def interval(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """The two-sided Clopper–Pearson interval of a success rate."""
    error = (1 - confidence) / 2
    low = clopper_pearson_lower(hits, trials, error)
    high = clopper_pearson_upper(hits, trials, error)
    return float(low), float(high)


def success(hits: int, trials: int, confidence: float) -> Rate:
    """A sampled success rate."""
    return Rate(hits / trials, interval(hits, trials, confidence), trials)
