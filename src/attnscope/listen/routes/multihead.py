"""torch's own multi-head attention: nn.MultiheadAttention and the transformer layers made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.nn import functional as F

from attnscope.listen.ears import taps
from attnscope.listen.frames import here

FUSED = "torch's own multi-head attention keeps its weights inside one fused step, which is not opened yet"

FUSED_MODULES = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)
"""They leave their fused path where a function mode is on, and padded rows then differ: the mode is put
aside there.
"""


@taps(F.multi_head_attention_forward)
def tap(inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function; the attention inside is said not to be shown."""
    result = inner(*args, **kwargs)
    if here.top is not None:
        here.top.session.not_shown(here.top, FUSED)
    return result
