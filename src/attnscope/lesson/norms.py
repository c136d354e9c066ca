"""Section 11: attention mixes projected values, so a large weight on a small value moves little.

What key j adds to the stream of query i through one head is its weight times the value as it leaves that
head's slice of the output projection. Its length is the weight times the norm of that projected value
(Kobayashi et al. 2020).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnscope.gpt import GPT
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.lesson.line import LINE, in_sight, of_line
from attnscope.looks.drawing import INK_2, INK_3, SERIES, figure
from attnscope.looks.numbers import count, weight
from attnscope.nn.heads import project_heads
from attnscope.plain import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Change:
    """A row of a head whose largest weight is on another key than its largest weight times norm."""

    layer: int
    head: int
    by_weight: int
    by_product: int


@dataclass(frozen=True, eq=False)
class ValueNorms(Experiment):
    """Weights, norms of the projected values, and their products, for every head of a model on one line.

    weights and products: (layers heads t t), norms: (layers heads t). changes: the heads in whose last row
    the largest weight and the largest product are on different keys, the widest gap between the two products
    first; rows_changed of rows: the same counted over all rows of all heads. In float64.
    """

    line: str
    model: str
    weights: Tensor
    norms: Tensor
    products: Tensor
    changes: tuple[Change, ...]
    rows_changed: int
    rows: int

    def tables(self) -> list[Table]:
        columns = (
            "head",
            "largest weight on",
            "weight",
            "× norm =",
            "largest product on",
            "weight",
            "× norm =",
        )
        rows = tuple(
            (f"L{c.layer} H{c.head}", *self._key(c, c.by_weight), *self._key(c, c.by_product))
            for c in self.changes
        )
        norms = tuple(
            (f"L{layer}", *(f"{weight(float(n.min()))} to {weight(float(n.max()))}" for n in each))
            for layer, each in enumerate(self.norms)
        )
        heads = tuple(f"H{head}" for head in range(self.norms.shape[1]))
        title = "Last rows in which weight times norm of the projected value ranks another key first"
        return [
            Table(
                title,
                columns,
                rows,
                f"So it is in {count(self.rows_changed)} of the {count(self.rows)} rows of all heads.",
            ),
            Table("Norms of the projected values", ("layer", *heads), norms),
        ]

    def _key(self, change: Change, key: int) -> tuple[str, str, str]:
        at = (change.layer, change.head, -1, key)
        return (
            f"{in_sight(self.line[key])} {key}",
            weight(float(self.weights[at])),
            weight(float(self.products[at])),
        )

    def draw(self) -> Figure:
        shown = self.changes[:4] or (Change(0, 0, 0, 0),)
        made, axes = figure(len(shown), 1, size=(9.0, 1.9 * len(shown)))
        places = torch.arange(len(self.line)).double().numpy()
        for at, change in enumerate(shown):
            one = axes[at] if len(shown) > 1 else axes
            row = self.weights[change.layer, change.head, -1]
            product = self.products[change.layer, change.head, -1]
            one.bar(places - 0.2, (row / row.max()).numpy(), 0.38, color=SERIES[1], label="weight")
            one.bar(places + 0.2, (product / product.max()).numpy(), 0.38, color=INK_3, label="weight × norm")
            one.set_xticks(range(len(self.line)), [in_sight(c) for c in self.line])
            one.set_yticks([0, 1], ["0", "largest"])
            one.tick_params(length=0)
            one.set_title(f"Layer {change.layer}, head {change.head}, last row")
        (axes[0] if len(shown) > 1 else axes).legend(loc="upper left", labelcolor=INK_2)
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return the last rows alone: weights and products are (layers heads t)."""
        found = {field.name: plain(getattr(self, field.name)) for field in fields(self)}
        for name in ("weights", "products"):
            found[name] = plain(getattr(self, name)[:, :, -1].float())
        return found | {"norms": plain(self.norms.float())}


@checked
def value_norms(*, line: str = LINE, model: str | GPT = "embedded") -> ValueNorms:
    """Return the weights of every head on a line beside weight times norm of the projected value.

    model: the name of a shipped model, or a GPT. Raises UnknownCharacter, TextTooLong or EmptyText for a line
    that the model cannot read, MissingModel for a name that does not ship.
    """
    ours, name, ids = of_line(model, line)
    with torch.no_grad():
        streams = ours.streams(ids)
        values = [block.project(x)[2] for block, x in zip(ours.blocks, streams, strict=True)]
        projected = [project_heads(v, block.output) for v, block in zip(values, ours.blocks, strict=True)]
        norms = torch.cat([each.norm(dim=-1) for each in projected])
        weights = torch.cat([seen.weights for seen in ours.steps(ids)])
    products = weights * norms[:, :, None]
    by_weight, by_product = weights.argmax(-1), products.argmax(-1)
    other = by_weight != by_product
    last = products[:, :, -1]
    gained = last.amax(-1) / last.gather(-1, by_weight[:, :, -1, None]).squeeze(-1)
    changes = tuple(
        Change(layer, head, int(by_weight[layer, head, -1]), int(by_product[layer, head, -1]))
        for layer, head in sorted(other[:, :, -1].nonzero().tolist(), key=lambda at: -float(gained[*at]))
    )
    return ValueNorms(
        line, name, weights, norms, products, changes, int(other.sum()), int(other.numel())
    )  # fmt: skip
