"""Names beside their lines: each where it covers nothing and is nearest to its own line alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

Points = NDArray[np.float64]
# pixels between a line and its name, with a leader from the second on, and between two steps along a line
SPACES, STEP = (7.0, 24.0, 42.0, 60.0), 4.0
# how far another line is worth being away
FAR = 40.0
# of the places around a point, those that lie straight beside it
BESIDE = 4


@dataclass(frozen=True)
class Named:
    """A line, in places of the axes, that wants its name beside it; `clear`: further pixels to its mark's edge."""

    name: str
    colour: str
    line: Points
    size: float = 9.0
    weight: str = "normal"
    clear: float = 0.0


class Labels:
    """The names of one panel. Lines must be drawn already and the layout known."""

    def __init__(self, axes: Axes, lines: Sequence[Points]) -> None:
        self.axes = axes
        self.lines = [_steps(axes.transData.transform(line)) for line in lines if len(line)]
        self.boxes: list[Bbox] = []
        # the whole column of the panel, with what stands right of the last tick
        self.frame = axes.get_window_extent()

    def place(self, named: Named, must: bool = True) -> bool:
        """Write the name at the best place along its line; with `must` false, only beside it and free."""
        own = _steps(self.axes.transData.transform(named.line))
        others = self._others(own)
        width, height = self._extent(named)
        choices: list[tuple[float, int, Bbox, tuple[float, float], float]] = []
        for x, y in own:
            for space in SPACES if must else SPACES[:1]:
                boxes = _around(x, y, width, height, space + named.clear)
                # a mark alone may have its name at any corner, a line beside it
                for number, box in enumerate(boxes if named.clear else boxes[:BESIDE]):
                    cost = self._cost(box, own, others) + space / 4 + number / 10
                    cost -= min(FAR, _distance(others, box) - _distance(own, box)) / 4
                    cost += 6 * _crossed(others, x, y, box) if space > SPACES[0] else 0
                    choices.append((cost, len(choices), box, (x, y), space))
        _, _, box, anchor, space = min(choices, key=lambda choice: choice[:2])
        if not must and self._cost(box, own, others) > 0:
            return False
        if space > SPACES[0]:
            self._lead(named.colour, anchor, box)
        self._write(named, box)
        return True

    def write_free(self, named: Named, corners: Sequence[tuple[float, float]]) -> None:
        """Write it at the first of these corners (lower left, in parts of the panel) where it covers least."""
        width, height = self._extent(named)
        every = np.concatenate([*self.lines, np.empty((0, 2))])
        choices = []
        for number, (x, y) in enumerate(corners):
            left = self.frame.x0 + x * self.frame.width
            bottom = self.frame.y0 + y * self.frame.height
            box = Bbox.from_bounds(left, bottom, width, height)
            choices.append((self._cost(box, every, every[:0]), number, box))
        self._write(named, min(choices)[2])

    # ------------------------------------------------------------------------------------ its parts

    def _others(self, own: Points) -> Points:
        """All lines but its own."""
        rest = [
            line for line in self.lines if line.shape != own.shape or not np.allclose(line, own)
        ]
        return np.concatenate([*rest, np.empty((0, 2))])

    def _cost(self, box: Bbox, own: Points, others: Points) -> float:
        outside = max(0.0, self.frame.x0 - box.x0) + max(0.0, box.x1 - self.frame.x1)
        outside += max(0.0, self.frame.y0 - box.y0) + max(0.0, box.y1 - self.frame.y1)
        on_names = sum(box.overlaps(other) for other in self.boxes)
        return (
            50 * outside
            + 500 * on_names
            + 20 * self._covers(box, others)
            + 20 * self._covers(box, own)
        )

    @staticmethod
    def _covers(box: Bbox, points: Points) -> int:
        """How many steps of lines lie under it."""
        inside = (points >= np.subtract(box.min, 2)).all(axis=1) & (
            points <= np.add(box.max, 2)
        ).all(axis=1)
        return int(inside.sum())

    def _extent(self, named: Named) -> tuple[float, float]:
        text = self.axes.text(0, 0, named.name, size=named.size, weight=named.weight)
        extent = text.get_window_extent()
        text.remove()
        return extent.width, extent.height

    def _lead(self, colour: str, anchor: tuple[float, float], box: Bbox) -> None:
        """A thin line from a dot on the line to its name."""
        x, y = anchor
        end = (np.clip(x, box.x0 - 2, box.x1 + 2), np.clip(y, box.y0 - 1, box.y1 + 1))
        line = self.axes.transData.inverted().transform([anchor, end])
        self.axes.plot(*line.T, color=colour, lw=0.8, zorder=4)
        self.axes.plot(*line[:1].T, ".", color=colour, ms=5, zorder=4)
        self.lines.append(_steps(np.array([anchor, end])))

    def _write(self, named: Named, box: Bbox) -> None:
        self.boxes.append(Bbox([np.subtract(box.min, 2), np.add(box.max, 2)]))
        x, y = self.axes.transData.inverted().transform((box.x0, (box.y0 + box.y1) / 2))
        self.axes.text(
            x,
            y,
            named.name,
            color=named.colour,
            size=named.size,
            weight=named.weight,
            va="center",
            zorder=5,
        )


def _around(x: float, y: float, width: float, height: float, space: float) -> list[Bbox]:
    """Boxes beside, above and below a point, the best first."""
    corners = (
        (x + space, y - height / 2),
        (x - space - width, y - height / 2),
        (x - width / 2, y + space),
        (x - width / 2, y - space - height),
        (x + space, y + space),
        (x - space - width, y + space),
        (x + space, y - space - height),
        (x - space - width, y - space - height),
    )
    return [Bbox.from_bounds(left, bottom, width, height) for left, bottom in corners]


def _steps(line: Points) -> Points:
    """A line in pixels as points that lie close to each other."""
    parts = [line[:1]]
    for start, end in pairwise(line):
        count = max(1, int(np.hypot(*(end - start)) // STEP))
        parts.append(start + (end - start) * np.linspace(0, 1, count + 1)[1:, None])
    return np.concatenate(parts)


def _distance(points: Points, box: Bbox) -> float:
    """From a box to the nearest of the points."""
    if not len(points):
        return FAR
    outside = np.maximum(np.maximum(box.min - points, points - box.max), 0)
    return float(np.hypot(outside[:, 0], outside[:, 1]).min())


def _crossed(points: Points, x: float, y: float, box: Bbox) -> int:
    """How many steps of other lines a straight line from a point to the box would touch."""
    low = np.minimum((x, y), box.min)
    high = np.maximum((x, y), box.max)
    # it leaves a box straight to the side, or straight up or down
    between = Bbox([(low[0], y - 2), (high[0], y + 2)])
    if box.x0 <= x <= box.x1:
        between = Bbox([(x - 2, low[1]), (x + 2, high[1])])
    inside = (points >= between.min).all(axis=1) & (points <= between.max).all(axis=1)
    return int(inside.sum())
