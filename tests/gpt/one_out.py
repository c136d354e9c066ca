"""One head, or weights of a row, taken out of our model in the plain way: all of it is run again."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnscope.core.without import Way
from attnscope.gpt import GPT
from attnscope.gpt.without import Change, changed, row_without


@dataclass(frozen=True)
class Knockout:
    """What is taken out of a head: some keys of row `query`, in one `way`, or with keys None its output
    everywhere.
    """

    layer: int
    head: int
    keys: tuple[int, ...] | None = None
    query: int = -1
    way: Way = "renormalise"


@torch.no_grad()
def knocked_out(model: GPT, ids: Tensor, out: Knockout) -> Tensor:
    """Logits (1 t vocabulary) of ids (1 t) without what `out` names."""
    query = out.query % ids.shape[1]
    if out.keys is None:
        change = _silent(out.head)
    elif not out.keys:
        change = _unchanged
    else:
        hidden = torch.zeros(1, query + 1, dtype=torch.bool)
        hidden[0, list(out.keys)] = True
        q, k, v = model.blocks[out.layer].project(model.streams(ids)[out.layer])
        row = row_without(q[:, :, query, None], k[:, :, : query + 1], v[:, :, : query + 1], hidden, out.way)
        change = _with_row(out.head, query, row[:, out.head, 0])
    with changed(model, out.layer, change):
        logits: Tensor = model(ids)
        return logits


def _unchanged(outs: Tensor) -> Tensor:
    return outs


def _silent(head: int) -> Change:
    def change(outs: Tensor) -> Tensor:
        outs = outs.clone()
        outs[:, head] = 0.0
        return outs

    return change


def _with_row(head: int, query: int, row: Tensor) -> Change:
    def change(outs: Tensor) -> Tensor:
        outs = outs.clone()
        outs[:, head, query] = row
        return outs

    return change
