"""The routes by which attention calls are heard, one module each. Every route makes a `Call` and gives it to
the session of the frame that is running.

huggingface: models that fetch their attention function from transformers' registry; flash and flex read the
names of it that no mask of cells is handed to.
ours: any code that calls attention().
sdpa: any code that calls F.scaled_dot_product_attention.
flex: any code that calls torch's flex_attention.
softmax: models that compute attention in code of their own, of which a summary is kept.
multihead: torch's own nn.MultiheadAttention and the transformer layers made of it, step by step.
multihead_fused: the same where they are one fused step.
"""

from __future__ import annotations

from attnscope.listen.routes import flex, huggingface, multihead, multihead_fused, ours, sdpa, softmax

__all__ = ["flex", "huggingface", "multihead", "multihead_fused", "ours", "sdpa", "softmax"]
