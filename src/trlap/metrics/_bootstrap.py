"""95 % intervals by resampling sentences (Efron 1979), for metrics that are functions of sums."""

from collections.abc import Mapping

from trlap.metrics.base import Measure
from trlap.runs.records import Json
from trlap.runs.result import Interval

# the ends of a 95 % interval
QUANTILES = (0.025, 0.975)


def intervals(measures: Mapping[str, Measure], resamples: int, seed: int) -> dict[str, Interval]:
    """Percentile intervals. All metrics see the same resamples."""
    import numpy as np

    if not measures:
        return {}
    rng = np.random.default_rng(seed)
    rows = np.hstack([measure.rows for measure in measures.values()])
    sentences = len(rows)
    sums = np.empty((resamples, rows.shape[1]))
    for total in sums:
        # how often each sentence is drawn, times its statistics
        drawn = np.bincount(rng.integers(sentences, size=sentences), minlength=sentences)
        total[:] = drawn @ rows

    ends, start = {}, 0
    for name, measure in measures.items():
        stop = start + measure.rows.shape[1]
        samples = [measure.value(total) for total in sums[:, start:stop]]
        low, high = np.quantile(samples, QUANTILES)
        ends[name] = (float(low), float(high))
        start = stop
    return ends


def provenance(resamples: int, seed: int) -> dict[str, Json]:
    return {
        "method": "percentile bootstrap over sentences",
        "level": 0.95,
        "resamples": resamples,
        "seed": seed,
    }
