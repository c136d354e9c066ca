"""Layers of which nothing was heard: attention modules that ran without a call, and layers between those
that made one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch import nn

from attnscope.listen.naming import own_number
from attnscope.recording import NotShown

LOOKS_LIKE_ATTENTION = re.compile(
    r"(Attention|Attn|Mixer|Mamba|DeltaNet|Retention|Hyena|SSM|TimeMix)(V?\d+)?$"
)
"""How the classes are named that mix positions, with softmax attention or without."""

NO_CALL = "it made no softmax attention call that could be heard"


def silent(entered: dict[str, nn.Module], heard: Iterable[str]) -> list[NotShown]:
    """What ran and was not heard, in the order in which it ran: the innermost modules that mix positions."""
    heard = set(heard)
    layers = _blocks(heard)
    quiet = [name for name in entered if not _touches(name, heard) and _expected(name, entered[name], layers)]
    innermost = [name for name in quiet if not any(_within(other, name) for other in quiet)]
    return [NotShown(_number(name, entered, layers), name, NO_CALL) for name in innermost]


def _expected(name: str, module: nn.Module, layers: set[str]) -> bool:
    container, _, last = name.rpartition(".")
    return bool(LOOKS_LIKE_ATTENTION.search(type(module).__name__)) or (
        last.isdigit() and container in layers
    )


def _blocks(heard: set[str]) -> set[str]:
    """The containers whose numbered children made calls: "model.layers" for "model.layers.3.self_attn"."""
    found = set()
    for name in heard:
        match = re.match(r"(.*?)\.\d+(\.|$)", name)
        if match:
            found.add(match.group(1))
    return found


def _touches(name: str, heard: set[str]) -> bool:
    """Whether a heard module is this one, lies within it, or holds it."""
    return any(name == other or _within(other, name) or _within(name, other) for other in heard)


def _within(name: str, other: str) -> bool:
    return name != other and (other == "" or name.startswith(f"{other}."))


def _number(name: str, entered: dict[str, nn.Module], layers: set[str]) -> int | None:
    """The layer's own number: its module's, or its place in the container."""
    own = own_number(entered[name])
    if own is not None:
        return own
    for container in layers:
        match = re.match(rf"{re.escape(container)}\.(\d+)(\.|$)", name)
        if match:
            return int(match.group(1))
    return None
