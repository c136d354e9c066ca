"""What q.k was multiplied by before softmax, read back from the weights; and rows that look at one key."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.core.masks import from_tensor
from attnscope.core.scoring import Scoring
from attnscope.lesson.checks.finding import Finding
from attnscope.lesson.checks.reading import Head
from attnscope.looks.numbers import number, typed

SATURATED = 0.99  # the middle row's largest weight
_FEWEST_KEYS = 4  # a row of fewer is soon decided
_FEWEST_PAIRS = 4  # independent pairs of weights: fewer may fit a scale by chance
_LEAST_PAIRS = 2  # from here on a scale of exactly 1 is told, where it fits to the last places
_EXACT = 1e-6
_ROWS = 256  # looked at, evenly chosen, in a longer grid: a scale is the same in all
_APART = 0.1  # of the right scale: a bias or a cap looks like less, no usual mistake does
_BETTER = 4.0  # times nearer than the right scale


def scale(head: Head) -> Finding | None:
    """What the weights of one head say of their scale; without q and k, that they are saturated at most."""
    fit = None if head.q is None else _fit(head)
    if fit is None:
        return _saturated(head)
    right, plain, fitted, at, d, pairs = fit
    seen = {
        "fitted_scale": fitted,
        "right_scale": d**-0.5,
        "error_right": right,
        "error_unscaled": plain,
        "d": d,
    }
    floor = 1e-4 if head.close < 0.01 else 0.004
    if right <= floor or d == 1:
        return None
    enough = pairs >= _FEWEST_PAIRS
    if plain <= (head.close if enough else _EXACT) and plain * _BETTER < right:
        middle, entropy = _middle(head)
        return Finding(
            "unscaled",
            f"The weights are softmax of q·k times {typed(fitted, 3)}, where 1/√{int(d)} = "
            f"{number(d**-0.5, 3)} is wanted: q·k was not divided by √d. The median row has "
            f"{number(middle, 3)} on its largest key",
            "Divide q·k by √d, unless the model means it so (T5) or q was divided before it came here",
            True,
            seen | {"median_largest": middle, "median_entropy": entropy},
        )
    if right <= head.close:
        return None
    apart = abs(fitted * d**0.5 - 1) >= _APART
    if enough and apart and at <= head.close and at * _BETTER < right and fitted > 0:
        return Finding(
            "other_scale",
            f"The weights are softmax of q·k times {number(fitted, 4)}, where 1/√{int(d)} = "
            f"{number(d**-0.5, 4)} is usual",
            "Look whether the scale is divided by twice, by d, or by the model's own rule",
            False,
            seen,
        )
    return _saturated(head)


def _fit(head: Head) -> tuple[float, float, float, float, float, int] | None:
    """Errors at 1/sqrt(d) and at 1, the fitted scale and its error, d, pairs; None where there are too few.

    Where score = c q.k, ln w(i, j) = c q.k + a constant of row i: c is the slope of a line through each row's
    own middle, weighted by w.
    """
    head = head.some(_ROWS)
    if head.q is None or head.k is None:
        return None
    w = head.weights / head.weights.sum(dim=1, keepdim=True).clamp_min(torch.finfo(torch.float64).tiny)
    seen = w > 0 if head.visible is None else (w > 0) & head.visible
    w = w * seen
    w = w / w.sum(dim=1, keepdim=True).clamp_min(torch.finfo(torch.float64).tiny)
    pairs = int((seen.sum(dim=1) - 1).clamp_min(0).sum())
    if pairs < _LEAST_PAIRS:
        return None
    products = steps(head.q, head.k, head.k).products[0, 0]
    logs = w.masked_fill(~seen, 1.0).log()
    x, y = _centred(products, w), _centred(logs, w)
    spread = float((w * x * x).sum())
    if spread < 1e-12:
        return None
    fitted = float((w * x * y).sum()) / spread
    d = float(head.q.shape[-1])
    right, plain, at = (_error(head, w, seen, c) for c in (d**-0.5, 1.0, fitted))
    return right, plain, fitted, at, d, pairs


def _centred(x: Tensor, w: Tensor) -> Tensor:
    return x - (w * x).sum(dim=1, keepdim=True)


def _error(head: Head, w: Tensor, seen: Tensor, c: float) -> float:
    """The largest difference from the weights that the oracle gives at scale c over the seen cells."""
    if head.q is None or head.k is None:
        return math.inf
    again = steps(head.q, head.k, head.k, Scoring(from_tensor(seen), scale=c)).weights[0, 0]
    return float((again - w).abs().max())


def _keys(head: Head) -> Tensor:
    seen = head.weights > 0 if head.visible is None else head.visible
    return seen.sum(dim=1)


def _middle(head: Head) -> tuple[float, float]:
    """The median over rows of the largest weight and of the entropy in nats."""
    w = head.weights
    rows = w[w.sum(dim=1) > 0]
    entropy = -(rows * rows.clamp_min(torch.finfo(torch.float64).tiny).log()).sum(dim=1)
    return float(rows.amax(dim=1).median()), float(entropy.median())


def _saturated(head: Head) -> Finding | None:
    rows = (_keys(head) >= _FEWEST_KEYS) & (head.weights.sum(dim=1) > 0)
    if not bool(rows.any()):
        return None
    largest = head.weights[rows].amax(dim=1)
    middle = float(largest.median())
    if middle < SATURATED or bool((head.weights.sum(dim=1) > 1.5).any()):
        return None
    _, entropy = _middle(head)
    return Finding(
        "saturated",
        f"The median row has {number(middle, 4)} on its largest key: softmax is saturated, by a missing "
        "scale, by large q and k, or because the head learned to look at one key",
        "Hand over q and k: they tell whether a scale is missing",
        False,
        {"median_largest": middle, "median_entropy": entropy, "rows": float(rows.sum())},
    )
