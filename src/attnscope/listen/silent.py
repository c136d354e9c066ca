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
        (r"^(RNN|LSTM|GRU)(Cell)?$", "a recurrent layer"),
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

    Parts of an attention module that was heard are not looked for; parts of a heard model, or layer, are.
    foreign: modules whose softmax was no grid of attention, each with its reason.
    """
    heard = set(heard)
    mixing = {name for name in entered if _what(entered[name]) is not None or name in (foreign or {})}
    holding = heard | {above for name in heard for above in _above(name)}
    attention = {name for name in heard if name not in entered or _what(entered[name]) is not None}
    unheard = [name for name in entered if name not in holding and attention.isdisjoint(_above(name))]
    layers = _blocks(heard.union(mixing.intersection(unheard)))
    quiet = [name for name in unheard if name in mixing or _layer(name, layers)]
    outer = {above for name in quiet for above in _above(name)}
    return [
        NotShown(_number(name, entered, layers), name, (foreign or {}).get(name) or reason(entered[name]))
        for name in quiet
        if name not in outer
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


def within(name: str, other: str) -> bool:
    """Whether a module lies within another one."""
    return other in _above(name)


def _above(name: str) -> list[str]:
    """The modules that hold this one, outermost first, which is the model: "", "model", "model.layers" ..."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(len(parts))] if name else []


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
