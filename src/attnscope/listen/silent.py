"""Layers of which nothing was heard: modules that mix positions without a call, and layers between those that
made one. What has no softmax attention is told from attention that could not be heard.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from torch import nn

from attnscope.listen.naming import own_number
from attnscope.recording import NotShown

LOOKS_LIKE_ATTENTION = re.compile(r"(Attention|Attn|Mixer)(V?\d+)?$")
"""How classes are named that mix positions, with softmax attention or in some other way."""

WITHOUT_SOFTMAX = {
    re.compile(pattern): what
    for pattern, what in (
        (r"(Mamba2?|Bamba|FalconH1|SSM)(Mixer|Layer|Block)?$|^S4D?(Layer|Block)?$", "a state-space layer"),
        (r"(Rwkv|RWKV).*Attention$|TimeMix(ing)?\d*$", "a recurrence over decayed keys and values"),
        (r"Delta(Net|Attention)(V?\d+)?$", "a delta net, which is a linear recurrence"),
        (r"(Linear|Lightning)Attention$|Performer(Self)?Attention$", "linear attention"),
        (r"Retention$", "retention, which is a decayed linear recurrence"),
        (r"(Hyena\w*|ShortConv)$", "a convolution over positions"),
        (r"(RecurrentBlock|Rg_?[Ll]ru|[ms]LSTM(Layer|Block|Cell)?)$", "a recurrent layer"),
        (r"FourierTransform$", "a Fourier transform over positions"),
    )
}
"""What layers are that mix positions without softmax, by the names of their classes."""

UNHEARD = (
    "its attention could not be heard: no call of softmax or of scaled_dot_product_attention was made in it, "
    "so it is written out as exp and sum, or inside a kernel of its own"
)
MIXES = "it mixes positions, and no softmax attention was heard in it"
NO_ATTENTION = "no softmax attention ran in this layer"


def silent(
    entered: dict[str, nn.Module], heard: Iterable[str], foreign: Mapping[str, str] | None = None
) -> list[NotShown]:
    """What ran and was not heard, in the order in which it ran: the innermost modules that mix positions.

    foreign: modules whose softmax was no grid of attention, each with its reason.
    """
    heard = set(heard)
    mixing = [name for name in entered if _what(entered[name]) is not None or name in (foreign or {})]
    layers = _blocks(heard | {name for name in mixing if not _touches(name, heard)})
    quiet = [
        name for name in entered if not _touches(name, heard) and (name in mixing or _layer(name, layers))
    ]
    innermost = [name for name in quiet if not any(_within(other, name) for other in quiet)]
    return [
        NotShown(_number(name, entered, layers), name, (foreign or {}).get(name) or reason(entered[name]))
        for name in innermost
    ]


def reason(module: nn.Module) -> str:
    """Why nothing is shown of a module that ran, from the name of its class."""
    return _what(module) or NO_ATTENTION


def without_softmax(module: nn.Module) -> str | None:
    """What a module is that mixes positions without softmax; None for every other."""
    name = type(module).__name__
    for pattern, what in WITHOUT_SOFTMAX.items():
        if pattern.search(name):
            return f"{name}: {what}, no softmax attention"
    return None


def _what(module: nn.Module) -> str | None:
    found, name = without_softmax(module), type(module).__name__
    if found is not None or not LOOKS_LIKE_ATTENTION.search(name):
        return found
    return MIXES if "Mixer" in name else UNHEARD


def _layer(name: str, layers: set[str]) -> bool:
    """Whether a module is a numbered child of a container of layers."""
    container, _, last = name.rpartition(".")
    return last.isdigit() and container in layers


def _blocks(names: set[str]) -> set[str]:
    """The containers of these modules' layers: "model.layers" for "model.layers.3.self_attn"."""
    found = set()
    for name in names:
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
