"""Attention as modules: the lesson's own, and one with everything real models use."""

from __future__ import annotations

from attnscope.nn.cache import KeyValueCache as KeyValueCache
from attnscope.nn.causal import CausalSelfAttention as CausalSelfAttention
from attnscope.nn.multihead import MultiHeadAttention as MultiHeadAttention

__all__ = ["CausalSelfAttention", "KeyValueCache", "MultiHeadAttention"]
