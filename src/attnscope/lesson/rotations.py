"""Rotary positions: q and k turn, pair by pair, and their product depends on the distance alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.core.positions import rotary_table, rotate
from attnscope.errors import LessonError
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.looks.numbers import number, typed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Q = (1.0, 0.2, 0.6, -0.5, 0.9, 0.3, 0.4, 0.8)
K = (0.7, 0.7, -0.3, 0.9, 0.8, -0.2, 1.0, 0.1)
MOST = 64


@dataclass(frozen=True, eq=False)
class Rotations(Experiment):
    """One query and one key at every position: q and k (t d), turned; products (t t) = q_i · k_j.

    Pair p is the numbers 2p and 2p + 1: an arrow in a plane. angles (t pairs) in radians is how far each has
    turned at a position, modulo one turn; parts (t t pairs) what each pair adds to the product. ranges
    (2t - 1, 2): the least and the largest product of each distance i - j, from 1 - t on; spread the largest
    difference between the two.
    """

    plain_q: Tensor
    plain_k: Tensor
    q: Tensor
    k: Tensor
    angles: Tensor
    products: Tensor
    parts: Tensor
    speeds: tuple[float, ...]
    ranges: Tensor
    spread: float

    def tables(self) -> list[Table]:
        """Return products of the same distance at several places, and how fast each pair turns."""
        t = len(self.q)
        moved = [(i, i - 3) for i in range(3, t, max(1, (t - 4) // 3))]
        same = tuple((str(i), str(j), typed(i - j), number(float(self.products[i, j]), 7)) for i, j in moved)
        speeds = tuple(
            (str(pair), number(speed, 3), number(speed * 180 / torch.pi, 2))
            for pair, speed in enumerate(self.speeds)
        )
        return [
            Table(
                "Moved together, the product stays",
                ("i", "j", "i − j", "q · k"),
                same,
                f"Largest difference within one distance: {number(self.spread, 7)}.",
            ),
            Table("How far a pair turns each token", ("pair", "radians", "degrees"), speeds),
        ]

    def draw(self) -> Figure:
        """Return the products of all positions, and against the distance alone."""
        from attnscope.lesson.signed import signed
        from attnscope.looks.drawing import INK, figure

        made, (left, right) = figure(1, 2, size=(9, 3.8))
        most = float(self.products.abs().max())
        signed(left, self.products, most=most, across="position j of the key", down="position i of the query")
        distance = torch.arange(len(self.q))[:, None] - torch.arange(len(self.k))
        right.plot(
            distance.flatten().tolist(), self.products.flatten().tolist(), ".", color=INK, markersize=3
        )
        right.set_xlabel("distance i − j")
        right.set_ylabel("q · k")
        return made


@checked
@torch.no_grad()
def rotations(
    *, q: Sequence[float] = Q, k: Sequence[float] = K, t: int = 24, base: float = 10000.0
) -> Rotations:
    """Turn one query and one key to each of t positions, by the pairing that turns x[2p] with x[2p + 1].

    Raises LessonError unless q and k have the same even number of finite numbers, and t is 2 to 64.
    """
    plain_q, plain_k = torch.tensor(q), torch.tensor(k)
    even = plain_q.shape == plain_k.shape and plain_q.dim() == 1 and len(q) > 0 and len(q) % 2 == 0
    if not even or not bool((plain_q.isfinite() & plain_k.isfinite()).all()):
        raise LessonError(
            f"q={tuple(q)} and k={tuple(k)}",
            wanted="The same even number of finite numbers is wanted in each",
        )
    if not 2 <= t <= MOST or not base > 1:
        raise LessonError(
            f"t={t} and base={base}", wanted=f"2 to {MOST} positions, and a base above 1 are wanted"
        )
    places = torch.arange(t)
    turned_q, turned_k = (
        rotate(x.float().expand(1, 1, t, -1), places, pairing="interleaved", base=base)
        for x in (plain_q, plain_k)
    )
    products = _products(turned_q, turned_k)
    ranges = _ranges(products[0])
    pairs = len(q) // 2
    by_pair = (x[0, 0].reshape(t, pairs, 2).transpose(0, 1)[None] for x in (turned_q, turned_k))
    cos, sin = rotary_table(torch.tensor([1]), len(q), base=base, dtype=torch.float64)
    cosines, sines = rotary_table(places, len(q), base=base)
    return Rotations(
        plain_q=plain_q,
        plain_k=plain_k,
        q=turned_q[0, 0],
        k=turned_k[0, 0],
        angles=torch.atan2(sines, cosines),
        products=products[0],
        parts=_products(*by_pair).movedim(0, -1),
        speeds=tuple(torch.atan2(sin, cos)[0].tolist()),
        ranges=ranges,
        spread=float((ranges[:, 1] - ranges[:, 0]).max()),
    )


def _products(q: Tensor, k: Tensor) -> Tensor:
    """q · k of every two positions, (h t t), by the oracle."""
    return steps(q, k, torch.zeros_like(k)).products[0]


def _ranges(products: Tensor) -> Tensor:
    """The least and the largest number on each diagonal of (t t), lowest i - j first: (2t - 1, 2)."""
    t = len(products)
    lines = [products.diagonal(-distance) for distance in range(1 - t, t)]
    return torch.stack([torch.stack([line.min(), line.max()]) for line in lines])
