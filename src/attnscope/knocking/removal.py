"""A removal at the call itself: what goes into the output of each head that something is taken out of.

Only rows that lose a weight above 0 are written; every other number of the output is the kernel's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_

import torch
from torch import Tensor

from attnscope.core.certificate import certify
from attnscope.core.mask import Mask
from attnscope.core.scoring import Bound
from attnscope.core.without import Way, out_without, weights_of_rows
from attnscope.errors import AttnscopeError, Uncertified
from attnscope.knocking.cut import Cut
from attnscope.listen.arithmetic import Matched
from attnscope.listen.call import Call
from attnscope.listen.changing import Write
from attnscope.listen.naming import Label
from attnscope.listen.scored import head_of, label_of
from attnscope.recording.asked import cut_of

CELLS = 2**22
"""Cells of a grid of rows that are looked at together: 32 MB in float64."""

Place = tuple[str, int]
"""A module's name, and which of its calls in a forward."""


@dataclass(eq=False)
class Removal:
    """Takes cuts out of the calls of one forward, and notes what it met.

    labels: of each call that something was taken out of.   resolved: the cuts by number, as the call has
    them.   weights: by the number of a cut of cells, what each row lost (b tq), 0 where it saw none of them.
    verdicts: of the certificate of each head of which cells were taken out, one a text.
    """

    cuts: dict[Place, list[tuple[int, Cut]]]
    labels: dict[Place, Label] = field(default_factory=dict)
    resolved: dict[int, Cut] = field(default_factory=dict)
    weights: dict[int, Tensor] = field(default_factory=dict)
    verdicts: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def __call__(self, call: Call, name: str, order: int) -> Iterator[Write]:
        """What is written into the output of a call. Raises ShapeError, Uncertified, AttnscopeError."""
        place = (name, order)
        if place not in self.cuts:
            return
        self.labels[place] = label_of(call, name=name)
        cuts = [(number, cut.within(call)) for number, cut in self.cuts[place]]
        self.resolved.update(cuts)
        for head in sorted({cut.head for _, cut in cuts}):
            of_head = [(number, cut) for number, cut in cuts if cut.head == head]
            yield from self._cells(call, name, head, [one for one in of_head if not one[1].whole])
            for _, cut in of_head:
                if cut.whole:
                    yield _whole(call, name, cut, self.labels[place])

    def _cells(self, call: Call, name: str, head: int, cuts: Sequence[tuple[int, Cut]]) -> Iterator[Write]:
        if not cuts:
            return
        ways = {cut.how for _, cut in cuts}
        if len(ways) > 1:
            raise AttnscopeError(
                f"Cells of head {head} of {name} are to be out in several ways: {', '.join(sorted(ways))}",
                wanted="One way for all cells of a head",
            )
        part, bound, matched = head_of(call, head, name=name)
        verdict = _certified(part, bound, name, head)
        b, _, _, tq, tk, _ = bound.shape
        masks = [cut.kept((b, tq, tk), bound.q.device) for _, cut in cuts]
        for number, _ in cuts:
            self.verdicts[number] = verdict
            self.weights[number] = torch.zeros(b, tq, dtype=bound.dtype)
        for rows in _blocks(_hull(cuts, tq), b * tk):
            weights = weights_of_rows(bound, rows, matched.reach)[:, 0]  # (b r tk)
            for (number, _), mask in zip(cuts, masks, strict=True):
                lost = weights.masked_fill(_stays(mask, bound, rows), 0.0).sum(dim=-1)
                self.weights[number][:, rows] = lost.to("cpu")
            kept = reduce(and_, masks)
            touched = (weights.masked_fill(_stays(kept, bound, rows), 0.0) > 0).any(dim=-1)  # (b r)
            if bool(touched.any()):
                yield from _rows(part, bound, matched, kept, cuts[0][1], rows, touched)


