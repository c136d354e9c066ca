"""How the walk writes its numbers: rounded half up, as a person does with a pencil.

A float64 holds .105 a little too small, and one sum of the same terms may end a bit above another. Before it
is rounded a number is therefore moved away from 0 by some 1e-13 of itself: what stands on a half goes up,
here and on the page alike.
"""

from __future__ import annotations

from collections.abc import Callable

from attnscope.looks.numbers import number

NUDGE = 1 + 2.0**-42
SMALLEST = 1e-300  # below, two float64 paths to the same number agree in hardly a digit: written as 0
LARGEST = 1e7  # from here on a power of ten is read better than its digits
SMALL = 1e-3  # and below, too
_PLACES = {"typed": 4, "two": 2}


def typed(x: float) -> str:
    """Return x as one types it: up to four places, without the zeros at its end.

    >>> typed(2.0), typed(0.125), typed(-0.5), typed(0.00003), typed(-0.0), typed(12_500_000.0)
    ('2', '.125', '−.5', '3e−5', '0', '1.25e7')
    """
    return _short(x, _PLACES["typed"])


def two(x: float) -> str:
    """Return x to two places, without the zeros at its end.

    >>> two(2.8284), two(0.105), two(1.0), two(float("-inf"))
    ('2.83', '.11', '1', '−∞')
    """
    return _short(x, _PLACES["two"])


def three(x: float) -> str:
    """Return x to three places, a weight's form.

    >>> three(0.80791), three(0.0625), three(1.0), three(0.0)
    ('.808', '.063', '1.000', '0')
    """
    return _large(x) or number(_nudged(x), 3)


def amount(x: float) -> str:
    """Return x to two places, and to three digits below 1: what is divided must not be a mere 0.01.

    >>> amount(16.9188), amount(1.0), amount(0.70469), amount(0.0013368), amount(0.000123)
    ('16.92', '1', '.705', '.00134', '1.2e−4')
    """
    size = abs(_nudged(x))
    if size >= 1 or size == 0:
        return two(x)
    sign = "−" if x < 0 else ""
    if size >= SMALL:
        return sign + f"{size:.3g}".removeprefix("0")
    digits, exponent = f"{size:.1e}".split("e")
    return f"{sign}{digits.removesuffix('.0')}e−{abs(int(exponent))}"


def thousandths(x: float) -> int:
    """Return what `three` shows of x in [0, 1], in thousandths."""
    return int(x * NUDGE * 1000 + 0.5)


FORMS: dict[str, Callable[[float], str]] = {"typed": typed, "two": two, "three": three, "amount": amount}


def _short(x: float, places: int) -> str:
    written = _large(x) or number(_nudged(x), places)
    return written.rstrip("0").rstrip(".") if "." in written and "e" not in written else written


def _large(x: float) -> str:
    if not LARGEST <= abs(x) < float("inf"):
        return ""
    digits, exponent = f"{abs(x) * NUDGE:.2e}".split("e")
    return f"{'−' if x < 0 else ''}{digits.rstrip('0').rstrip('.')}e{int(exponent)}"


def _nudged(x: float) -> float:
    return x * NUDGE if abs(x) >= SMALLEST else 0.0
