"""Numbers as text, the same in sentences, tables and figures."""

from __future__ import annotations

import numpy as np


def number(value: float, quantity: str) -> str:
    """A median as the table prints it: errors with three digits, iterations plain."""
    if not np.isfinite(value):
        return "–" if np.isnan(value) else "∞"
    if quantity == "iterations":
        return f"{value:g}"
    if 0.01 <= value < 1000.0:
        return f"{value:.3g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def signed(value: float) -> str:
    """A slope with its sign and three decimals, the minus as long as the plus."""
    return f"{value:+.3f}".replace("-", "−")


def power_of_ten(value: float) -> str:
    """Number as text with a power of ten: 10⁻⁵ for 1e-5, 2·10⁻⁵ for 2e-5; short numbers as they are.

    Examples
    --------
    >>> power_of_ten(1e-5), power_of_ten(2e-5), power_of_ten(50.0)
    ('10⁻⁵', '2·10⁻⁵', '50')
    """
    mantissa, exponent = f"{value:.2e}".split("e")
    digits = f"{float(mantissa):g}"
    if digits != "1" and 0.1 <= value < 1000.0:
        return f"{value:g}"
    power = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return power if digits == "1" else f"{digits}·{power}"
