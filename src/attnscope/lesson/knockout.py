"""Section 11: a weight is not an explanation: how far the next character's probabilities move without it.

Every weight of the last row of every head is taken out in two ways, and every head as a whole. How far the
probabilities move is their total variation: half the sum of all differences, from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnscope.errors import LessonError
from attnscope.gpt import GPT
from attnscope.gpt.without import every_edge, every_head
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.lesson.line import LINE, in_sight, of_line
from attnscope.looks.drawing import ACCENT, INK_3, figure, heat
from attnscope.looks.numbers import number, weight
from attnscope.plain import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN, MOST = 8, 3  # characters sent: the likeliest of all, and those that change most


@dataclass(frozen=True, eq=False)
class Without:
    """The probabilities (... vocabulary) after something was taken out, and how far they moved (...)."""

    after: Tensor
    moved: Tensor

    @classmethod
    def of(cls, logits: Tensor, before: Tensor) -> Without:
        """Return the probabilities of logits (... vocabulary), held against those of the whole model."""
        after = logits.softmax(-1)
        return cls(after, (after - before).norm(p=1, dim=-1) / 2)

    def to_dict(self, before: Tensor, shown: Tensor) -> dict[str, Any]:
        """Return the moves, the characters `shown`, and those that change most, largest change first."""
        most = (self.after - before).abs().topk(min(MOST, len(before)), dim=-1).indices
        return {
            "moved": plain(self.moved.float()),
            "after": plain(self.after[..., shown].float()),
            "most": plain(most),
            "most_after": plain(self.after.gather(-1, most).float()),
        }


@dataclass(frozen=True)
class Edge:
    """One weight of the last row of a head, and how far the probabilities move without it."""

    layer: int
    head: int
    key: int
    weight: float
    moved: float


@dataclass(frozen=True, eq=False)
class KnockOut(Experiment):
    """What the model expects after the line, whole and with something taken out, in float64.

    before: (vocabulary); weights: the last rows, (layers heads t); shared and stayed: without each weight,
    (layers heads t vocabulary), the row's others sharing its part or staying as they are; heads: without each
    head, (layers heads vocabulary). large: of the weights that are at least `at_least`, the one that moves
    least; small: of those that are at most `at_most`, the one that moves most; others sharing.
    """

    line: str
    model: str
    characters: str
    before: Tensor
    weights: Tensor
    shared: Without
    stayed: Without
    heads: Without
    at_least: float
    at_most: float
    large: Edge
    small: Edge

    @property
    def shown(self) -> Tensor:
        """The ids of the likeliest characters, likeliest first."""
        return self.before.topk(min(SHOWN, len(self.before))).indices

    @property
    def says(self) -> str:
        """What the two found edges show, in words."""
        large, small = self.large, self.small
        moves = [number(x, 4) for x in (large.moved, small.moved, self._stays(large), self._stays(small))]
        return (
            f"Without the weight {weight(large.weight)} of {self._where(large)} the probabilities move by "
            f"{moves[0]}; without the weight {weight(small.weight)} of {self._where(small)} they move by "
            f"{moves[1]}, while the row’s others share its part. Where the others stay as they are, it is "
            f"{moves[2]} and {moves[3]}: what an edge is worth depends on how it is taken out."
        )

    def _where(self, edge: Edge) -> str:
        return f"layer {edge.layer}, head {edge.head} on “{in_sight(self.line[edge.key])}” {edge.key}"

    def tables(self) -> list[Table]:
        top = self.shown.tolist()
        edges = {"large": self.large, "small": self.small}
        pairs = {
            f"without the {name} one": self.shared.after[e.layer, e.head, e.key] for name, e in edges.items()
        }
        expects = tuple(
            (in_sight(self.characters[i]), *(number(float(p[i]), 4) for p in (self.before, *pairs.values())))
            for i in top
        )
        found = tuple(
            (name, self._where(e), weight(e.weight), number(e.moved, 4), number(self._stays(e), 4))
            for name, e in edges.items()
        )
        layers = tuple(
            (f"L{layer}", *(weight(float(m)) for m in row)) for layer, row in enumerate(self.heads.moved)
        )
        heads = tuple(f"H{head}" for head in range(self.heads.moved.shape[1]))
        columns = ("edge", "where", "weight", "moves, others share", "moves, others stay")
        return [
            Table(
                "A large weight that changes little, a small one that changes more", columns, found, self.says
            ),
            Table("The next character", ("character", "whole", *pairs), expects),
            Table("How far the probabilities move without a whole head", ("layer", *heads), layers),
        ]

    def _stays(self, edge: Edge) -> float:
        return float(self.stayed.moved[edge.layer, edge.head, edge.key])

    def draw(self) -> Figure:
        made, (left, right) = figure(1, 2, size=(11.0, 4.4))
        x, y = (grid.flatten().numpy() for grid in (self.weights, self.shared.moved))
        left.scatter(x, y, s=8, color=INK_3, linewidths=0)
        for name, edge in (("large", self.large), ("small", self.small)):
            left.scatter([edge.weight], [edge.moved], s=28, color=ACCENT)
            left.annotate(name, (edge.weight, edge.moved), xytext=(6, 4), textcoords="offset points")
        left.set(xlabel="weight", ylabel="the probabilities move by", yscale="log", xlim=(-0.02, 1.0))
        left.set_title("Every weight of the last rows, taken out")
        layers, heads = (range(n) for n in self.heads.moved.shape)
        rows, columns = [f"L{i}" for i in layers], [f"H{i}" for i in heads]
        heat(right, self.heads.moved, rows=rows, columns=columns, title="Every head, taken out")
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return all moves, but of the probabilities only the likeliest and those that change most."""
        shown = self.shown
        names = ("line", "model", "characters", "says", "at_least", "at_most", "large", "small")
        return {name: plain(getattr(self, name)) for name in names} | {
            "before": plain(self.before.float()),
            "weights": plain(self.weights.float()),
            "shown": plain(shown),
            "shared": self.shared.to_dict(self.before, shown),
            "stayed": self.stayed.to_dict(self.before, shown),
            "heads": self.heads.to_dict(self.before, shown),
        }


