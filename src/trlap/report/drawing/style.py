"""What all figures share: their type and colours, a grid of panels, a legend, files for light and for dark.

Every mechanism has one colour, one marker and one dash throughout, so that figures also read in grey.
"""

import colorsys
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trlap.files import write_text
from trlap.report.looks import appearance

INK, SOFT, PAPER = "#1c1d20", "#8a8d94", "#ffffff"
# on a dark page
LIGHT_INK, GROUND = "#e8e8e6", "#1c1f23"
FLOOR = (0, (1, 3))
# of a colour against the ground it stands on, as WCAG asks of text
CONTRAST = 4.5
plt.rcParams |= {
    "font.size": 10,
    "svg.hashsalt": "trlap",
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": "#c8cace",
    "grid.linewidth": 0.5,
    "figure.dpi": 110,
}


def save(figure: Figure, folder: Path, name: str, png: bool = True) -> None:
    """As SVG on white, as SVG on a dark page, and as PNG."""
    file = folder / f"{name}.svg"
    figure.savefig(file, metadata={"Date": None})
    write_text(folder / f"{name}-dark.svg", dark(file.read_text(encoding="utf-8")))
    if png:
        # The layout is found once: it takes half the time of drawing. And `savefig` would draw twice.
        figure.set_layout_engine("none")
        figure.set_dpi(160)
        FigureCanvasAgg(figure).print_png(folder / f"{name}.png")
    plt.close(figure)


def dark(svg: str) -> str:
    """The same drawing for a dark page: its hues stay, and each is light enough to be seen there."""
    return re.sub(
        "((?:fill|stroke): )(#[0-9a-f]{6})", lambda found: found[1] + _on_dark(found[2]), svg
    )


def _on_dark(colour: str) -> str:
    channels = _channels(colour)
    hue, lightness, saturation = colorsys.rgb_to_hls(*channels)
    if max(channels) - min(channels) < 0.1:
        # Greys: white becomes the page, ink becomes light. Dark pages swallow what lies between.
        share = ((1 - lightness) / (1 - sum(_channels(INK)) / 3)) ** 0.7
        pairs = zip(_channels(GROUND), _channels(LIGHT_INK), strict=True)
        return _written(min(1.0, ground + share * (ink - ground)) for ground, ink in pairs)
    while contrast(colour, GROUND) < CONTRAST and lightness < 1:
        lightness += 0.02
        colour = _written(colorsys.hls_to_rgb(hue, min(1.0, lightness), saturation))
    return colour


def _channels(colour: str) -> list[float]:
    return [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]


def _written(channels: Iterable[float]) -> str:
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)


def contrast(one: str, other: str) -> float:
    """As WCAG defines it, from 1 to 21."""
    lights = []
    for colour in (one, other):
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _channels(colour)
        ]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


# ----------------------------------------------------------------------------------------- their parts


def grid(
    lines: int, columns: int, width: float, height: float, **shared: Any
) -> tuple[Figure, Any]:
    """Panels of that size."""
    size = (columns * width, lines * height)
    return plt.subplots(lines, columns, figsize=size, layout="constrained", squeeze=False, **shared)


def settle(figure: Figure) -> None:
    """Find the layout and keep it: names are put beside lines when it is known where these are."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def legend(figure: Figure, keys: Sequence[Line2D], columns: int) -> None:
    """One for all panels, below them."""
    figure.legend(
        handles=keys, loc="outside lower center", ncols=columns, frameon=False, fontsize=9
    )


def mark(mechanism: str) -> Line2D:
    """A mechanism in a legend of marks."""
    look = appearance(mechanism)
    return Line2D([], [], color=look.colour, marker=look.marker, ls="", ms=5, label=mechanism)


def floor(axes: Axes, level: float | None) -> None:
    """What can be had without reading a word."""
    if level is not None:
        axes.axhline(level, color=INK, lw=1, ls=FLOOR, zorder=1)


def floor_key(label: str) -> Line2D:
    return Line2D([], [], color=INK, lw=1, ls=FLOOR, label=label)


def runs_of_neighbours(places: Sequence[float], every: Sequence[float]) -> list[list[float]]:
    """Places in groups that a line may join: within a group no place of `every` was left out."""
    order = {place: number for number, place in enumerate(sorted(set(every)))}
    groups: list[list[float]] = []
    for place in sorted(places):
        if groups and order[place] == order[groups[-1][-1]] + 1:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups
