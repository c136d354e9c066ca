"""The module: causal self-attention as code, its parameters counted, held against PyTorch's own kernel."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnscope.lesson.drawn import drawn, normal
from attnscope.lesson.experiment import Experiment, Table
from attnscope.lesson.given import check_whole, checked
from attnscope.lesson.short_module import ShortAttention
from attnscope.looks.numbers import count, number
from attnscope.nn import CausalSelfAttention

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FROM = "# printed from here"


@dataclass(frozen=True)
class CodeLine:
    """A line of the module's code, and the shape of what it makes, or what it counts; "" where neither."""

    code: str
    shape: str


@dataclass(frozen=True)
class Parameter:
    """A tensor that is learned: its name, its shape as sizes, how many numbers."""

    name: str
    shape: tuple[int, ...]
    numbers: int


@dataclass(frozen=True, eq=False)
class Module(Experiment):
    """One call of CausalSelfAttention on drawn numbers, and the same by two other ways.

    weights (b h t t); above is the largest weight over the diagonal. difference is the largest one between
    the heads' out (b h t d) and F.scaled_dot_product_attention on the same q, k, v; short_difference the
    largest between the module's output and that of the code in `code`, with the same parameters.
    """

    seed: int
    d_model: int
    n_heads: int
    code: tuple[CodeLine, ...]
    parameters: tuple[Parameter, ...]
    total: int
    x: Tensor
    out: Tensor
    weights: Tensor
    above: float
    difference: float
    short_difference: float

    def tables(self) -> list[Table]:
        """Return the parameters, the shapes, and the differences."""
        counted = tuple((one.name, _shape(one.shape), count(one.numbers)) for one in self.parameters)
        shapes = (
            ("input", _shape(self.x.shape)),
            ("output", _shape(self.out.shape)),
            ("weights", _shape(self.weights.shape)),
        )
        held = (
            ("largest weight above the diagonal", number(self.above, 3)),
            ("largest difference from F.scaled_dot_product_attention", _tiny(self.difference)),
            ("largest difference from the code below", _tiny(self.short_difference)),
        )
        code = tuple((line.code, line.shape) for line in self.code)
        return [
            Table("Parameters", ("", "shape", "numbers"), (*counted, ("together", "", count(self.total)))),
            Table("Shapes", ("", "shape"), shapes),
            Table(f"Held against others, in float32 with seed {self.seed}", ("", ""), held),
            Table("The same in plain PyTorch", ("code", "shape"), code),
        ]

    def draw(self) -> Figure:
        """Return the heads' weights of the first sequence."""
        from attnscope.looks.drawing import figure, heat

        h, t = self.weights.shape[1:3]
        made, axes = figure(1, h, size=(2.9 * h, 3.2))
        seen = torch.ones(t, t).tril() > 0
        for head, one in enumerate([axes] if h == 1 else axes):
            rows = [str(i) for i in range(t)]
            heat(one, self.weights[0, head], rows=rows, title=f"head {head}", visible=seen, written=False)
        return made


@checked
@torch.no_grad()
def module(*, d_model: int = 64, n_heads: int = 4, batch: int = 2, tokens: int = 12, seed: int = 3) -> Module:
    """Call CausalSelfAttention(d_model, n_heads) on drawn x (batch, tokens, d_model), and compare.

    Raises ShapeError where d_model is not n_heads equal parts, LessonError for sizes that
    cannot be and what is no seed.
    """
    check_whole("d_model", d_model, 1, 1024)
    check_whole("n_heads", n_heads, 1, 64)
    check_whole("batch", batch, 1, 64)
    check_whole("tokens", tokens, 1, 512)
    ours = drawn(lambda: CausalSelfAttention(d_model, n_heads), seed=seed)
    short = drawn(lambda: ShortAttention(d_model, n_heads), seed=seed)
    short.load_state_dict(ours.state_dict())
    x = normal(batch, tokens, d_model, seed=seed + 1)
    seen, out = ours.steps(x), ours(x)
    theirs = scaled_dot_product_attention(*ours.project(x), is_causal=True)
    parameters = tuple(
        Parameter(name, tuple(values.shape), values.numel()) for name, values in ours.named_parameters()
    )
    return Module(
        seed=seed,
        d_model=d_model,
        n_heads=n_heads,
        code=code_lines(),
        parameters=parameters,
        total=sum(one.numbers for one in parameters),
        x=x,
        out=out,
        weights=seen.weights,
        above=float(seen.weights.triu(1).max()),
        difference=float((seen.out - theirs).abs().max()),
        short_difference=float((short(x) - out).abs().max()),
    )


def code_lines() -> tuple[CodeLine, ...]:
    """Return the code of ShortAttention, the very lines that run, each with its remark apart."""
    lines = inspect.getsource(ShortAttention).splitlines()
    body = lines[next(at for at, line in enumerate(lines) if _FROM in line) + 1 :]
    parts = (line.partition("  # ") for line in body)
    return (
        CodeLine("class CausalSelfAttention(nn.Module):", ""),
        *(CodeLine(code.rstrip(), shape) for code, _, shape in parts),
    )


def _tiny(x: float) -> str:
    """A number far below 1 with two digits: 1.2e−7; 0 for exactly zero."""
    digits, _, exponent = f"{x:.1e}".partition("e")
    return f"{digits}e{int(exponent)}".replace("-", "−") if x else "0"


def _shape(sizes: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, sizes))})"
