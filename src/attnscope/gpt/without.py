"""What the model says without each head, and without each weight of its last row: every one of them, in turn.

`attnscope.knocking` takes one thing out of any model; here thousands are taken out of ours, many in one run,
which goes on from the layer that is changed. A head is taken out by setting its output to 0 everywhere, a
weight in the ways of core.without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnscope.core.masks import from_tensor
from attnscope.core.scoring import Scoring
from attnscope.core.without import Way, out_without
from attnscope.gpt.model import GPT
from attnscope.nn import KeyValueCache
from attnscope.nn.heads import join_heads, split_heads
from attnscope.shapes import Key, Query, Value

Change = Callable[[Tensor], Tensor]

_COPIED = 2**21  # numbers of 8 bytes


@torch.no_grad()
def every_head(model: GPT, ids: Float[Tensor, "1 t"]) -> Float[Tensor, "layers h n"]:
    """Logits after the last of ids (1 t) without each head in turn, (layers h vocabulary)."""
    found, n = [], model.config.n_heads
    for layer, x in enumerate(model.streams(ids)):
        with changed(model, layer, _each_silent):
            found.append(model.after(x.expand(n, -1, -1), layer=layer)[:, -1])
    return torch.stack(found)


@torch.no_grad()
def every_edge(model: GPT, ids: Float[Tensor, "1 t"], *, way: Way) -> Float[Tensor, "layers h t n"]:
    """Logits after the last of ids (1 t) without each weight of its row in turn, (layers h t vocabulary).

    Only the last position is run again: what stands before it sees nothing of the change. So many edges are
    taken out at once as keep the copies of the keys within 16 MB.
    """
    found, t, n = [], ids.shape[1], model.config.n_heads
    streams = model.streams(ids)
    projected = [block.project(x) for block, x in zip(model.blocks, streams, strict=True)]
    at_once = max(1, _COPIED // (n * projected[0][1].numel()))
    for layer, (q, k, v) in enumerate(projected):
        parts = []
        for hidden in torch.split(torch.eye(t, dtype=torch.bool), at_once):
            rows = row_without(q[:, :, -1:], k, v, hidden, way)  # (hidden h 1 d)
            batch = n * len(hidden)
            caches = [_cache(k[:, :, :-1], v[:, :, :-1], batch) for _, k, v in projected]
            x = streams[layer][:, -1:].expand(batch, -1, -1)
            with changed(model, layer, _with_rows(rows)):
                parts.append(model.after(x, layer=layer, caches=caches).view(n, len(hidden), -1))
        found.append(torch.cat(parts, dim=1))
    return torch.stack(found)


def row_without(
    q: Query, k: Key, v: Value, hidden: Bool[Tensor, "n t"], way: Way
) -> Float[Tensor, "n h 1 d"]:
    """The output of one row, q (1 h 1 d) over k and v (1 h t d), without the hidden keys: (n h 1 d)."""
    n = hidden.shape[0]
    q, k, v = (x.expand(n, -1, -1, -1) for x in (q, k, v))
    return out_without(Scoring().bind(q, k), v, from_tensor(~hidden[:, None, None]), way).to(v.dtype)


@contextmanager
def changed(model: GPT, layer: int, change: Change) -> Iterator[None]:
    """Inside, the outputs of that layer's heads (b h t d) go through `change` before they are projected."""
    heads = model.config.n_heads

    def before(_: nn.Module, given: tuple[Tensor]) -> tuple[Tensor]:
        return (join_heads(change(split_heads(given[0], heads))),)

    hook = model.blocks[layer].output.register_forward_pre_hook(before)
    try:
        yield
    finally:
        hook.remove()


def _each_silent(outs: Tensor) -> Tensor:
    """Batch i (of as many as there are heads) without head i."""
    heads = torch.eye(outs.shape[1], dtype=torch.bool, device=outs.device)
    return outs.masked_fill(heads[:, :, None, None], 0.0)


def _with_rows(rows: Tensor) -> Change:
    """Of rows (t h 1 d) without one of t keys each, batch head * t + j gets that of head without key j."""

    def change(outs: Tensor) -> Tensor:
        t, n = rows.shape[:2]
        outs = outs.clone().view(n, t, n, 1, -1)  # (h t h 1 d): which head is changed, which key is hidden
        for head in range(n):
            outs[head, :, head] = rows[:, head]
        return outs.flatten(0, 1)

    return change


def _cache(keys: Tensor, values: Tensor, batch: int) -> KeyValueCache:
    cache = KeyValueCache()
    cache.extend(keys.expand(batch, -1, -1, -1), values.expand(batch, -1, -1, -1))
    return cache
