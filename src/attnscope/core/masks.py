"""The masks, under their public names: True = may attend, `&` intersects, `|` unites."""

from __future__ import annotations

from attnscope.core.given import from_tensor, padding, rule, spans
from attnscope.core.ids import blocks, documents
from attnscope.core.mask import Mask
from attnscope.core.places import causal, chunks, full, prefix, window

__all__ = [
    "Mask",
    "blocks",
    "causal",
    "chunks",
    "documents",
    "from_tensor",
    "full",
    "padding",
    "prefix",
    "rule",
    "spans",
    "window",
]