@checked
def knock_out(
    *, line: str = LINE, model: str | GPT = "embedded", at_least: float = 0.5, at_most: float = 0.1
) -> KnockOut:
    """Return the next character's probabilities after a line with and without each weight and each head.

    model: the name of a shipped model, or a GPT. Raises LessonError where no weight of a last row is as large
    as `at_least` or as small as `at_most`, and what the model says of a line that it cannot read.
    """
    ours, name, ids = of_line(model, line)
    with torch.no_grad():
        before = ours(ids)[0, -1].softmax(-1)
        weights = torch.cat([seen.weights[:, :, -1] for seen in ours.steps(ids)])
    _has(weights >= at_least, f"of {at_least} or more", weights)
    _has(weights <= at_most, f"of {at_most} or less", weights)
    shared = Without.of(every_edge(ours, ids, way="renormalise"), before)
    large = shared.moved.masked_fill(weights < at_least, torch.inf).argmin()
    small = shared.moved.masked_fill(weights > at_most, -torch.inf).argmax()
    return KnockOut(
        line=line,
        model=name,
        characters=ours.tokenizer.characters,
        before=before,
        weights=weights,
        shared=shared,
        stayed=Without.of(every_edge(ours, ids, way="zero"), before),
        heads=Without.of(every_head(ours, ids), before),
        at_least=at_least,
        at_most=at_most,
        large=_edge(weights, shared.moved, large),
        small=_edge(weights, shared.moved, small),
    )


def _edge(weights: Tensor, moved: Tensor, place: Tensor) -> Edge:
    layer, head, key = (int(i) for i in torch.unravel_index(place, weights.shape))
    at = (layer, head, key)
    return Edge(layer, head, key, float(weights[at]), float(moved[at]))


def _has(found: Tensor, what: str, weights: Tensor) -> None:
    if not bool(found.any()):
        raise LessonError(
            f"No weight of a last row is {what}",
            wanted=f"They reach from {weight(float(weights.min()))} to {weight(float(weights.max()))}",
        )
