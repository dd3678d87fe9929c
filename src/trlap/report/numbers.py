"""Numbers as every part of a report writes them: ε, δ and powers of ten, each in one way."""

import math

from trlap.runs.numbers import SUPERSCRIPTS

UNKNOWN = "–"


def power(exponent: float) -> str:
    """10⁻¹⁸¹: the nearest whole power of ten."""
    return f"10{f'{exponent:.0f}'.translate(SUPERSCRIPTS)}"


def show_delta(log10_delta: float | None) -> str:
    if log10_delta is None or math.isnan(log10_delta):
        return UNKNOWN
    if log10_delta == -math.inf:
        return "0"
    return f"{10**log10_delta:.3f}" if log10_delta > -3 else power(log10_delta)


def show_epsilon(value: float | None) -> str:
    """Three digits that count; 4.6·10⁻⁵ where Python would write 4.6e-05."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if value == math.inf:
        return "∞"
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    if not exponent:
        return mantissa
    return power(int(exponent)) if mantissa == "1" else f"{mantissa}·{power(int(exponent))}"
