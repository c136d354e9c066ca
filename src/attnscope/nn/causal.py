"""The lesson's module: causal self-attention with one linear layer for q, k and v together."""

from __future__ import annotations

from dataclasses import replace

from jaxtyping import Float
from torch import Tensor, nn

from attnscope.core.attention import attention
from attnscope.core.dense import Steps, steps
from attnscope.core.masks import causal
from attnscope.core.scoring import Scoring
from attnscope.nn.cache import KeyValueCache
from attnscope.nn.heads import check_heads, check_input, join_heads, split_heads
from attnscope.shapes import Key, Query, Value

CAUSAL = Scoring(causal())


class CausalSelfAttention(nn.Module):
    """x (b t d_model) -> (b t d_model), where position i mixes the values of positions 0 .. i.

    >>> module = CausalSelfAttention(d_model=64, n_heads=4)
    >>> sum(p.numel() for p in module.parameters())      # 64 x 192 + 192, and 64 x 64 + 64
    16640
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        self.d_model, self.n_heads = d_model, n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(
        self, x: Float[Tensor, "b t c"], *, cache: KeyValueCache | None = None
    ) -> Float[Tensor, "b t c"]:
        """The projected output, (b t d_model). With a cache, x holds the tokens after those it holds."""
        first = 0 if cache is None else cache.length
        q, k, v = self.project(x)
        if cache is not None:
            k, v = cache.extend(k, v)
        out: Tensor = self.out(join_heads(attention(q, k, v, replace(CAUSAL, offset=first))))
        return out

    def project(self, x: Float[Tensor, "b t c"]) -> tuple[Query, Key, Value]:
        """q, k and v of every head, (b h t d) each. Raises ShapeError where x is not (b t d_model)."""
        check_input("x", x, self.d_model)
        q, k, v = (split_heads(part, self.n_heads) for part in self.qkv(x).chunk(3, dim=-1))
        return q, k, v

    def steps(self, x: Float[Tensor, "b t c"]) -> Steps:
        """Every step between q.k and the heads' out, on the whole grid: weights are (b h t t).

        Its `out` is (b h t d), before the heads are joined and projected. Memory O(t^2): for looking.
        """
        return steps(*self.project(x), CAUSAL)
