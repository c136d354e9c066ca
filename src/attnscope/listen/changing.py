"""A session that changes what attention calls give: the model goes on with a copy of each call's output, and
whoever asked may write into that copy. What nobody writes into is the kernel's own, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from attnscope.listen.call import Call, CannotShowError
from attnscope.listen.frames import Frame
from attnscope.listen.quiet import quiet
from attnscope.listen.session import Session
from attnscope.listen.summed import Summed
from attnscope.listen.wanted import Wanted
from attnscope.recording import Recording

Write = tuple[tuple[Any, ...], Tensor | float]
"""Where in an output (b h tq dv), and what goes there."""

Change = Callable[[Call, str, int], Iterable[Write]]
"""change(call, name of its module, how many of its calls came before in this forward): what is written."""

OWN_CODE = (
    "its attention is in code of its own, of which the softmax alone is heard: what it mixes cannot be "
    "changed from outside. Where that code calls F.scaled_dot_product_attention or attnscope.attention "
    'instead, or a Hugging Face model that knows them is loaded with attn_implementation="sdpa" or "eager", '
    "it can be"
)
FUSED = (
    "its attention is inside one fused step of torch's, which gives its output away projected. After "
    "torch.backends.mha.set_fastpath_enabled(False) torch takes it step by step, and it can be changed"
)


class Changing(Session):
    """Changes the calls of one model, and records nothing. What `change` raises ends the model's forward.

    calls: the calls that can be changed, in order.   why_not: modules of which none can, with the reason.
    """

    def __init__(self, model: nn.Module, change: Change) -> None:
        super().__init__(model, Recording(), Wanted())
        self.calls: list[tuple[str, int]] = []
        self.why_not: dict[str, str] = {}
        self._change = change
        self._copies: dict[Frame, Tensor] = {}

    def handed_on(self, frame: Frame, result: Any) -> Any:
        """A copy of the output, that lies in memory as it did."""
        out, *beside = result if isinstance(result, tuple) else (result,)
        if not isinstance(out, Tensor) or out.is_nested:
            return result
        copy = out.clone()
        self._copies[frame] = copy
        return (copy, *beside) if isinstance(result, tuple) else copy

    def take(self, frame: Frame, make: Callable[[], Call | Summed]) -> None:
        """A route heard a call: what `change` says of it is written into the copy."""
        copy = self._copies.pop(frame, None)
        if not self.own_process or frame.log.ended:
            return
        try:
            with quiet():
                call = make()
                writes = self._writes(frame, call, copy)
        except CannotShowError as reason:
            self.not_shown(frame, str(reason))
            return
        with torch._C.DisableTorchFunction(), torch.no_grad():  # in the mode in which the copy was made
            for where, values in writes:
                call.out[where] = values  # type: ignore[union-attr]

    def not_shown(self, frame: Frame, reason: str) -> None:
        """A call that cannot be changed."""
        self.why_not.setdefault(frame.name, reason)

    def _writes(self, frame: Frame, call: Call | Summed, copy: Tensor | None) -> list[Write]:
        if isinstance(call, Summed):
            raise CannotShowError(OWN_CODE)
        if copy is None or call.out.untyped_storage().data_ptr() != copy.untyped_storage().data_ptr():
            raise CannotShowError(FUSED)
        name, log = self.parts.name_of(call.module, frame.name), frame.log
        with log.guard:
            order = log.calls[name]
            log.calls[name] += 1
        self.calls.append((name, order))
        log.heard[name] = None
        with quiet(call.q.device):
            return list(self._change(call, name, order))
