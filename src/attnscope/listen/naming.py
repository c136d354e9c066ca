"""What a call is called: its layer's number, whether it is self or cross attention, and in which stack it
stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

from torch import nn

from attnscope.listen.call import Place
from attnscope.listen.frames import here

CROSS = re.compile(
    r"encoder_?attn|enc(oder)?_?dec(oder)?_?att|cross_?att|(^|_)x_att|_token_to_image$|_image_to_token$",
    re.IGNORECASE,
)
SELF = re.compile(r"self_?att", re.IGNORECASE)
NUMBERS = ("layer_idx", "layer_index", "layer_id", "layer_number")


class Labelled(Protocol):
    """What a label is made of; `causal`: row i sees keys 0 .. i."""

    @property
    def module(self) -> nn.Module:
        """The module that made the call."""

    @property
    def causal(self) -> bool:
        """Whether the call itself said so."""

    @property
    def place(self) -> Place:
        """What the route knows of where it stands."""


@dataclass(frozen=True)
class Label:
    """kind: "self" or "cross".   stack: "decoder" or "encoder".   number: the model's own number of the
    layer.
    """

    kind: str
    stack: str
    number: int | None


def label(name: str, call: Labelled, *, looks_back_only: bool) -> Label:
    """The label of a call made by the module `name`; `looks_back_only`: no row sees a key after its own."""
    kind, place = kind_of(name, call), call.place
    number = own_number(call.module) if place.number is None else place.number
    return Label(kind, place.stack or _stack(name, kind, call, looks_back_only), number)


def kind_of(name: str, call: Labelled) -> str:
    """self or cross: what the route says, else the module's flag or name."""
    return call.place.kind or ("cross" if is_cross(name, call.module) else "self")


def own_number(module: nn.Module) -> int | None:
    """The layer number that a module carries, or None (vision models and Whisper's encoder carry none)."""
    for name in NUMBERS:
        number = getattr(module, name, None)
        if isinstance(number, int) and not isinstance(number, bool):
            return number
    return None


def is_cross(name: str, module: nn.Module) -> bool:
    """Whether a module's queries and keys come from different sequences, as its flag or its name says: of
    "cross_attn_layers.3.self_attn" the nearest word. Its class, and that of the module that holds it, speak
    for cross alone: BERT's cross attention was a BertSelfAttention once.
    """
    flag = getattr(module, "is_cross_attention", None)
    if isinstance(flag, bool):
        return flag
    above = name.rpartition(".")[0]
    holders = [type(frame.module).__name__ for frame in here.frames if above and frame.name == above]
    kinds = [type(module).__name__, *holders[:1]]
    for word, kind in zip_longest(reversed(name.split(".")), kinds, fillvalue=""):
        if CROSS.search(word) or CROSS.search(kind):
            return True
        if SELF.search(word):
            return False
    return False


def _stack(name: str, kind: str, call: Labelled, looks_back_only: bool) -> str:
    if kind == "cross":
        return "decoder"
    parts = name.split(".")
    for part in reversed(parts):
        if part in ("decoder", "encoder"):
            return part
    # Neither word: a decoder is what does not look ahead.
    is_causal = getattr(call.module, "is_causal", None) is True
    return "decoder" if call.causal or is_causal or looks_back_only else "encoder"