def _rows(
    part: Call, bound: Bound, matched: Matched, kept: Mask, cut: Cut, rows: slice, touched: Tensor
) -> Iterator[Write]:
    """The rows of a block that lost a weight, by our own arithmetic."""
    way: Way = "zero" if cut.how == "zero" else "renormalise"
    outs = out_without(bound, part.v, kept, way, rows=rows, reach=matched.reach)[:, 0]  # (b r dv)
    for text in range(len(touched)):
        places = touched[text].nonzero()[:, 0]
        if len(places):
            yield (text, cut.head, rows.start + places), outs[text, places].to(part.out.dtype)


def _whole(call: Call, name: str, cut: Cut, label: Label) -> Write:
    """The whole output of some rows: 0, or the head's mean output."""
    where = (cut.texts(call.q.shape[0]), cut.head, cut_of(cut.rows, call.q.shape[2], "row"))
    if cut.how != "mean":
        return where, 0.0
    part, bound, _ = head_of(call, cut.head, name=name)
    out = part.out[:, 0].to(torch.float64)  # (b tq dv)
    real = _real_rows(bound, label)[..., None]
    mean = out.masked_fill(~real, 0.0).sum(dim=1, keepdim=True) / real.sum(dim=1, keepdim=True).clamp(min=1)
    return where, mean[where[0]].to(part.out.dtype)


def _real_rows(bound: Bound, label: Label) -> Tensor:
    """Rows that see a key and, where queries and keys are one sequence, whose own key some row sees: (b tq).

    What is left out stands for padding.
    """
    b, _, _, tq, tk, _ = bound.shape
    cols = slice(0, tk)
    seen_keys = torch.zeros(b, tk, dtype=torch.bool, device=bound.q.device)
    seeing = []
    for rows in _blocks(slice(0, tq), b * tk):
        tile = bound.visible.tile(rows, cols).expand(b, 1, -1, -1)[:, 0]
        seen_keys |= tile.any(dim=1)
        seeing.append(tile.any(dim=-1))
    real = torch.cat(seeing, dim=1) if seeing else seen_keys.new_zeros(b, 0)
    own = torch.arange(tq, device=real.device) + bound.offset
    if label.kind == "self" and tq + bound.offset <= tk:
        real &= seen_keys[:, own]
    return real


def _certified(part: Call, bound: Bound, name: str, head: int) -> tuple[str, ...]:
    """The verdicts on one head, one a text. Raises Uncertified where one is refused: what a row would give
    without a cell cannot be told of a head whose rows do not re-add.
    """
    certificate = certify(
        part.q, part.k, part.v, part.out, bound.scoring, None, route=part.route.rsplit("/", 1)[-1]
    )
    verdicts = tuple(of_text[0] for of_text in certificate.verdict)
    if "refused" in verdicts:
        raise Uncertified(
            f"Head {head} of {name}: its rows do not re-add to the model's output, so its cells stay",
            hint="The whole head can be: leave cols out",
        )
    return verdicts


def _stays(mask: Mask, bound: Bound, rows: slice) -> Tensor:
    """Which cells of some rows a mask keeps, (b|1, r, tk)."""
    b, h, _, tq, tk, _ = bound.shape
    seen = mask.bind(b, h, tq, tk, bound.offset, bound.q.device)
    return seen.tile(rows, slice(0, tk))[:, 0]


def _hull(cuts: Sequence[tuple[int, Cut]], tq: int) -> slice:
    """The rows from the first to the last of which cells are taken out."""
    spans = [cut_of(cut.rows, tq, "row") for _, cut in cuts]
    some = [one for one in spans if one.start < one.stop]
    return slice(min(s.start for s in some), max(s.stop for s in some)) if some else slice(0, 0)


def _blocks(rows: slice, width: int) -> Iterator[slice]:
    """Blocks of rows of so many cells each."""
    step = max(1, CELLS // max(1, width))
    for start in range(rows.start, rows.stop, step):
        yield slice(start, min(start + step, rows.stop))
