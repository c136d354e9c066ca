"""A microscope for transformer attention.

    import attnscope as ats
    with ats.record(model) as recording:
        model(**inputs)
    recording.site(layer=3).weights(head=5, rows=slice(0, 20), cols=slice(0, 20))

Names are fetched from their modules when they are first used, so that importing attnscope costs
nothing beyond itself: torch is loaded by the first name that needs it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnscope.comparison import Comparison as Comparison
    from attnscope.comparison import compare as compare
    from attnscope.core.attention import attention as attention
    from attnscope.core.bias import KeyBias as KeyBias
    from attnscope.core.bias import RelativeBias as RelativeBias
    from attnscope.core.bias import TensorBias as TensorBias
    from attnscope.core.dense import Steps as Steps
    from attnscope.core.dense import steps as steps
    from attnscope.core.fold import Summary as Summary
    from attnscope.core.fold import summarize as summarize
    from attnscope.core.masks import blocks as blocks
    from attnscope.core.masks import causal as causal
    from attnscope.core.masks import chunks as chunks
    from attnscope.core.masks import documents as documents
    from attnscope.core.masks import from_tensor as from_tensor
    from attnscope.core.masks import full as full
    from attnscope.core.masks import padding as padding
    from attnscope.core.masks import prefix as prefix
    from attnscope.core.masks import rule as rule
    from attnscope.core.masks import spans as spans
    from attnscope.core.masks import window as window
    from attnscope.core.scoring import Scoring as Scoring
    from attnscope.errors import AttnscopeError as AttnscopeError
    from attnscope.exports import dense_for_bertviz as dense_for_bertviz
    from attnscope.exports import dense_for_circuitsvis as dense_for_circuitsvis
    from attnscope.exports import plot_head as plot_head
    from attnscope.exports import plot_heads as plot_heads
    from attnscope.exports import plot_tokens as plot_tokens
    from attnscope.knocking import Knockout as Knockout
    from attnscope.knocking import knockout as knockout
    from attnscope.lesson.diagnose import diagnose as diagnose
    from attnscope.lesson.diagnose_order import diagnose_order as diagnose_order
    from attnscope.listen import record as record
    from attnscope.measure import heads as heads
    from attnscope.models.words import word_weights as word_weights
    from attnscope.nn import CausalSelfAttention as CausalSelfAttention
    from attnscope.nn import MultiHeadAttention as MultiHeadAttention
    from attnscope.notebook import show as show
    from attnscope.recording import Recording as Recording
    from attnscope.recording import load as load
    from attnscope.recording import verify as verify

_HOMES = {
    "attnscope.comparison": ("Comparison", "compare"),
    "attnscope.core.attention": ("attention",),
    "attnscope.core.bias": ("KeyBias", "RelativeBias", "TensorBias"),
    "attnscope.core.dense": ("Steps", "steps"),
    "attnscope.core.fold": ("Summary", "summarize"),
    "attnscope.core.masks": (
        "blocks", "causal", "chunks", "documents", "from_tensor", "full", "padding", "prefix", "rule",
        "spans", "window",
    ),
    "attnscope.core.scoring": ("Scoring",),
    "attnscope.errors": ("AttnscopeError",),
    "attnscope.exports": (
        "dense_for_bertviz", "dense_for_circuitsvis", "plot_head", "plot_heads", "plot_tokens",
    ),
    "attnscope.knocking": ("Knockout", "knockout"),
    "attnscope.lesson.diagnose": ("diagnose",),
    "attnscope.lesson.diagnose_order": ("diagnose_order",),
    "attnscope.listen": ("record",),
    "attnscope.measure": ("heads",),
    "attnscope.models.words": ("word_weights",),
    "attnscope.nn": ("CausalSelfAttention", "MultiHeadAttention"),
    "attnscope.notebook": ("show",),
    "attnscope.recording": ("Recording", "load", "verify"),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AttnscopeError", "CausalSelfAttention", "Comparison", "KeyBias", "Knockout", "MultiHeadAttention",
    "Recording", "RelativeBias", "Scoring", "Steps", "Summary", "TensorBias", "attention", "blocks", "causal",
    "chunks", "compare", "dense_for_bertviz", "dense_for_circuitsvis", "diagnose", "diagnose_order",
    "documents", "from_tensor", "full", "heads", "knockout", "load", "padding", "plot_head", "plot_heads",
    "plot_tokens", "prefix", "record", "rule", "show", "spans", "steps", "summarize", "verify", "window",
    "word_weights",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("attnscope")
    if name not in _HOME:
        raise AttributeError(f"module 'attnscope' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
