"""All metrics, by name and in the order in which they are shown."""

from collections.abc import Iterable, Sequence

from trlap.errors import TrlapError
from trlap.metrics.base import PRIVATE, REWRITTEN, Metric, TextMetric, undescribed
from trlap.registry import Registry

METRICS: Registry[Metric] = Registry(
    "metrics.names", "trlap.metrics", "trlap.metrics", says=("label", "meaning")
)
# the blocks of result.json, and the text that each speaks of
BLOCKS = {"metrics": REWRITTEN, "private_metrics": PRIVATE}


def named(name: str) -> Metric:
    """The metric of that name. Results may have one whose package is not installed here: it is shown too."""
    try:
        return METRICS.find(name)()
    except TrlapError:
        return undescribed(name)


def in_order(names: Iterable[str]) -> list[Metric]:
    """The metrics of these names, each once, as they are shown: ours first."""
    metrics = [named(name) for name in dict.fromkeys(names)]
    return sorted(
        metrics, key=lambda metric: (metric.name not in METRICS.ours, metric.order, metric.name)
    )


def ordered() -> list[Metric]:
    """All of ours, as they are shown."""
    return in_order(METRICS.ours)


def in_block(block: str) -> list[Metric]:
    """Ours that every result has in that block: `metrics`, loss and accuracy included, or `private_metrics`."""
    return [metric for metric in ordered() if BLOCKS[block] in metric.texts]


def text_metrics(kind: str, asked: Sequence[str] = ()) -> list[TextMetric]:
    """Those that compare a text of that kind with its original: ours, and others that were asked for.

    An asked one that does not exist or cannot be loaded is a TrlapError.
    """
    for name in asked:
        METRICS.find(name)
    return [
        metric
        for metric in in_order([*METRICS.ours, *asked])
        if isinstance(metric, TextMetric) and kind in metric.texts
    ]
