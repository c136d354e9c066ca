"""Random sheets: everything that a reader may do to one, the harmless and the wild."""

from __future__ import annotations

from random import Random

from attnscope.lesson.walk import Sheet
from attnscope.lesson.walk.sheet import Edit

_WORDS = (
    "the", "cat", "sat", "down", "ΔΩ", "naïve", "東京", "кот", "قط", "New York", "😺", "👩‍🔬", "*bold*",
    "{i}", "a_b", "it’s", "24", "Zoë", "x" * 24, "“", "<b>", "\\",
)  # fmt: skip
_KINDS = ("small", "small", "decimals", "decimals", "gauss", "sparse", "whole", "huge", "negative", "same")


def sheet(seed: int) -> Sheet:
    """Return the sheet of a seed: 2 to 8 words with repeats, d and width 1 to 8, edits, mask, scale."""
    random = Random(seed)
    n, d = random.randint(2, 8), random.randint(1, 8)
    words = tuple(random.choice(random.sample(_WORDS, 5) + list(_WORDS)) for _ in range(n))
    if random.random() < 0.4:
        words = tuple(random.choice(words[:3]) for _ in range(n))
    distinct = len(set(words))
    width = distinct if random.random() < 0.7 else random.randint(1, 8)
    kind = random.choice(_KINDS)
    identity = width == distinct and random.random() < 0.6
    x = [[float(r == a) for a in range(width)] for r in range(distinct)]
    x = x if identity else _rows(random, kind, distinct, width)
    matrices = [_rows(random, kind, width, d) for _ in range(3)]
    cells = [(grid, i, c) for grid in "qkv" for i in range(n) for c in range(d)]
    chosen = random.sample(cells, random.choice((0, 0, 1, 2, 5)) if len(cells) > 5 else 1)
    edited = [Edit(*cell, _number(random, kind)) for cell in chosen]
    return Sheet(
        words, x, *matrices, edited=edited, causal=random.random() < 0.5, scale=random.random() < 0.7
    )  # type: ignore[arg-type]


def _rows(random: Random, kind: str, rows: int, columns: int) -> list[list[float]]:
    return [[_number(random, kind) for _ in range(columns)] for _ in range(rows)]


def _number(random: Random, kind: str) -> float:
    if kind == "small":
        return random.choice((0.0, 0.5, 1.0, 2.0, -1.0, 0.25, 1.5))
    if kind == "decimals":
        return round(random.uniform(-3, 3), random.choice((1, 2, 2, 3)))
    if kind == "sparse":
        return random.choice((0.0, 0.0, 0.0, 0.1, -0.3, 1e-5))
    if kind == "whole":
        return float(random.randint(-9, 9))
    if kind == "huge":
        return float(random.choice((-1_000_000, 1_000_000, 999_999, 123_456, 30, -700, 0, 1)))
    if kind == "negative":
        return round(-abs(random.gauss(0, 4)), 1)
    return 0.5 if kind == "same" else random.gauss(0, 1.5)
