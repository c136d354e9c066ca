"""What one text gave: every score of every head, beside the uniform head and the same text shuffled."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from torch import Tensor

from attnscope.measure.scores import TextKind

Numbers = dict[str, list[float]]
"""A number of each head for each score, in the order of `heads`; NaN where it is undefined."""


@dataclass(frozen=True)
class OfSite:
    """The scores of one site on one text. shuffled: empty where the text was not measured in another order.
    reasons: why a score has no value.   refused: heads whose certificate was refused.
    """

    name: str
    order: int
    layer: int
    kind: str
    stack: str
    heads: tuple[int, ...]
    values: Numbers
    uniform: Numbers
    shuffled: Numbers = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    refused: tuple[int, ...] = ()

    @property
    def place(self) -> tuple[str, int, str, str]:
        """What tells it from the other sites of its model."""
        return self.name, self.order, self.kind, self.stack


@dataclass(frozen=True)
class OfText:
    """What one text gave. index: its place in the survey.   spelled: the text that the model reads as its
    tokens, "" where that is not known.
    """

    index: int
    kind: TextKind
    name: str
    tokens: int
    sites: tuple[OfSite, ...]
    note: str = ""
    spelled: str = ""

    def to_json(self) -> str:
        """The same as JSON: floats keep every digit, and NaN is null."""
        return json.dumps(_plain(asdict(self)), ensure_ascii=False)


def of_json(given: str) -> OfText:
    """What `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    plain = json.loads(given)
    sites = tuple(
        OfSite(**{**one, "heads": tuple(one["heads"]), "refused": tuple(one["refused"]), **_numbers(one)})
        for one in plain["sites"]
    )
    return OfText(**{**plain, "sites": sites})


def listed(values: dict[str, Tensor], heads: int) -> Numbers:
    """Scores (h) or (1) as lists of a number for each head."""
    return {name: x.double().expand(heads).tolist() for name, x in values.items()}


def _numbers(site: dict[str, Any]) -> dict[str, Numbers]:
    return {
        name: {score: [math.nan if x is None else float(x) for x in row] for score, row in site[name].items()}
        for name in ("values", "uniform", "shuffled")
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
