"""How numbers are written: as the page writes them, without a leading zero and with a true minus."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

_EXACT = Context(prec=1100, rounding=ROUND_HALF_UP)  # holds every digit of any float64


def number(x: float, places: int) -> str:
    """Return x with so many places, 0 for exactly zero, and 3e−5 for what would round to it. A tie goes up.

    >>> number(0.80791, 3), number(-1.5, 2), number(0.00003, 3), number(0.0, 3)
    ('.808', '−1.50', '3e−5', '0')
    """
    if not math.isfinite(x):
        return "not a number" if math.isnan(x) else ("∞" if x > 0 else "−∞")
    if x == 0:
        return "0"
    sign, size = ("−" if x < 0 else ""), abs(x)
    digits = f"{Decimal(size).quantize(Decimal(1).scaleb(-places), context=_EXACT):,f}"
    if not digits.strip("0.,"):
        mantissa, exponent = f"{size:.0e}".split("e")
        return f"{sign}{mantissa}e{int(exponent)}".replace("e-", "e−")
    return sign + (digits[1:] if digits.startswith("0.") else digits)


def weight(x: float) -> str:
    """Return a weight as a panel shows it: three places.

    >>> weight(0.048), weight(1.0)
    ('.048', '1.000')
    """
    return number(x, 3)


def typed(x: float, places: int = 2) -> str:
    """Return x as one types it, rounded to `places`, without the zeros at its end.

    >>> typed(4.0), typed(0.5), typed(2.828), typed(-1.0)
    ('4', '.5', '2.83', '−1')
    """
    written = number(x, places)
    return written.rstrip("0").rstrip(".") if "." in written and "e" not in written else written


def count(n: int) -> str:
    """Return a whole number with thousands commas."""
    return f"{n:,}"


def size(nbytes: int) -> str:
    """Return bytes in the largest unit of 1,024 that keeps a whole number before it.

    >>> size(16_384), size(4 * 2**20), size(64 * 2**30)
    ('16 KB', '4 MB', '64 GB')
    """
    units = ("bytes", "KB", "MB", "GB", "TB")
    power = min(max(nbytes, 1).bit_length() - 1, 49) // 10
    return f"{typed(nbytes / 1024**power, 1)} {units[power]}"
