"""The names of the axes, as types that stand in signatures.

b batch, h query head, hk key head, tq query position, tk key position, d head width, dv value width,
r and c rows and columns of a tile, s spans of a row. `#b` may also be 1 (it broadcasts).
They are checked in the tests alone (jaxtyping's import hook with beartype); at run time they cost nothing.
"""

from __future__ import annotations

from jaxtyping import Bool, Float, Int
from torch import Tensor

Query = Float[Tensor, "b h tq d"]
Key = Float[Tensor, "b hk tk d"]
Value = Float[Tensor, "b hk tk dv"]
Out = Float[Tensor, "b h tq dv"]
Grid = Float[Tensor, "b h tq tk"]
SeenGrid = Bool[Tensor, "b h tq tk"]
Rows = Float[Tensor, "b h tq"]
Columns = Float[Tensor, "b h tk"]
Block = Float[Tensor, "b h r c"]
Seen = Bool[Tensor, "#b #h r c"]
Edges = Int[Tensor, "#b #h tq s"]
Ids = Int[Tensor, "b t"]
