"""What a summary holds: attention of one call in O(T) numbers, by row, by key and by block."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from attnscope.core.certificate import Certificate
from attnscope.shapes import Columns, Rows


@dataclass(frozen=True, eq=False)
class Summary:
    """One call in O(T) numbers, in float32 (float64 for float64). tq counts the rows asked for, from
    `start` on.

    By row: entropy in nats, of the weights on keys as they stand (a learned sink's weight is not a
    key's, and nothing is renormalised); largest and largest_key; top_weights and top_keys, by weight,
    lowest key on ties; distance, the mean of |i - j| in tokens under the weights, and distance_spread,
    their standard deviation; first, the weight on the first token; sink, the weight on the learned
    sink. By key: received, the sum of its weights over rows; seen, how many rows see it; received_mean,
    their quotient (early keys of a causal head are seen by more rows, which the mean takes out). By
    distance: mass_by_distance, the sum over rows of the weights at |i - j| = 0, 1 .. 64 tokens, and then
    at 65 to 128, 129 to 256 and so on (core.distance.limits names them); None in recordings made before
    there was such a thing. By block of block x block cells: block_sum, block_max, and block_seen, how
    many cells are visible.
    empty_rows: rows that see no key. Theirs is entropy 0, largest 0, largest_key -1, first 0; their
    distance is undefined. What is undefined is NaN: the distance of a row without weight on keys, the
    mean of a key that no row sees.
    """

    entropy: Rows
    largest: Rows
    largest_key: Int[Tensor, "b h tq"]
    top_weights: Float[Tensor, "b h tq top"]
    top_keys: Int[Tensor, "b h tq top"]
    distance: Rows
    distance_spread: Rows
    first: Rows
    sink: Rows
    received: Columns
    received_mean: Columns
    seen: Int[Tensor, "#b #h tk"]
    empty_rows: Int[Tensor, "b h"]
    mass_by_distance: Float[Tensor, "b h bins"] | None = None
    start: int = 0
    block: int | None = None
    block_sum: Float[Tensor, "b h m n"] | None = None
    block_max: Float[Tensor, "b h m n"] | None = None
    block_seen: Int[Tensor, "#b #h m n"] | None = None
    certificate: Certificate | None = None
