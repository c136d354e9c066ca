"""What leaves attnscope for other programs: tables, arrays and pictures of heads, each with its certificate.

plot_head(recording, 2, 1, ax=ax)           # matplotlib: a head, all heads, one query's tokens
head_view(**dense_for_bertviz(recording))   # whole grids, for the tools that want them
write(recording, "head.parquet", site=2, head=1)   # .csv .parquet .npz .png .svg
"""

from __future__ import annotations

from attnscope.exports.dense import dense_for_bertviz, dense_for_circuitsvis
from attnscope.exports.files import FORMS, encode, write
from attnscope.exports.plots import plot_head, plot_heads, plot_tokens
from attnscope.exports.wanted import Wanted, wanted

__all__ = [
    "FORMS", "Wanted", "dense_for_bertviz", "dense_for_circuitsvis", "encode", "plot_head", "plot_heads",
    "plot_tokens", "wanted", "write",
]  # fmt: skip
