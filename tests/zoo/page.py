"""docs/zoo.md, made from the zoo's table and what its models gave."""

from __future__ import annotations

from pathlib import Path

from tests.zoo.animals import heard
from tests.zoo.table import TABLE, Row

PAGE = Path(__file__).parents[2] / "docs" / "zoo.md"

HEAD = """# The zoo

Which families of models are recorded, by which route, and what is shown of them. Every row is a test
(`tests/zoo`): a tiny untrained model, made from the family's own config class with transformers {version},
its weights of queries and keys scaled until attention is far from flat, run once alone and once recorded,
with padding where it takes any. Its outputs are equal bit for bit; its sites, kinds, stacks, heads and
visible cells are those of the config; masked weights are exactly 0; weights differ by at most 1e-5 from
those that the eager model returns of itself (eager recordings: not at all); and every head passes its
certificate. z is the largest residual of any head, in float32: past 20 a head would be refused. It differs
a little from machine to machine.

`make zoo` writes this page anew.

| family | attention | route | shown | not shown | largest z |
|---|---|---|---|---|---|
"""


def cells(row: Row, attention: str) -> list[str]:
    """A line of the page without its last cell."""
    routes = ", ".join(row.routes(attention)) or "none"
    return [row.family, attention, routes, _shown(row), row.no or ""]


def _shown(row: Row) -> str:
    if not row.stacks:
        return "nothing"
    words = dict.fromkeys(f"{one.stack} {one.kind}" for one in row.stacks)
    layers = sum(len(one.layers) for one in row.stacks)
    return ", ".join(words) + f": {layers} site{'s' * (layers > 1)}" + (f"; {row.yes}" if row.yes else "")


def page() -> str:
    """The whole page."""
    import transformers

    lines = []
    for row in TABLE:
        for attention in row.attention:
            run = heard(row, attention)
            z = f"{run.largest:.1f}" if run.sites else ""
            lines.append("| " + " | ".join([*cells(row, attention), z]) + " |\n")
    return HEAD.format(version=transformers.__version__) + "".join(lines)
