"""Section 10: 64 inputs to q, k and v, seen as 4 heads of 16, concatenated and projected.

The shapes are those of tensors that went through CausalSelfAttention; nothing is written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from attnscope.lesson.drawn import seeded
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import checked
from attnscope.lesson.pipeline import check_sizes, written
from attnscope.looks.drawing import INK, INK_2, SERIES, figure
from attnscope.looks.numbers import count
from attnscope.nn import CausalSelfAttention
from attnscope.nn.heads import join_heads, project_heads

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Stage:
    """A stage on the way through the heads: its numbers' shape, and how its width is cut among the heads.

    In `groups` side by side (q, k and v, or one) lie `parts` equal parts, each `width` numbers wide.
    """

    id: str
    text: str
    says: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    groups: int
    parts: int
    width: int


@dataclass(frozen=True, eq=False)
class ThroughHeads(Experiment):
    """A width of d_model seen as n_heads heads and put together again, for t tokens.

    joined_again: whether joining what was split gave back the same bits. sum_of_parts: the largest difference
    between the projected output and the sum of what each head adds by itself, in float64.
    """

    t: int
    d_model: int
    n_heads: int
    d_head: int
    stages: tuple[Stage, ...]
    joined_again: bool
    sum_of_parts: float

    def tables(self) -> list[Table]:
        rows = tuple(
            (
                stage.text,
                " × ".join(stage.axes),
                written(stage.shape),
                f"{stage.groups * stage.parts} × {stage.width}",
            )
            for stage in self.stages
        )
        title = f"{self.d_model} inputs through {self.n_heads} heads of {self.d_head}, {self.t} tokens"
        note = (
            f"Split and joined again: {'the same bits' if self.joined_again else 'different numbers'}. "
            f"The heads’ own parts add up to the output within {self.sum_of_parts:.0e}."
        )
        return [Table(title, ("stage", "axes", "shape", "parts × numbers"), rows, note)]

    def draw(self) -> Figure:
        made, axes = figure(size=(9.0, 0.62 * len(self.stages) + 0.4))
        axes.set(xlim=(-1.35, 4.2), ylim=(len(self.stages) - 0.4, -0.6))
        axes.set_axis_off()
        for y, stage in enumerate(self.stages):
            _strips(axes, y, stage, self.d_model)
        return made


@checked
def through_heads(*, t: int = 8, d_model: int = 64, n_heads: int = 4, seed: int = 0) -> ThroughHeads:
    """Return the way through CausalSelfAttention(d_model, n_heads) for t tokens.

    Raises LessonError for sizes that cannot be, ShapeError where d_model is not n_heads equal parts.
    """
    check_sizes(t=t, d_model=d_model, n_heads=n_heads)
    with seeded(seed):
        module = CausalSelfAttention(d_model, n_heads).double()
        x = torch.randn(1, t, d_model, dtype=torch.float64)
    with torch.no_grad():
        together = module.qkv(x)
        q, k, v = module.project(x)
        seen = module.steps(x)
        joined = join_heads(seen.out)
        out = module.out(joined)
        apart = project_heads(seen.out, module.out).sum(dim=1) + module.out.bias
        back = torch.cat([join_heads(part) for part in (q, k, v)], dim=-1)
    shapes = (x.shape, together.shape, q.shape, seen.weights.shape, seen.out.shape, joined.shape, out.shape)
    return ThroughHeads(
        t, d_model, n_heads, d_model // n_heads, _stages(d_model, n_heads, [tuple(s[1:]) for s in shapes]),
        joined_again=torch.equal(back, together), sum_of_parts=float((apart - out).abs().max()),
    )  # fmt: skip


def _stages(d_model: int, heads: int, shapes: list[tuple[int, ...]]) -> tuple[Stage, ...]:
    d, flat, by_head = d_model // heads, ("t", "d_model"), ("heads", "t", "d_head")
    listed = (
        ("x", "inputs", flat, 1, 1, d_model, f"Each token comes with {d_model} numbers."),
        (
            "qkv", "q, k and v", ("t", "3 d_model"), 3, 1, d_model,
            f"One linear layer makes {3 * d_model} numbers of them: a query, a key and a value of {d_model} "
            f"each. Every single number is made of all {d_model} inputs.",
        ),
        (
            "split", "seen as heads", by_head, 3, heads, d,
            f"Each of the three is seen as {heads} heads of {d} numbers. Nothing is computed: the same "
            "numbers get another shape.",
        ),
        (
            "weights", "weights", ("heads", "t", "t"), 1, heads, shapes[3][-1],
            "Each head makes weights of its own from its own queries and keys.",
        ),
        (
            "outs", "mixed values", by_head, 1, heads, d,
            f"Each head mixes its own values by its own weights: {d} numbers a token.",
        ),
        (
            "joined", "concatenated", flat, 1, heads, d,
            f"The heads’ outputs are laid side by side: {heads} × {d} = {d_model} numbers.",
        ),
        (
            "out", "projected", flat, 1, 1, d_model,
            f"A second linear layer mixes what the heads found into {d_model} numbers, which are added to "
            "the residual stream.",
        ),
    )  # fmt: skip
    return tuple(
        Stage(id, text, says, axes, shape, groups, parts, width)
        for (id, text, axes, groups, parts, width, says), shape in zip(listed, shapes, strict=True)
    )


def _strips(axes: Axes, y: int, stage: Stage, d_model: int) -> None:
    """The stage's numbers as strips, a model's width being 1 long."""
    from matplotlib.patches import Rectangle

    wide, apart = stage.width / d_model, 0.0 if stage.id == "joined" else 0.02
    group = stage.parts * wide + (stage.parts - 1) * apart
    left = 1.6 - (stage.groups * group + (stage.groups - 1) * 0.1) / 2
    for k in range(stage.groups * stage.parts):
        x = left + k // stage.parts * (group + 0.1) + k % stage.parts * (wide + apart)
        axes.add_patch(Rectangle((x, y - 0.22), wide, 0.44, facecolor=SERIES[3], edgecolor=INK_2, lw=0.6))
        axes.text(x + wide / 2, y, count(stage.width), ha="center", va="center", fontsize=7, color=INK)
    axes.text(-1.35, y, stage.text, va="center", fontsize=9, color=INK)
    axes.text(3.4, y, written(stage.shape), va="center", fontsize=8, color=INK_2)
