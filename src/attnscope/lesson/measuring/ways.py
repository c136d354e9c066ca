"""The ways to one head's output that are measured, and the bytes that each is sure to stay under."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from attnscope.core.masks import full
from attnscope.core.masks import window as sliding
from attnscope.core.scoring import as_scoring
from attnscope.core.tiled import by_tiles
from attnscope.core.walk import TILE_CELLS

FLOAT32 = 4  # bytes
ROOM = 8 * 2**20  # bytes that PyTorch and the allocator may take beside what a way is counted for
_TILES_HELD = 8  # grids of a tile that are alive at once: products, scores, their exponentials, what is mixed


@dataclass(frozen=True)
class Way:
    """run(q, k, v, window) gives the output (1 1 t d); need(t, d) is what it takes past its inputs at most.

    same: whether its output is that of the other ways.
    """

    name: str
    title: str
    run: Callable[[Tensor, Tensor, Tensor, int], Tensor]
    need: Callable[[int, int], int]
    same: bool = True


def dense(q: Tensor, k: Tensor, v: Tensor, window: int = 0) -> Tensor:
    """Return softmax(q @ k^T / sqrt(d)) @ v over one whole grid (t t), turned into weights in place.

    The thriftiest dense way there is: written as one writes the formula, it holds two grids or more.
    """
    grid = (q * q.shape[-1] ** -0.5) @ k.mT
    grid.sub_(grid.amax(dim=-1, keepdim=True)).exp_()
    grid.div_(grid.sum(dim=-1, keepdim=True))
    out: Tensor = grid @ v
    return out


def tiles(q: Tensor, k: Tensor, v: Tensor, window: int = 0) -> Tensor:
    """Return the same over our tiles, the way that `attention` takes where PyTorch's kernel cannot go."""
    return by_tiles(as_scoring(full()).bind(q, k), v)


def sdpa(q: Tensor, k: Tensor, v: Tensor, window: int = 0) -> Tensor:
    """Return the same by PyTorch's tiled kernel alone; where it is missing this fails, before any grid."""
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
        return scaled_dot_product_attention(q, k, v)


def windowed(q: Tensor, k: Tensor, v: Tensor, window: int) -> Tensor:
    """Return the output of a causal window of that many keys, over the tiles that it touches."""
    return by_tiles(as_scoring(sliding(window - 1)).bind(q, k), v)


def inputs_bytes(tokens: int, d: int) -> int:
    """Return the bytes of q, k and v."""
    return 3 * FLOAT32 * tokens * d


def _rows(tokens: int, d: int) -> int:
    """Twice the output, as parts and joined, and twice two numbers a row."""
    return FLOAT32 * tokens * (2 * d + 4)


def _need_dense(tokens: int, d: int) -> int:
    return FLOAT32 * tokens * tokens + _rows(tokens, d) + ROOM


def _need_tiles(tokens: int, d: int) -> int:
    tile = FLOAT32 * min(TILE_CELLS, tokens * tokens)
    return _TILES_HELD * tile + _rows(tokens, d) + ROOM


def _need_sdpa(tokens: int, d: int) -> int:
    return _rows(tokens, d) + ROOM


WAYS = {
    way.name: way
    for way in (
        Way("dense", "whole grid", dense, _need_dense),
        Way("tiles", "our tiles", tiles, _need_tiles),
        Way("sdpa", "PyTorch’s kernel", sdpa, _need_sdpa),
        Way("window", "our tiles, window", windowed, _need_tiles, same=False),
    )
}
