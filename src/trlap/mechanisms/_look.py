"""How a mechanism looks in figures: one colour, one marker and one dash throughout.

Colours are those of Okabe and Ito, which colour-blind readers tell apart; markers and dashes tell mechanisms
apart in grey.
"""

import colorsys
import hashlib
from dataclasses import dataclass

MARKERS = ("d", "H", "8", "x", "+", "1")  # those that no mechanism here has taken
DASHES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Look:
    """`colour` as #rrggbb, `marker` and `dash` as matplotlib writes them.

    `order` is the place in legends: the paper's first, then what the study adds, then all others by name.
    """

    colour: str
    marker: str
    dash: str
    order: int = 1000

    @classmethod
    def of(cls, name: str) -> "Look":
        """A look for a mechanism that states none: always the same for the same name."""
        hue, marker, dash = hashlib.sha256(name.encode()).digest()[:3]
        shades = colorsys.hls_to_rgb(hue / 256, 0.4, 0.6)
        colour = "#" + "".join(f"{round(255 * shade):02x}" for shade in shades)
        return cls(colour, MARKERS[marker % len(MARKERS)], DASHES[dash % len(DASHES)])
