"""A width seen as heads, and back: (b t h*d) is (b h t d) without a number changed."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from attnscope.errors import ShapeError


def split_heads(x: Float[Tensor, "b t c"], n_heads: int) -> Float[Tensor, "b h t d"]:
    """(b t c) seen as n_heads heads of c / n_heads numbers, (b h t d); no copy is made."""
    return x.view(*x.shape[:-1], n_heads, -1).transpose(1, 2)


def join_heads(x: Float[Tensor, "b h t d"]) -> Float[Tensor, "b t c"]:
    """The heads (b h t d) side by side again, (b t h*d)."""
    return x.transpose(1, 2).flatten(-2)


def project_heads(x: Float[Tensor, "b h t d"], output: nn.Linear) -> Float[Tensor, "b h t c"]:
    """What each head adds to the stream: its numbers through its own columns of `output`, (b h t d_model).

    The heads' parts and the bias together are output(join_heads(x)).
    """
    columns = output.weight.view(-1, x.shape[1], x.shape[3]).permute(1, 2, 0)  # (h d c)
    parts: Tensor = x @ columns
    return parts


def check_heads(d_model: int, n_heads: int) -> int:
    """The width of one head; raises ShapeError where d_model is not n_heads equal parts."""
    if n_heads < 1 or d_model < 1 or d_model % n_heads:
        raise ShapeError(
            f"d_model={d_model} and n_heads={n_heads}",
            wanted="A width that is n_heads equal parts, both 1 or more",
            hint="d_head = d_model / n_heads; (64, 4) gives 4 heads of 16",
        )
    return d_model // n_heads


def check_input(name: str, x: Tensor, width: int) -> None:
    """Raise ShapeError unless x is (b t width)."""
    if x.dim() != 3 or x.shape[-1] != width:
        raise ShapeError(
            f"{name} is {tuple(x.shape)}",
            wanted=f"(batch, tokens, {width})",
            hint="A single sequence is a batch of one: x[None]" if x.dim() == 2 else "",
        )
