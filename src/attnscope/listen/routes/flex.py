"""flex_attention: its mask and its score function are programs, read by asking them at every position.

Heard in any code as the operator that torch's flex_attention ends in; Hugging Face models hand their cap,
their bias and their BlockMask over by name, compiled or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from attnscope.listen.call import Call, CannotShowError
from attnscope.listen.ears import taps
from attnscope.listen.frames import Frame, here
from attnscope.listen.quiet import as_autocast
from attnscope.listen.reading import Reading, read_rule, rows_joined
from attnscope.listen.routes.handed import Handed
from attnscope.listen.routes.sdpa import plain_tensor

NAME = "flex_attention"

LARGEST = 2**24
"""Numbers of a bias that are held: past this a score function is not read."""

AT_ONCE = 2**18
"""Cells at which a score function is asked together: each question takes some 16 numbers a cell."""

PROBES = (-40.0, -3.0, -0.7, 0.3, 1.5, 20.0)
"""Scores at which a score function is asked what it makes of them."""

Mod = Callable[..., Tensor]


def call(handed: Handed, frame: Frame) -> Call:
    """The call of a Hugging Face model. Raises CannotShowError."""
    given = handed.given
    q, k, v = (as_autocast(x, handed.cast) for x in handed.tensors)
    mask = handed.mask
    readings: tuple[Reading, ...] = ()
    if isinstance(mask, BlockMask):
        readings = (_blocks(mask.mask_mod, mask.shape[0], mask.shape[1], q, k, frame),)
        mask = None
    elif isinstance(mask, Tensor) and mask.dtype == torch.bool:
        mask = mask.to(q.dtype)  # it is added to the scores, as 1 and 0
    return Call(
        handed.module, f"huggingface/{NAME}", q, k, v, handed.out(q, v), handed.scale, mask=mask,
        added=given.get("position_bias"), softcap=given.get("softcap"), sinks=handed.sinks,
        autocast=handed.cast, readings=readings,
    )  # fmt: skip


@taps(torch.ops.higher_order.flex_attention)
def tap(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the operator, and gives the call to the session unless a route is inside a call of its own."""
    result = inner(*args, **kwargs)
    frame = here.top
    if frame is not None and here.inside is None:
        frame.session.take(frame, lambda: _plain(frame, args, result[0]))
    return result


def _plain(frame: Frame, args: tuple[Any, ...], out: Tensor) -> Call:
    """The call of any other code. args: q, k, v, score_mod, block_mask, scale, options, and what the two
    functions captured.
    """
    q, k, v = (plain_tensor(name, x) for name, x in zip(("query", "key", "value"), args[:3], strict=True))
    score_mod, block_mask, scale = args[3:6]
    score_more, mask_more = args[7:9]
    b = q.shape[0]
    k, v = (x.expand(b, -1, -1, -1) for x in (k, v))
    blocks = block_mask[2].shape if isinstance(block_mask[2], Tensor) else (1, 1)  # kv_num_blocks (b h n)
    reading = _blocks(_with(block_mask[-1], mask_more), blocks[0], blocks[1], q, k, frame)
    cap, bias = _scores(_with(score_mod, score_more), q, k)
    return Call(frame.module, NAME, q, k, v, out, float(scale), added=bias, softcap=cap, readings=(reading,))


def _with(mod: Mod, captured: tuple[Any, ...]) -> Mod:
    """The function with what it captured, where torch has taken that out of it."""
    return (lambda *places: mod(*places, *captured)) if captured else mod


def _blocks(mod: Mod, b: int, h: int, q: Tensor, k: Tensor, frame: Frame) -> Reading:
    """What a mask function lets be seen, asked in blocks of rows, once for each function and size."""
    tq, tk = q.shape[2], k.shape[2]

    def rows(cut: slice) -> Tensor:
        places = _places(b, h, torch.arange(cut.start, cut.stop), tk, q.device)
        return _everywhere(mod, *places).bool()

    return frame.log.reader.once(mod, (b, h, tq, tk), lambda: read_rule(rows, b * h, tq, tk))


def _places(b: int, h: int, rows: Tensor, tk: int, device: torch.device) -> tuple[Tensor, ...]:
    return (
        torch.arange(b, device=device), torch.arange(h, device=device), rows.to(device),
        torch.arange(tk, device=device),
    )  # fmt: skip


def _everywhere(mod: Mod, *places: Tensor) -> Tensor:
    """mod(b, h, i, j) over all places, (b h i j); it is written for single numbers."""
    for axis in (3, 2, 1, 0):
        mod = torch.vmap(mod, in_dims=tuple(0 if i == axis else None for i in range(4)))
    return mod(*places)


def _scores(mod: Mod, q: Tensor, k: Tensor) -> tuple[float | None, Tensor | None]:
    """(cap, bias) of a score function that caps a score, adds to it, or both; asked some rows at a time.

    bias: (b|1 h|1 tq tk), None where it adds nothing. Raises CannotShowError.
    """
    (b, h, tq, _), tk = q.shape, k.shape[2]
    step = max(1, AT_ONCE // max(1, b * h * tk))
    added: list[Tensor] = []
    caps: list[float | None] = []
    held = 0
    for i in range(0, tq, step):
        bias, found = _asked(mod, _places(b, h, torch.arange(i, min(i + step, tq)), tk, q.device))
        for axis in (0, 1):
            first = bias.narrow(axis, 0, 1)
            bias = first if bool((bias == first).all()) else bias
        added.append(bias)
        caps += found
        held += bias.numel()
        if held > LARGEST:
            raise CannotShowError(
                f"its score function adds another number in each of more than {LARGEST:,} cells"
            )
    capped = [cap for cap in caps if cap is not None]
    if capped and (len(capped) < len(caps) or not math.isclose(min(capped), max(capped), rel_tol=1e-5)):
        raise CannotShowError("its score function does not cap all scores alike")
    return max(capped, default=None), rows_joined(added) if any(
        bool((bias != 0).any()) for bias in added
    ) else None


def _asked(mod: Mod, places: tuple[Tensor, ...]) -> tuple[Tensor, list[float | None]]:
    """What a score function adds at some places, (b h r tk), and its cap, where any of them counts."""

    def at(score: float) -> Tensor:
        value = torch.tensor(score, device=places[0].device)
        return _everywhere(lambda *where: mod(value, *where), *places).float()

    bias = at(0.0)
    seen = bias > -torch.inf
    if not bool(seen.any()):
        return bias, []
    answers = ((score, (at(score) - bias)[seen]) for score in PROBES)
    return bias, [_cap(list(answers), float((at(1e7) - bias)[seen].max()))]


def _cap(answers: list[tuple[float, Tensor]], largest: float) -> float | None:
    """c where every answer is c * tanh(score / c); None where every answer is the score itself."""
    for cap in (None, largest):
        if all(
            bool(torch.isclose(got, _capped(x, cap, got), rtol=1e-5, atol=1e-5).all()) for x, got in answers
        ):
            return cap
    raise CannotShowError("its score function does more to a score than cap it and add to it")


def _capped(score: float, cap: float | None, like: Tensor) -> Tensor:
    value = torch.full_like(like, score)
    return value if cap is None else cap * torch.tanh(value / cap)
