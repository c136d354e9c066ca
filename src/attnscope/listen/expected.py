"""How much a recording will take on disk: from the model's config before it runs, and from the first site of
a run while it runs.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from attnscope.listen.naming import own_number
from attnscope.listen.silent import LOOKS_LIKE_ATTENTION, without_softmax
from attnscope.listen.wanted import KEEPS, Wanted
from attnscope.recording.footprint import Extent, bytes_of_site
from attnscope.recording.recording import Tokens
from attnscope.recording.room import free_at, need, size
from attnscope.recording.site import Site
from attnscope.recording.writing import Partial


def expected_bytes(model: nn.Module, batch: int, tokens: int, wanted: Wanted) -> int | None:
    """About how many bytes a forward over so many tokens takes when it is recorded, from the sizes in the
    model's config; None where they do not say it (an encoder beside a decoder, a config of other names).

    Counted is what comes from a kernel or an eager function: of layers that let their scores alone be heard,
    and of rows that see keys in several spans, it is not known beforehand.
    """
    config: Any = getattr(model, "config", None)
    if hasattr(config, "get_text_config"):
        config = config.get_text_config()
    layers = _number(config, "num_hidden_layers", "n_layers")
    heads = _number(config, "num_attention_heads", "n_heads")
    width = _number(config, "hidden_size", "d_model")
    if not (layers and heads and width) or getattr(config, "is_encoder_decoder", False):
        return None
    if isinstance(wanted.heads, Mapping):
        return None
    d = _number(config, "qk_head_dim", "head_dim") or width // heads
    key_heads = _key_heads(config) or heads
    if _number(config, "num_hidden_groups") is None:  # of ALBERT, whose layers share their modules
        layers = min(layers, sum(map(_mixes, _innermost(model))) or layers)
    if wanted.layers is not None:
        layers = min(layers, len(wanted.layers))
    if wanted.heads is not None:
        heads = key_heads = len(wanted.heads)
    dv = _number(config, "v_head_dim") or d
    item = next((parameter.dtype.itemsize for parameter in model.parameters()), 4)
    extent = Extent(batch, heads, key_heads, tokens, tokens, d, dv, item)
    return layers * bytes_of_site(extent, KEEPS[wanted.keep])


def check_room(path: Path, model: nn.Module, tokens: Tokens | None, wanted: Wanted) -> None:
    """Refuse a place that cannot hold what these tokens will take, where that is known. Raises NoRoom."""
    if not tokens:
        return
    batch, length = (1, len(tokens)) if isinstance(tokens[0], str) else (len(tokens), len(tokens[0]))
    about = expected_bytes(model, batch, length, wanted)
    if about is not None:
        need(path, about)


@dataclass(eq=False)
class Keeping:
    """Writes the sites of one forward as they come. names: the model's modules.   name(site): of its file.

    The first site of its kind says what its fellows in the other layers will take: where the disk cannot hold
    them it raises OSError, and from then on nothing is written.
    """

    partial: Partial
    names: Mapping[str, nn.Module] = field(repr=False)
    wanted: Wanted
    name: Callable[[Site], str]
    _kinds: set[str] = field(default_factory=set)
    _fault: OSError | None = None

    def __call__(self, site: Site) -> Site:
        """The site, whose tensors lie in its file. Raises OSError."""
        if self._fault is not None:
            raise self._fault
        try:
            kept = self.partial.keep(site, self.name(site))
            kind = _kind(site.name)
            if kind not in self._kinds:
                self._kinds.add(kind)
                self._check(kept, kind)
        except OSError as fault:
            self._fault = fault
            raise
        return kept

    def _check(self, site: Site, kind: str) -> None:
        fellows = self._fellows(site, kind)
        about = fellows * (self.partial.home.path / self.name(site)).stat().st_size
        free = free_at(self.partial.path)
        if about > free:
            raise OSError(
                errno.ENOSPC,
                f"the other {fellows} layers take about {size(about)}, and the disk has {size(free)} left",
                str(self.partial.path),
            )

    def _fellows(self, site: Site, kind: str) -> int:
        """How many modules of the same class stand in other layers and are to be kept."""
        own, wanted = self.names.get(site.name), self.wanted
        fellows = [
            module for name, module in self.names.items() if type(module) is type(own) and _kind(name) == kind
        ]
        if isinstance(wanted.heads, Mapping):
            return 0
        if wanted.layers is not None:
            fellows = [one for one in fellows if own_number(one) in wanted.layers]
        return max(len(fellows) - 1, 0)


def _kind(name: str) -> str:
    """The name without its numbers: "layers.#.self_attn"."""
    return re.sub(r"\d+", "#", name)


def _number(config: Any, *names: str) -> int | None:
    """The first of these fields that is a whole number."""
    found = (getattr(config, name, None) for name in names)
    return next((one for one in found if isinstance(one, int) and not isinstance(one, bool)), None)


def _key_heads(config: Any) -> int | None:
    """The heads of keys and values, where the config says that they are others than those of queries."""
    if getattr(config, "multi_query", False) and not getattr(config, "new_decoder_architecture", False):
        return 1
    return _number(config, "num_key_value_heads", "num_kv_heads")


def _innermost(model: nn.Module) -> list[nn.Module]:
    """The modules whose class is called an attention or a mixer and that hold no other such."""
    named = [module for module in model.modules() if LOOKS_LIKE_ATTENTION.search(type(module).__name__)]
    return [
        module
        for module in named
        if not any(part is not module and part in set(named) for part in module.modules())
    ]


def _mixes(module: nn.Module) -> bool:
    return without_softmax(module) is None
