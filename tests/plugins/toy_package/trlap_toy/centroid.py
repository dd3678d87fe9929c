"""The class whose mean vector is nearest to a sentence's."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trlap.models.classifiers.base import Classifier, ClassifierKeys, Labelled
from trlap.progress import Show
from trlap.runs.result import ClassifierRun, Epoch


class Centroid(Classifier):
    name = "centroid"
    Keys = ClassifierKeys

    def read(self, texts: Sequence[str], reading: Any) -> Any:
        ids, offsets = self.task.vocabulary.encode(texts)
        parts = np.split(reading.vectors[ids], offsets[1:-1])
        return np.stack([part.mean(0) if len(part) else np.zeros(part.shape[1]) for part in parts])

    def fit(
        self, train: Labelled, validation: Labelled, seed: int, show: Show
    ) -> tuple[ClassifierRun, list[Epoch]]:
        classes = range(len(self.task.label_names))
        self.centres = np.stack([train.form[train.labels == c].mean(0) for c in classes])
        right = float((self.predict(validation.form) == validation.labels).mean())
        return ClassifierRun(seed, epoch=1, epochs=1, validation_accuracy=right), []

    def predict(self, form: Any) -> Any:
        return ((form[:, None] - self.centres) ** 2).sum(2).argmin(1)
