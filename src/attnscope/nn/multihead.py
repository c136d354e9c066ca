"""Multi-head attention as real models use it: self or cross, grouped key heads, rotations, a cache."""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnscope.core.attention import attention
from attnscope.core.dense import Steps, steps
from attnscope.core.mask import Mask
from attnscope.core.positions import Pairing, rotate
from attnscope.core.scoring import Scoring, as_scoring
from attnscope.errors import ShapeError
from attnscope.nn.adopt import adopted
from attnscope.nn.cache import KeyValueCache
from attnscope.nn.heads import check_heads, check_input, join_heads, split_heads
from attnscope.shapes import Key, Query, Value


class MultiHeadAttention(nn.Module):
    """x (b tq d_model), and memory (b tk d_key) where given -> (b tq d_model).

    n_heads query heads share key_heads key and value heads in order: query head h uses key head
    h // (n_heads // key_heads). rotary: the pairing by which q and k are turned by their positions ("half" or
    "interleaved"). norm_qk: q and k are divided by their root mean square and multiplied by learned gains
    (Henry et al. 2020), before they are turned.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        key_heads: int | None = None,
        d_key: int | None = None,
        d_value: int | None = None,
        bias: bool = True,
        rotary: Pairing | None = None,
        rotary_base: float = 10000.0,
        norm_qk: bool = False,
    ) -> None:
        super().__init__()
        d_head = check_heads(d_model, n_heads)
        self.d_model, self.n_heads, self.key_heads = d_model, n_heads, key_heads or n_heads
        if n_heads % self.key_heads:
            raise ShapeError(
                f"{n_heads} query heads and {self.key_heads} key heads",
                wanted="A whole number of query heads for each key head",
            )
        if rotary is not None and d_head % 2:
            raise ShapeError(f"Rotations of heads {d_head} wide", wanted="An even width: they turn pairs")
        self.d_key, self.d_value = d_key or d_model, d_value or d_key or d_model
        self.rotary, self.rotary_base = rotary, rotary_base
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(self.d_key, self.key_heads * d_head, bias=bias)
        self.v_proj = nn.Linear(self.d_value, self.key_heads * d_head, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.q_norm = nn.RMSNorm(d_head, eps=1e-6) if norm_qk else nn.Identity()
        self.k_norm = nn.RMSNorm(d_head, eps=1e-6) if norm_qk else nn.Identity()

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> MultiHeadAttention:
        """The same function as `module` in eval mode, on (b t d), with a copy of its weights.

        Raises ShapeError for add_bias_kv and add_zero_attn, which add keys that no token has. Its dropout is
        not taken over.
        """
        sizes, weights = adopted(module)
        ours = cls(module.embed_dim, module.num_heads, **sizes)
        ours.load_state_dict(weights)
        return ours.to(module.out_proj.weight)

    def forward(
        self,
        x: Float[Tensor, "b tq c"],
        memory: Tensor | None = None,
        scoring: Scoring | Mask | None = None,
        *,
        values: Tensor | None = None,
        cache: KeyValueCache | None = None,
        positions: Tensor | None = None,
    ) -> Float[Tensor, "b tq c"]:
        """The projected output, (b tq d_model).

        memory: what keys (and values, unless `values` is given) are made of; None is x itself. scoring: a
        mask or a whole scoring; None lets every query see every key. cache: the keys of earlier calls; x then
        holds the tokens after them, and a scoring without an offset gets the cache's length. positions: (t,)
        or (b, t), for the rotations of x and of new keys; None counts on from the cache's length.
        """
        first = 0 if cache is None else cache.length
        q, k, v = self.project(x, memory, values=values, positions=positions, first=first)
        rules = as_scoring(scoring)
        if cache is not None:
            k, v = cache.extend(k, v)
            rules = replace(rules, offset=first) if rules.offset is None else rules
        out: Tensor = self.out_proj(join_heads(attention(q, k, v, rules)))
        return out

    def project(
        self,
        x: Float[Tensor, "b tq c"],
        memory: Tensor | None = None,
        *,
        values: Tensor | None = None,
        positions: Tensor | None = None,
        first: int = 0,
    ) -> tuple[Query, Key, Value]:
        """q (b h tq d), k and v (b hk tk d), normalised and turned where the module does so."""
        memory = x if memory is None else memory
        values = memory if values is None else values
        check_input("x", x, self.d_model)
        check_input("memory", memory, self.d_key)
        check_input("values", values, self.d_value)
        q = self.q_norm(split_heads(self.q_proj(x), self.n_heads))
        k = self.k_norm(split_heads(self.k_proj(memory), self.key_heads))
        v = split_heads(self.v_proj(values), self.key_heads)
        if self.rotary is None:
            return q, k, v
        if memory is not x:
            raise ShapeError(
                "Rotations between two sequences", wanted="Self-attention: one row of positions for q and k"
            )
        if positions is None:
            positions = torch.arange(first, first + x.shape[1], device=x.device)
        q = rotate(q, positions, pairing=self.rotary, base=self.rotary_base)
        return q, rotate(k, positions, pairing=self.rotary, base=self.rotary_base), v

    def steps(
        self,
        x: Float[Tensor, "b tq c"],
        memory: Tensor | None = None,
        scoring: Scoring | Mask | None = None,
        *,
        values: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Steps:
        """Every step between q.k and the heads' out (b h tq d), on the whole grid. Memory O(tq tk)."""
        q, k, v = self.project(x, memory, values=values, positions=positions)
        return steps(q, k, v, as_scoring(scoring))
