"""What the rows of a site may see, told as one form: everything, causal, a window, chunks, a prefix, spans.

It is read from the spans of the first head, in O(T); a row stands at its index plus the site's offset.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.spans import runs
from attnscope.core.visible import Visible
from attnscope.recording.site import Site


@dataclass(frozen=True)
class Sight:
    """form: "everything", "causal", "window", "chunks", "prefix", "spans" or "rule".

    width: keys of a window that looks back (its own counted), of a chunk, or of a prefix.   left, right: keys
    that a window sees on each side of its own, which is not counted.   padding: columns that no row sees, as
    (first, end), where every row of the text is there.   rows: rows that see a key and stand for no padding,
    (first, end) where they are one stretch.   words: the same as a sentence.
    """

    form: str
    words: str
    width: int | None = None
    left: int | None = None
    right: int | None = None
    padding: tuple[tuple[int, int], ...] = ()
    rows: tuple[int, int] | None = None


def visible_of(site: Site) -> Visible | None:
    """What each row of a site sees, from its scoring alone: q and k are not asked for. None: everything."""
    mask = site.scoring.mask
    if mask is None:
        return None
    kept = site.heads if site.kept is None else len(site.kept)
    sizes = (site.batch, kept, site.tq, site.tk)
    return mask.bind(*sizes, site.offset or 0, site.normaliser.peak.device)


def sight_of(site: Site, *, batch: int = 0) -> Sight:
    """What the rows of a site see, for one text of its batch."""
    visible = visible_of(site)
    if visible is None:
        return Sight("everything", "every row sees every key", rows=(0, site.tq))
    spans = visible.as_spans()
    if spans is None:
        return Sight("rule", "a mask that no spans say", rows=(0, site.tq))
    lo, hi = (edge[batch if edge.shape[0] > 1 else 0, 0] for edge in (spans.lo, spans.hi))  # (tq s)
    padding = _unseen(spans.lo, spans.hi, site, batch)
    some = hi > lo
    first = lo.masked_fill(~some, site.tk).amin(dim=-1)
    end = hi.masked_fill(~some, 0).amax(dim=-1)
    seeing = some.any(dim=-1)
    own = torch.arange(site.tq, device=lo.device) + (site.offset or 0)
    real = seeing.clone()
    for start, stop in padding if site.kind == "self" else ():
        real &= (own < start) | (own >= stop)
    whole = bool((some.sum(dim=-1) <= 1).all())
    found = _form(site, own[seeing], first[seeing], end[seeing]) if whole else None
    form, words, width, left, right = found or ("spans", "spans of keys, row by row", None, None, None)
    if padding:
        words += f"; columns {_listed(padding)} are padding, which no row sees"
    return Sight(form, words, width, left, right, padding, _stretch(real))


def _form(
    site: Site, own: Tensor, first: Tensor, end: Tensor
) -> tuple[str, str, int | None, int | None, int | None] | None:
    """The form of one span a row, first <= j < end, of rows at the positions `own`; None for no known one."""
    if not len(own):
        return "spans", "no row sees a key", None, None, None
    low, high = int(first.min()), int(end.max())
    if bool((first == low).all() and (end == high).all()):
        if site.tq == 1 and low > 0 and high == site.tk:
            return (
                "window",
                f"a window of {high - low:,} keys, its own included",
                high - low,
                high - low - 1,
                0,
            )
        return "everything", "every row sees every key", None, None, None
    if site.kind == "cross":
        return None
    back, ahead = int((own - first).max()), int((end - 1 - own).max())
    looks_back = bool((end == (own + 1).clamp(max=high)).all())
    if looks_back and bool((first == low).all()):
        return "causal", "a row sees itself and what stands before it", None, None, None
    if looks_back and bool((first == (own - back).clamp(min=low)).all()):
        width = back + 1
        return "window", f"a window of {width:,} keys, its own included, that looks back", width, back, 0
    edges = first[first > low]
    if looks_back and len(edges):
        size = int(edges.min()) - low
        if bool((first == low + (own - low) // size * size).all()):
            return "chunks", f"chunks of {size:,} keys, in which a row looks back", size, None, None
    around = (first == (own - back).clamp(min=low)) & (end == (own + ahead + 1).clamp(max=high))
    if ahead > 0 and bool(around.all()):
        sides = f"{back:,} keys before its own and {ahead:,} after it"
        return "window", f"a window of {sides}", None, back, ahead
    prefix = int(end.min())
    if bool((first == low).all()) and bool((end == (own + 1).clamp(min=prefix)).all()):
        return "prefix", f"a prefix of {prefix:,} keys that all see, causal after it", prefix, None, None
    return None


def _unseen(lo: Tensor, hi: Tensor, site: Site, batch: int) -> tuple[tuple[int, int], ...]:
    """Columns that no row of any head sees, as (first, end); () where rows of the text may be missing."""
    if site.kind == "self" and ((site.offset or 0) != 0 or site.tq != site.tk):
        return ()
    at_text = slice(batch, batch + 1) if lo.shape[0] > 1 else slice(0, 1)
    found, at = [], 0
    for start, stop in runs(lo[at_text], hi[at_text]):
        if start > at:
            found.append((at, start))
        at = stop
    return tuple([*found, (at, site.tk)] if at < site.tk else found)


def _stretch(real: Tensor) -> tuple[int, int] | None:
    places = real.nonzero()[:, 0]
    if not len(places):
        return None
    first, end = int(places[0]), int(places[-1]) + 1
    return (first, end) if end - first == len(places) else None


def _listed(ranges: tuple[tuple[int, int], ...]) -> str:
    named = [f"{first:,}" if end == first + 1 else f"{first:,} to {end - 1:,}" for first, end in ranges[:4]]
    return ", ".join(named) + (f" and {len(ranges) - 4} more" if len(ranges) > 4 else "")
