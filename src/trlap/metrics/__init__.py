"""How much of a text is left: one file a metric, one registry, one function that measures them.

`measure(Texts("private", originals, candidates), Scene(config.metrics))` gives the `Scores` of a text.
"""

from trlap.metrics._measure import measure
from trlap.metrics.base import Measure, Metric, Scene, StageMetric, Taken, TextMetric, Texts

__all__ = ["Measure", "Metric", "Scene", "StageMetric", "Taken", "TextMetric", "Texts", "measure"]
