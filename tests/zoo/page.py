"""docs/zoo.md, made from the zoo's table and what its models gave."""

from __future__ import annotations

from pathlib import Path

import torch

from attnscope.core.verdict import thresholds_of
from tests.zoo.animals import heard
from tests.zoo.table import TABLE, Row

PAGE = Path(__file__).parents[2] / "docs" / "zoo.md"

HEAD = """# The zoo

Which families of models are recorded, by which route, and what is shown of them. Every row is a test
(`tests/zoo`): a tiny untrained model in float32, made from the family's own config class with transformers
{version} or from PyTorch alone, run once as it is and once recorded, over two texts of which one is padded
(no padding where there is nothing to pad: images, audio, the first two plain models). Weights of queries and
keys are scaled until attention is far from flat: in every site the largest score passes 5, and some row of
five keys or more puts over .3 on one of them.

Every row says that

- the model's output is bit for bit the same with and without the recording;
- sites, kinds, stacks, layers, heads, rows and keys are those of the config, and what has no picture is
  listed with its layer, its name and the reason;
- every head that is shown passes [its certificate](certificate.md);
- where single weights are shown, rows see exactly the keys that the config lets them see, every other weight
  is 0, and a softcap, learned sinks or a bias are read as such;
- where the eager model returns weights of itself, eager recordings equal them bit for bit, and those by sdpa
  to 1e-5; where a summary is kept, its largest weights (1e-5), their keys and its entropies (1e-4) are those
  of that grid. Rows that see no key are left out;
- a model that writes gives the same tokens with and without the recording, and all its sites and rows.

A route is the way by which a call was heard; [recording.md](recording.md) describes them. "torch" stands for
plain PyTorch, which has no such names. A site is one attention module in one run. Largest z is that of any
row of any head, in units of what rounding explains: past {limit:g} a head is refused. It differs a little
from machine to machine.

A family has a line for each of sdpa and eager that it has in this version: Gemma2, gpt-oss, Bloom, MPT,
DeBERTa-v2, Longformer and Mamba have no sdpa. Falcon with ALiBi computes two different things in it: its
eager code (also used by sdpa where a caller asks for `output_attentions`) adds ALiBi to the scores and
again within the mask, so that each distance counts twice; its sdpa code adds it once. A recording shows
what the model did.

`make zoo` writes this page anew.

| family | attention | route | shown | not shown | largest z |
|---|---|---|---|---|---|
"""


def head() -> str:
    """What stands before the lines of the table."""
    import transformers

    limit = thresholds_of("sdpa", torch.float32).z
    return HEAD.format(version=transformers.__version__, limit=limit)


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
    lines = []
    for row in TABLE:
        for attention in row.attention:
            run = heard(row, attention)
            z = f"{run.largest:.1f}" if run.sites else "none"
            lines.append("| " + " | ".join([*cells(row, attention), z]) + " |\n")
    return head() + "".join(lines)
