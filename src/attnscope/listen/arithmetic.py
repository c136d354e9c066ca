"""Which roundings an eager model makes: the candidate whose replay equals the grid it returned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.replay import Reach, replay, row_blocks
from attnscope.core.scoring import Bound, Scoring
from attnscope.listen.call import Call


@dataclass(frozen=True)
class Matched:
    """bit_exact: True where the replay equals the whole grid bit for bit, False where none does, None
    without a grid.
    """

    arithmetic: Arithmetic | None
    reach: Reach | None
    bit_exact: bool | None


def match(call: Call, scoring: Scoring, *, likely: Arithmetic | None = None) -> Matched:
    """The arithmetic of an eager call; `likely` is tried first. Without a bit-equal candidate, the nearest
    one, and bit_exact is False.
    """
    first = [] if likely is None else [replace(likely, dropout=call.dropout)]
    candidates = list(dict.fromkeys([*first, *_candidates(call)]))
    if scoring.bias is not None and call.q.dtype in (torch.float16, torch.bfloat16):
        narrow = [one for one in candidates if one.products != torch.float32]
        fused = [replace(one, fused_bias=True) for one in narrow if not one.fused_bias]
        candidates = list(dict.fromkeys([*narrow, *fused, *candidates]))  # those of float32 round no score
    if call.grid is None or call.dropout > 0:
        return Matched(candidates[0], "head", None)
    block = next(iter(row_blocks(call.q.shape[2])), slice(0, 0))
    bound = scoring.bind(call.q, call.k)
    nearest, smallest = candidates[0], math.inf
    for candidate in candidates:
        bound = replace(bound, scoring=replace(scoring, arithmetic=candidate))
        distance = _distance(bound, call.grid, block)
        if distance == 0 and call.q.shape[2] == 1:
            return Matched(candidate, "call", True)  # all there is to compare
        reach = _reach(bound, call.grid) if distance == 0 else None
        if reach is not None:
            return Matched(candidate, reach, True)
        if distance < smallest:
            nearest, smallest = candidate, distance
    return Matched(nearest, "head", False)


def _candidates(call: Call) -> Iterator[Arithmetic]:
    """The steps that model families take, the commonest first."""
    product = call.autocast or call.q.dtype
    cast = call.q.dtype if call.grid is None else call.grid.dtype
    for softmax, subtract_max in (
        (torch.float32, False),
        (product, False),
        (product, True),
        (torch.float32, True),
    ):
        for products, scores in dict.fromkeys(
            ((product, product), (product, torch.float32), (torch.float32, torch.float32))
        ):
            for scale_q in (False, True):
                yield Arithmetic(
                    products=products, scores=scores, softmax=softmax, weights=cast,
                    subtract_max=subtract_max, scale_q=scale_q, dropout=call.dropout,
                )  # fmt: skip


def _distance(bound: Bound, grid: Tensor, rows: slice) -> float:
    """The largest difference in a block of rows, those that see no key left out; 0 is bit-equal."""
    ours = replay(bound, rows)
    theirs = _comparable(bound, grid[:, :, rows], rows)
    return float((ours.double() - theirs.double()).abs().max()) if ours.numel() else 0.0


def _reach(bound: Bound, grid: Tensor) -> Reach | None:
    """How much has to be computed together for every row of every head to be bit-equal; None where nothing
    suffices.
    """
    blocks = list(row_blocks(bound.shape.tq))
    if all(_heads_equal(bound, _comparable(bound, grid[:, :, rows], rows), rows) for rows in blocks):
        return "head"
    if all(torch.equal(replay(bound, rows), _comparable(bound, grid[:, :, rows], rows)) for rows in blocks):
        return "call"
    return None


def _heads_equal(bound: Bound, theirs: Tensor, rows: slice) -> bool:
    for batch in range(bound.shape.b):
        for head in range(bound.shape.h):
            ours = replay(bound, rows, reach="head", head=head, batch=batch)[0, 0]
            if not torch.equal(ours, theirs[batch, head]):
                return False
    return True


def _comparable(bound: Bound, grid: Tensor, rows: slice) -> Tensor:
    """The model's rows with 0 where a row sees no key: there the model's numbers mean nothing."""
    seen = bound.visible.tile(rows, slice(0, bound.shape.tk)).any(dim=-1, keepdim=True)
    return grid.masked_fill(~seen, 0)
