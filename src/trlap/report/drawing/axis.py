"""An axis for ε: logarithmic, with lanes of its own, apart from its ends, for what is 0 or ∞."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes

from trlap.report.numbers import power
from trlap.runs.numbers import show_number

NOMINAL, EXACT = "nominal ε of a word", "exact ε of a word at δ = 10⁻⁶"
# in parts of the axis: what it has beyond its last point, from there to a lane, and half of a lane
PAD, GAP, HALF = 0.04, 0.035, 0.065
LANE = "#f2f3f5"
# more would not be read
MOST_TICKS = 6


@dataclass(frozen=True)
class EpsilonAxis:
    """`low` and `high` are powers of ten. At least one lies between them, however few runs there are."""

    low: float
    high: float
    zero: bool
    endless: bool

    @classmethod
    def of(cls, values: Iterable[float]) -> "EpsilonAxis":
        known = list(values)
        powers = [math.log10(value) for value in known if 0 < value < math.inf] or [0.0]
        low, high = min(powers), max(powers)
        widen = max(0.0, 1 - (high - low)) / 2
        return cls(low - widen, high + widen, 0.0 in known, math.inf in known)

    @property
    def span(self) -> float:
        return self.high - self.low

    def place(self, value: float) -> float:
        """Where a value stands."""
        lane = (PAD + GAP + HALF) * self.span
        if value == 0:
            return self.low - lane
        return self.high + lane if value == math.inf else math.log10(value)

    def draw(self, axes: Axes, label: str) -> None:
        """Ticks at powers of ten, the lanes, and a line that ends before them."""
        pad, half = PAD * self.span, HALF * self.span
        decades = range(math.ceil(self.low - pad), math.floor(self.high + pad) + 1)
        step = math.ceil(len(decades) / MOST_TICKS)
        ticks: dict[float, str] = {
            decade: _decade(decade) for decade in decades if decade % step == 0
        }
        lanes = [(0.0, "0")] if self.zero else []
        lanes += [(math.inf, "∞")] if self.endless else []
        for value, name in lanes:
            centre = self.place(value)
            ticks[centre] = name
            axes.axvspan(centre - half, centre + half, color=LANE, lw=0, zorder=0)
        axes.set_xticks(list(ticks), list(ticks.values()))
        for line, place in zip(axes.get_xgridlines(), ticks, strict=True):
            line.set_visible(place in decades)
        axes.set_xlim(
            self.place(0) - half if self.zero else self.low - pad,
            self.place(math.inf) + half if self.endless else self.high + pad,
        )
        axes.spines["bottom"].set_bounds(self.low - pad, self.high + pad)
        if self.zero:
            axes.spines["left"].set_visible(False)
            axes.tick_params(axis="y", length=0)
        axes.set_xlabel(label)


def _decade(decade: int) -> str:
    return show_number(10.0**decade) if -3 <= decade <= 3 else power(decade)
