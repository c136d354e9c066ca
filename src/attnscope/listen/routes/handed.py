"""What an attention function of transformers was handed by name, and what it gave back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from attnscope.listen.call import CannotShowError
from attnscope.listen.routes.ours import Asked
from attnscope.listen.routes.sdpa import Heard, plain_tensor


@dataclass(frozen=True, eq=False)
class Handed:
    """One call of an attention function. implementation: its name.   given: arguments by name.

    result: what it returned.   heard: calls of the fused kernel, or of attention(), inside.   cast: the
    dtype of autocast, or None.
    """

    implementation: str
    module: nn.Module
    given: dict[str, Any] = field(repr=False)
    result: Any = field(repr=False)
    heard: list[Heard | Asked] = field(repr=False)
    cast: torch.dtype | None

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """q (b h tq d), k (b hk tk d), v (b hk tk dv). Raises CannotShowError for anything else."""
        found = []
        for name in ("query", "key", "value"):
            tensor = self.given.get(name)
            if not isinstance(tensor, Tensor) or tensor.dim() != 4:
                raise CannotShowError(
                    f'its "{self.implementation}" attention hands over no (batch, heads, positions, width)'
                )
            found.append(plain_tensor(name, tensor))
        q, k, v = found
        return q, k, v

    @property
    def grid(self) -> Tensor | None:
        """The weights that it returned beside its output, where it did."""
        beside = self.result[1] if isinstance(self.result, tuple) and len(self.result) > 1 else None
        return beside if isinstance(beside, Tensor) else None

    @property
    def scale(self) -> float:
        """scaling, 1 / sqrt(d) where none was given. Raises CannotShowError for more than one number."""
        scale = self.given.get("scaling")
        if isinstance(scale, Tensor) and scale.numel() != 1:
            raise CannotShowError(f"its scaling is {tuple(scale.shape)}, and one number was looked for")
        return float(self.given["query"].shape[-1] ** -0.5 if scale is None else scale)

    @property
    def mask(self) -> Any:
        """attention_mask: a tensor, a rule, or None. Raises CannotShowError for several."""
        mask = self.given.get("attention_mask")
        if isinstance(mask, tuple | list | dict):
            raise CannotShowError(f"it was handed {len(mask)} masks as a {type(mask).__name__}, not one")
        return mask

    @property
    def dropout(self) -> float:
        """The probability of a dropped weight; none in evaluation."""
        return float(self.given.get("dropout") or 0.0) if self.module.training else 0.0

    @property
    def sinks(self) -> Tensor | None:
        """The logits of learned sinks, (h,)."""
        sinks: Tensor | None = self.given.get("s_aux")
        return None if sinks is None else sinks.reshape(-1)

    @property
    def causal(self) -> bool:
        """is_causal as it was given, else as the module has it, else True."""
        causal = self.given.get("is_causal")
        return bool(getattr(self.module, "is_causal", True) if causal is None else causal)

    def out(self, q: Tensor, v: Tensor) -> Tensor:
        """Its output (b tq h dv) as (b h tq dv). Raises CannotShowError where it does not fit."""
        out = self.result[0] if isinstance(self.result, tuple) else self.result
        b, h, tq, _ = q.shape
        if not isinstance(out, Tensor) or out.shape != (b, tq, h, v.shape[-1]):
            came = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
            raise CannotShowError(f"its output is {came}, and ({b}, {tq}, {h}, {v.shape[-1]}) was looked for")
        return out.transpose(1, 2)
