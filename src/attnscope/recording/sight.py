"""What the rows of a site may see, told as one form: everything, causal, a window, chunks, documents, a
prefix, spans.

It is read from the spans, in O(T); a row stands at its index plus the site's offset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attnscope.core.spans import runs
from attnscope.core.visible import Visible
from attnscope.recording.site import Site


@dataclass(frozen=True)
class Sight:
    """form: "everything", "causal", "window", "chunks", "documents", "prefix", "spans" or "rule".

    width: keys of a window that looks back (its own counted), of a chunk, or of a prefix.   left, right: keys
    that a window sees on each side of its own, which is not counted.   padding: columns that no row sees, as
    (first, end), where every row of the text is there.   rows: rows that see a key and stand for no padding,
    (first, end) where they are one stretch.   documents: stretches of keys, (first, end), whose rows see no
    other one.   words: the same as a sentence.
    """

    form: str
    words: str
    width: int | None = None
    left: int | None = None
    right: int | None = None
    padding: tuple[tuple[int, int], ...] = ()
    rows: tuple[int, int] | None = None
    documents: tuple[tuple[int, int], ...] = ()


def visible_of(site: Site) -> Visible | None:
    """What each row of a site sees, from its scoring alone: q and k are not asked for. None: everything."""
    mask = site.scoring.mask
    if mask is None:
        return None
    kept = site.heads if site.kept is None else len(site.kept)
    sizes = (site.batch, kept, site.tq, site.tk)
    return mask.bind(*sizes, site.offset or 0, site.shelf.device)


def sight_of(site: Site, *, batch: int = 0) -> Sight:
    """What the rows of a site see, for one text of its batch."""
    visible = visible_of(site)
    if visible is None:
        return Sight("everything", "every row sees every key", rows=(0, site.tq))
    spans = visible.as_spans()
    if spans is None:
        return Sight("rule", "a mask that no spans say", rows=(0, site.tq))
    of_heads = [edge[batch if edge.shape[0] > 1 else 0] for edge in (spans.lo, spans.hi)]  # (h tq s)
    alike = all(bool((edge == edge[:1]).all()) for edge in of_heads)
    lo, hi = (edge[0] for edge in of_heads)
    padding = _unseen(spans.lo, spans.hi, site, batch)
    some = hi > lo
    first = lo[:, 0]  # sorted, and empty ones stand last
    ends = hi.masked_fill(~some, 0)
    end = ends[:, 0] if ends.shape[-1] == 1 else ends.amax(dim=-1)  # of one alone amax takes a millisecond
    seeing = some.any(dim=-1)
    own = torch.arange(site.tq, device=lo.device) + (site.offset or 0)
    real = seeing.clone()
    for start, stop in padding if site.kind == "self" else ():
        real &= (own < start) | (own >= stop)
    whole = bool((some.sum(dim=-1) <= 1).all())
    found = _form(site, own[seeing], first[seeing], end[seeing]) if whole and alike else None
    found = found or Sight("spans", f"spans of keys, {'row by row' if alike else 'head by head'}")
    words = found.words
    if padding:
        words += f"; columns {_listed(padding)} are padding, which no row sees"
    return replace(found, words=words, padding=padding, rows=_stretch(real))


def _form(site: Site, own: Tensor, first: Tensor, end: Tensor) -> Sight | None:
    """The form of one span a row, first <= j < end, of rows at the positions `own`; None for no known one."""
    if not len(own):
        return Sight("spans", "no row sees a key")
    low, high = int(first.min()), int(end.max())
    if bool((first == low).all() and (end == high).all()):
        if site.tq == 1 and low > 0 and high == site.tk:
            width = high - low
            return Sight("window", f"a window of {width:,} keys, its own included", width, width - 1, 0)
        return Sight("everything", "every row sees every key")
    if site.kind == "cross":
        return None
    back, ahead = int((own - first).max()), int((end - 1 - own).max())
    looks_back = bool((end == (own + 1).clamp(max=high)).all())
    if looks_back and bool((first == low).all()):
        return Sight("causal", "a row sees itself and what stands before it")
    if looks_back and bool((first == (own - back).clamp(min=low)).all()):
        width = back + 1
        return Sight(
            "window", f"a window of {width:,} keys, its own included, that looks back", width, back, 0
        )
    edges = first[first > low]
    if looks_back and len(edges):
        size = int(edges.min()) - low
        if bool((first == low + (own - low) // size * size).all()):
            return Sight("chunks", f"chunks of {size:,} keys, in which a row looks back", size)
    around = (first == (own - back).clamp(min=low)) & (end == (own + ahead + 1).clamp(max=high))
    if ahead > 0 and bool(around.all()):
        sides = f"{back:,} keys before its own and {ahead:,} after it"
        return Sight("window", f"a window of {sides}", None, back, ahead)
    prefix = int(end.min())
    if bool((first == low).all()) and bool((end == (own + 1).clamp(min=prefix)).all()):
        return Sight("prefix", f"a prefix of {prefix:,} keys that all see, causal after it", prefix)
    return _documents(own, first, end)


def _documents(own: Tensor, first: Tensor, end: Tensor) -> Sight | None:
    """Texts in a row that do not see one another: each begins with a row that sees nothing before itself."""
    starts = own[first == own]
    if len(starts) < 2 or int(starts[0]) != int(first.min()):
        return None
    ends = torch.cat([starts[1:], end.max()[None]])
    at = (torch.searchsorted(starts, own, right=True) - 1).clamp(min=0)  # padding before the first
    documents = tuple(zip(starts.tolist(), ends.tolist(), strict=True))
    words = f"{len(documents):,} documents that do not see one another"
    if bool((first == starts[at]).all() and (end == ends[at]).all()):
        return Sight("documents", words, documents=documents)
    back = int((own - first).max())
    if not bool((end == own + 1).all() and (first == torch.maximum(starts[at], own - back)).all()):
        return None
    words += ", in which a row looks back"
    if bool((first == starts[at]).all()):
        return Sight("documents", words, right=0, documents=documents)
    return Sight(
        "documents", f"{words}, at {back + 1:,} keys at most", back + 1, back, 0, documents=documents
    )


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
