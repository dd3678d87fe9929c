"""A metric of another package that gives no number is one line that names it and its package."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from text_metric_helpers import install, score

from trlap.errors import TrlapError
from trlap.metrics.base import Measure, Scene, TextMetric, Texts


class Odd(TextMetric):
    """Gives what the test tells it to."""

    name = "odd"
    label = "Odd"
    meaning = "Odd: whatever a test wants"
    gives: Callable[[Any], Any]

    def measure(self, texts: Texts, scene: Scene) -> Measure:
        return Measure(np.ones((len(texts.originals), 1)), type(self).gives)


GIVEN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "NaN": (lambda total: float("nan"), "gave nan"),
    "infinity": (lambda total: float("inf"), "gave inf"),
    "an array": (lambda total: np.ones(3), "gave no number"),
    "nothing": (lambda total: None, "gave no number"),
    "a word": (lambda total: "many", "gave no number"),
}


@pytest.mark.parametrize(("gives", "message"), GIVEN.values(), ids=GIVEN)
def test_what_is_no_number(
    monkeypatch: pytest.MonkeyPatch, gives: Callable[[Any], Any], message: str
) -> None:
    install(monkeypatch, "odd", f"{__name__}:Odd")
    monkeypatch.setattr(Odd, "gives", staticmethod(gives), raising=False)
    with pytest.raises(
        TrlapError, match=f"metrics.names: odd, of the package .*{message}"
    ) as raised:
        score(["a b", "c"], ["a", "c"], names=["odd"], bootstrap=10)
    assert "\n" not in str(raised.value)


def test_an_interval_that_is_no_two_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number for the whole text, and none for a resample."""
    asked: list[float] = []

    def gives(total: Any) -> float:
        asked.append(float(total[0]))
        return 1.0 if len(asked) == 1 else float("nan")

    install(monkeypatch, "odd", f"{__name__}:Odd")
    monkeypatch.setattr(Odd, "gives", staticmethod(gives), raising=False)
    with pytest.raises(TrlapError, match="odd, of the package .* gave an interval"):
        score(["a b", "c"], ["a", "c"], names=["odd"], bootstrap=10)
