"""Numbers as people read them: ε, δ and powers of ten."""

import math

# of a sentence: odds that change e^10-fold tell any two apart
WHOLE = 10.0
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def show_number(value: float) -> str:
    return "∞" if value == math.inf else f"{value:.4g}"


def show_power(exponent: int) -> str:
    return f"10{str(exponent).translate(SUPERSCRIPTS)}"


def show_delta(log10_delta: float) -> str:
    if log10_delta == -math.inf:
        return "0"
    if log10_delta > -3:
        return f"{10**log10_delta:.3g}"
    # so that 9.95 becomes 1 of the next power
    exponent = math.floor(log10_delta + 0.0022)
    mantissa = f"{10 ** (log10_delta - exponent):.2g}"
    power = show_power(exponent)
    return power if mantissa == "1" else f"{mantissa}·{power}"


def show_promise(epsilon: float, log10_delta: float) -> str:
    if log10_delta == -math.inf:
        return f"{show_number(epsilon)}-DP"
    return f"({show_number(epsilon)}, {show_delta(log10_delta)})-DP"


def show_odds(epsilon: float) -> str:
    """e^ε as people read it."""
    # 2.7 is not 3
    if epsilon < math.log(10):
        return f"{math.exp(epsilon):.2g}"
    if epsilon < 12:
        return f"{math.exp(epsilon):,.0f}"
    return "∞" if epsilon == math.inf else show_power(round(epsilon / math.log(10)))
