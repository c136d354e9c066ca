"""Why a row may or may not see a key, in a few words: "21 <= 27"."""

from __future__ import annotations

from attnscope.core.scoring import Bound


def why_visible(bound: Bound, head: int, i: int, j: int, batch: int) -> str:
    """The rule at row i, column j, in positions: the edge of the row's span, padding, or the model's own
    mask.
    """
    seen, position = bound.visible, i + bound.offset
    if seen.valid is not None and not bool(seen.valid[batch, j]):
        return f"key {j} is padding"
    lo = seen.lo[min(batch, seen.lo.shape[0] - 1), min(head, seen.lo.shape[1] - 1), i].tolist()
    hi = seen.hi[min(batch, seen.hi.shape[0] - 1), min(head, seen.hi.shape[1] - 1), i].tolist()
    spans = [(a, z) for a, z in zip(lo, hi, strict=True) if z > a]
    if not spans:
        return "this row sees no key"
    for first, end in spans:
        if first <= j < end:
            return _inside(bound, head, i, j, batch, first=first, end=end, position=position)
    if j >= spans[-1][1]:
        return f"{j} > {spans[-1][1] - 1}"
    if j < spans[0][0]:
        return f"{j} < {spans[0][0]}"
    return f"{j} lies between the keys this row sees"


def _inside(
    bound: Bound, head: int, i: int, j: int, batch: int, *, first: int, end: int, position: int
) -> str:
    if bound.visible.rule is not None:
        cell = bound.visible.tile(
            slice(i, i + 1), slice(j, j + 1), heads=slice(head, head + 1), batch=slice(batch, batch + 1)
        )
        return "the mask allows it" if bool(cell.all()) else "the mask hides it"
    if first > 0:
        return f"{first} <= {j} <= {end - 1}"
    if end == position + 1:
        return f"{j} <= {position}"
    return "the row sees every key" if end == bound.shape.tk else f"{j} <= {end - 1}"
