"""A comparison as a file: the ranked list as CSV or JSON, or two heads and their difference as a picture.

Each says of both sides what every export says: the model, the versions, and the certificates of its heads.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, replace
from typing import Any, Literal

from attnscope.comparison import Comparison
from attnscope.comparison.contrast import Contrast
from attnscope.comparison.pairing import Pair
from attnscope.comparison.side import Side
from attnscope.exports.about import KEY, about
from attnscope.exports.contrast import draw
from attnscope.looks.drawing import png, svg
from attnscope.recording import Site

Scale = Literal["log", "linear"]


def csv_list(found: Comparison, by: str = "mean", *, sealed: bool = True) -> str:
    """Return a line for each head, those that differ most by their "mean" or "largest" row first.

    sealed: begin with a line that starts with # and says what it is, in JSON; pandas.read_csv(file,
    comment="#") reads it as it is.
    """
    out = io.StringIO()
    if sealed:
        out.write(f"# {KEY} {json.dumps(_about(found))}\n")
    lines = [asdict(one) for one in found.ordered(by)]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(lines[0])
    writer.writerows([_plain(value) for value in one.values()] for one in lines)
    return out.getvalue()


def json_list(found: Comparison, by: str = "mean") -> str:
    """Return the same as JSON; "about" says what it is."""
    told = replace(found, heads=tuple(found.ordered(by))).to_dict()
    return json.dumps(told | {"about": _about(found)}, ensure_ascii=False, indent=1) + "\n"


def picture(
    sides: tuple[Side, Side],
    pair: Pair,
    contrast: Contrast,
    form: Literal["png", "svg"],
    scale: Scale = "log",
) -> bytes:
    """Return the pictures of both heads and of their difference, as the bytes of a file."""
    seal = [_side(side, [head]) for side, head in zip(sides, pair.both, strict=True)]
    told = json.dumps(dict(zip("ab", seal, strict=True)))
    return (png if form == "png" else svg)(draw(sides, pair, contrast, scale), about=told)


def _about(found: Comparison) -> dict[str, Any]:
    """Both sides with the heads that were compared."""
    pairs = [found.pair_of(one) for one in found.heads]
    return {
        name: _side(side, [pair.both[at] for pair in pairs])
        for at, (name, side) in enumerate(zip("ab", found.sides, strict=True))
    }


def _side(side: Side, heads: list[tuple[Site, int]]) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(about(side.recording, heads, batch=side.batch))
    return told | {"run": side.run.index}


def _plain(value: Any) -> Any:
    """What stands in a table: nothing for a row or a mean that is not there."""
    return "" if value is None or value != value else value
