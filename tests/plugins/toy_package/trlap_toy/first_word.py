"""The share of sentences whose first word is still there."""

import numpy as np

from trlap.metrics.base import Measure, Scene, TextMetric, Texts


class FirstWord(TextMetric):
    name = "first_word"
    label = "First"
    meaning = "share of sentences that begin with the same word"
    digits = 2

    def measure(self, texts: Texts, scene: Scene) -> Measure:
        pairs = zip(texts.original_words, texts.candidate_words, strict=True)
        rows = np.array([[old[:1] == new[:1]] for old, new in pairs], dtype=float)
        return Measure(rows, lambda total: total[0] / len(rows))
