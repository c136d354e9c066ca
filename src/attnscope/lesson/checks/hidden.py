"""What lies where nothing should: a mask the wrong way round, a finite fill that leaks."""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.core.scoring import Scoring
from attnscope.lesson.checks.finding import Finding
from attnscope.lesson.checks.reading import Head
from attnscope.looks.numbers import count, number

INVERTED = 0.99  # of the weight on hidden cells: more than any leak leaves the visible ones
_FAINT = 1e-3  # of a row's smallest visible weight
_AGREE = 0.2  # of a score: how far fills read from several rows may lie apart
_MUCH = 0.1  # of the weight on hidden cells: as much as a forgotten mask leaves there
_TURN = (
    "attnscope and F.scaled_dot_product_attention take True = may attend; nn.MultiheadAttention takes True "
    "= hidden: hand over ~mask"
)
_FILL = "Fill with -inf: exp(-inf) is 0 exactly, and a row that sees nothing is 0 throughout"


def hidden(head: Head) -> Finding | None:
    """What is wrong with the hidden cells of one head; without a mask, only what a causal one would show."""
    if head.visible is None:
        return _upside_down(head) or _faint_future(head)
    dark = ~head.visible
    on_dark = head.weights * dark
    rows = head.visible.any(dim=1) & dark.any(dim=1)
    rows = rows if bool(rows.any()) else torch.ones_like(rows)
    total, lost = float(head.weights[rows].sum()), float(on_dark[rows].sum())
    cells = int((on_dark > 0).sum())
    if not cells:
        return None
    share = lost / total if total else 1.0
    seen = {
        "share_on_hidden": share,
        "hidden_cells_with_weight": float(cells),
        "hidden_cells": float(dark.sum()),
    }
    if share >= INVERTED and total:
        return Finding(
            "inverted_mask",
            f"{number(share, 3)} of the weight lies on keys that the mask hides, and {number(1 - share, 3)} "
            "on those it shows: the mask was read the wrong way round",
            _TURN,
            True,
            seen,
        )
    if _never_masked(head):
        return Finding(
            "mask_missing",
            f"{count(cells)} hidden cells hold {number(share, 3)} of the weight of their rows, as softmax "
            "over all keys gives: the mask was not put on",
            "Hand the mask over where the scores are made, and look whether it arrives",
            True,
            seen,
        )
    return _leak(head, on_dark, cells, seen)


def _leak(head: Head, on_dark: Tensor, cells: int, seen: dict[str, float]) -> Finding:
    largest = float(on_dark.max())
    i, j = divmod(int(on_dark.argmax()), on_dark.shape[1])
    fill = _fill(head, on_dark)
    seen = seen | {"largest": largest, "query": float(i), "key": float(j)}
    visible = head.visible
    if visible is not None and not bool(visible[i].any()):
        sentence = (
            f"Query {i} sees no key, and its row holds {number(largest, 3)}: a finite fill turns a row "
            "without keys into even shares"
        )
    else:
        sentence = (
            f"{count(cells)} hidden cells hold weight, up to {number(largest, 7)} at query {i}, key {j}: "
            "they were filled with a finite number"
        )
        if seen["share_on_hidden"] > _MUCH and fill is None:
            sentence += ", or the mask was not put on at all"
    if fill is not None:
        sentence += f", about {number(fill, 1)}"
        seen = seen | {"fill": fill}
    return Finding("leaking_fill", sentence, _FILL, True, seen)


def _fill(head: Head, on_dark: Tensor) -> float | None:
    """The score that stood in hidden cells, where q and k tell and all rows that leak agree; else None."""
    if head.q is None or head.k is None or head.visible is None:
        return None
    shown = head.weights * head.visible
    rows = (on_dark.amax(dim=1) > 0) & (shown.amax(dim=1) > 0)
    if not bool(rows.any()):
        return None
    scores = steps(head.q, head.k, head.k).scores[0, 0][rows]
    most, at = shown[rows].max(dim=1)
    fills = scores.gather(1, at[:, None])[:, 0] + on_dark[rows].amax(dim=1).log() - most.log()
    agree = float(fills.max() - fills.min()) <= _AGREE
    return float(fills.median()) if agree else None


def _never_masked(head: Head) -> bool:
    """Whether softmax over all keys, scaled or not, gives exactly these weights."""
    if head.q is None or head.k is None:
        return False
    grids = (steps(head.q, head.k, head.k, Scoring(scale=scale)).weights[0, 0] for scale in (None, 1.0))
    return any(float((grid - head.weights).abs().max()) <= head.close for grid in grids)


def _square(head: Head, least: int) -> bool:
    tq, tk = head.weights.shape
    return tq == tk >= least


def _upside_down(head: Head) -> Finding | None:
    """Exactly the keys after each query hold weight: the complement of causal."""
    if not _square(head, 3):
        return None
    later = torch.ones_like(head.weights, dtype=torch.bool).triu(1)
    if not bool(((head.weights > 0) == later)[:-1].all()):
        return None
    return Finding(
        "inverted_mask",
        "Each query has weight on the keys after it alone, and none on itself or before: a causal mask "
        "read the wrong way round looks like this",
        _TURN,
        False,
        {"share_on_hidden": 1.0, "hidden_cells_with_weight": float(later.sum())},
    )


def _faint_future(head: Head) -> Finding | None:
    """Above the diagonal every row holds one faint weight, or weights fainter than all before."""
    if not _square(head, 4):
        return None
    n = len(head.weights)
    later = torch.ones(n, n, dtype=torch.bool, device=head.weights.device).triu(1)
    above = head.weights.masked_fill(~later, -torch.inf).amax(dim=1)[:-1]
    even = head.weights.masked_fill(~later, torch.inf).amin(dim=1)[:-1]
    shown = head.weights.masked_fill(later, torch.inf).amin(dim=1)[:-1]
    same = bool((above == even).all() and (above < shown).all())
    leaks = above > 0  # a fill is in every later cell of a row: one that is 0 there was hidden rightly
    if not bool(leaks.any()) or bool((leaks & (even == 0)).any()):
        return None
    if not (same or bool((above < _FAINT * shown).all())):
        return None
    largest = float(above.max())
    look = "every row holds one and the same weight" if same else "weights are faint"
    return Finding(
        "leaking_fill",
        f"Above the diagonal {look}, up to {number(largest, 7)}, where a causal mask gives 0: hidden cells "
        "may have been filled with a finite number",
        f"{_FILL}. Hand over the mask to be certain",
        False,
        {"largest": largest, "hidden_cells_with_weight": float((head.weights * later > 0).sum())},
    )
