"""Which engine walks the tiles of a call, and the normalisers that it makes.

Everything that is made of scores and is not the oracle's comes through here or through `walk` itself:
normalisers, certificates and summaries. ATTNSCOPE_ENGINE=torch or =native chooses for a whole process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor

from attnscope.core.mask import Mask
from attnscope.core.native.call import can_take
from attnscope.core.native.engine import Native
from attnscope.core.native.library import Library, library
from attnscope.core.scoring import Bound, Scoring, as_scoring
from attnscope.core.seam import Engine, Pixels, States, Wanted
from attnscope.core.tile import Normaliser
from attnscope.core.tiles import Tiles
from attnscope.errors import EngineError
from attnscope.shapes import Key, Query

__all__ = [
    "Engine", "Name", "Native", "Pixels", "States", "Tiles", "Wanted", "chosen", "engine_of", "native_of",
    "normaliser", "normaliser_of", "one_after_another", "using",
]  # fmt: skip

Name = Literal["torch", "native"]


def engine_of(bound: Bound) -> Engine:
    """The engine for a call: the one place where it is chosen. The native one takes what it can, where it
    was compiled, and the torch engine all else.

    Raises EngineError, as `chosen` does.
    """
    found = chosen()
    return Tiles() if isinstance(found, str) or not can_take(bound) else Native(found)


def native_of(bound: Bound, *more: Tensor) -> Native | None:
    """The native engine where it is there and takes the call, and what else takes part (its v), else None."""
    found = chosen()
    return None if isinstance(found, str) or not can_take(bound, *more) else Native(found)


def chosen() -> Library | str:
    """The library that calls go to where it can take them, or why all go to the torch engine, in a sentence.

    Raises EngineError where ATTNSCOPE_ENGINE names no engine, or asks for a library that is not there.
    """
    asked, found = os.environ.get("ATTNSCOPE_ENGINE", ""), library()
    if asked not in ("", "torch", "native"):
        raise EngineError(f"ATTNSCOPE_ENGINE={asked!r:.40}", wanted="torch or native, or nothing")
    if asked == "native" and not isinstance(found, Library):
        raise EngineError(
            f"ATTNSCOPE_ENGINE=native, and {found}",
            wanted="The compiled library",
            hint="python native/compile.py in a checkout says what is missing; ATTNSCOPE_ENGINE=torch does "
            "without",
        )
    return "ATTNSCOPE_ENGINE is torch" if asked == "torch" else found


@contextmanager
def using(name: Name, *, isa: str = "") -> Iterator[None]:
    """The whole process on one engine, and one instruction set of it, for the length of the block: so that
    tests hold both to the same.
    """
    asked = {"ATTNSCOPE_ENGINE": name, "ATTNSCOPE_ISA": isa}
    before = {key: os.environ.get(key) for key in asked}
    os.environ.update(asked)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


def normaliser(
    q: Query, k: Key, scoring: Scoring | Mask | None = None, rows: slice | None = None
) -> Normaliser:
    """The normaliser of every row, (b h r) each, by tiles: memory O(T), never the grid.

    rows: a slice of absolute rows, None for all. Raises ShapeError, DtypeError, MaskError or ScoringError.
    """
    return normaliser_of(as_scoring(scoring).bind(q, k), rows=rows)


def normaliser_of(bound: Bound, *, rows: slice | None = None) -> Normaliser:
    """The normaliser of a scoring already bound: (b h r) each, memory O(T)."""
    engine = engine_of(bound)
    return one_after_another(bound, [engine.normaliser(bound, block) for block in engine.blocks(bound, rows)])


def one_after_another(bound: Bound, parts: Iterable[Normaliser]) -> Normaliser:
    """The normalisers of blocks of rows, in order, as one."""
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    none = bound.q.new_zeros(bound.shape.b, bound.shape.h, 0, dtype=bound.dtype)
    both = [(none, none), *((part.peak, part.logsum) for part in parts)]
    peak, logsum = (torch.cat(one, dim=-1) for one in zip(*both, strict=True))
    return Normaliser(peak, logsum)
