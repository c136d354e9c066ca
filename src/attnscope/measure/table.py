"""The table of a survey: a row for each head, a few numbers for each score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch

from attnscope.errors import AttnscopeError
from attnscope.files import home_made
from attnscope.measure.classes import Measured, classes_of
from attnscope.measure.found import Numbers, OfSite, OfText
from attnscope.measure.scores import NAMES, SCORE, TextKind
from attnscope.measure.spread import interval, mean_of, spread_of
from attnscope.measure.values import REFUSED

PARTS = ("uniform", "shuffled", "spread", "low", "high")
"""What stands beside the value of a score, each in a column of its own: `sink`, `sink_uniform`, ..."""


MISSING: dict[TextKind, str] = {
    "plain": "no running text was measured",
    "twice": "no random tokens were measured",
    "four": "no random tokens were measured",
    "needle": "the model was not asked to write",
}
"""What is said of a score of whose texts none was measured."""


class TextRead(NamedTuple):
    """A text that was measured. spelled: what the model reads as its tokens, "" where that is not known."""

    kind: str
    name: str
    tokens: int
    spelled: str = ""


@dataclass(frozen=True)
class HeadRow:
    """One head. site: the place of its call in a run.   name: of the module.   order: which of the module's
    calls it is.   scores: by name.
    """

    site: int
    name: str
    order: int
    layer: int
    head: int
    kind: str
    stack: str
    classes: tuple[str, ...]
    scores: Mapping[str, Measured] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The row as it stands in a table of numbers: columns of HeadTable.columns."""
        flat: dict[str, Any] = {
            "layer": self.layer, "head": self.head, "kind": self.kind, "stack": self.stack,
            "site": self.site, "name": self.name, "order": self.order, "classes": ", ".join(self.classes),
        }  # fmt: skip
        for name in NAMES:
            flat[name] = self.scores[name].value
            flat |= {f"{name}_{part}": getattr(self.scores[name], part) for part in PARTS}
        return flat


@dataclass(frozen=True)
class HeadTable:
    """rows: every head, in the order of the model.   model: what is known of it.   texts: what was measured,
    in order.   seed: of all draws.   notes: what could not be measured, and why.
    """

    rows: tuple[HeadRow, ...]
    model: Mapping[str, Any]
    texts: tuple[TextRead, ...] = field(repr=False)
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        beside = [name for score in NAMES for name in (score, *(f"{score}_{part}" for part in PARTS))]
        return ["layer", "head", "kind", "stack", "site", "name", "order", "classes", *beside]

    def ranked(self, score: str) -> list[HeadRow]:
        """The heads by a score, largest first; those without a value are left out. Raises AttnscopeError."""
        if score not in SCORE:
            raise AttnscopeError(f"There is no score {score!r:.60}", wanted=f"One of {', '.join(NAMES)}")
        there = [row for row in self.rows if not math.isnan(row.scores[score].value)]
        return sorted(there, key=lambda row: -row.scores[score].value)

    def save(self, path: str | Path) -> Path:
        """Write the table as .csv, .json or .parquet, by its name. Raises AttnscopeError."""
        from attnscope.measure.files import save_table

        return save_table(self, home_made(path, AttnscopeError))

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame, a row for each head. Raises AttnscopeError without pandas."""
        try:
            import pandas
        except ImportError as error:
            raise AttnscopeError(
                "pandas is not installed",
                wanted="pandas, for a DataFrame",
                hint="pip install 'attnscope[tables]'",
            ) from error
        return pandas.DataFrame([row.to_dict() for row in self.rows], columns=self.columns)


def table_of(found: Sequence[OfText], model: Mapping[str, Any], *, seed: int) -> HeadTable:
    """The table of what the texts gave. Texts are taken in the order of their index: whoever measured them,
    the numbers are the same.
    """
    found = sorted(found, key=lambda text: text.index)
    places = list(dict.fromkeys(site.place for text in found for site in text.sites))
    noted = {text.kind: text.note for text in found if text.note}
    rows = [row for at, place in enumerate(places) for row in _rows(at, _of_place(found, place), noted, seed)]
    texts = tuple(TextRead(text.kind, text.name, text.tokens, text.spelled) for text in found)
    notes = tuple(dict.fromkeys(text.note for text in found if text.note))
    return HeadTable(tuple(rows), dict(model), texts, seed, notes)


def _of_place(found: Sequence[OfText], place: tuple[str, int, str, str]) -> list[tuple[OfText, OfSite]]:
    return [(text, site) for text in found for site in text.sites if site.place == place]


def _rows(
    at: int, of_site: list[tuple[OfText, OfSite]], noted: Mapping[TextKind, str], seed: int
) -> list[HeadRow]:
    site = of_site[0][1]
    scores = {name: _score(name, of_site, noted.get(SCORE[name].text, ""), seed) for name in NAMES}
    rows = []
    for number, head in enumerate(site.heads):
        own = {name: scores[name][number] for name in NAMES}
        rows.append(
            HeadRow(at, site.name, site.order, site.layer, head, site.kind, site.stack, classes_of(own), own)
        )
    return rows


def _score(name: str, of_site: list[tuple[OfText, OfSite]], note: str, seed: int) -> list[Measured]:
    """One score of every head of a site, over the texts that it is measured on; note: what is said of
    them.
    """
    meant = [site for text, site in of_site if text.kind == SCORE[name].text]
    heads, reason = len(of_site[0][1].heads), _reason(name, meant, note)
    values, level, other = (
        torch.tensor([_row(numbers, name, heads) for numbers in parts], dtype=torch.float64).view(-1, heads).T
        for parts in ([s.values for s in meant], [s.uniform for s in meant], [s.shuffled for s in meant])
    )
    if not values.numel() or bool(values.isnan().all()):
        return [Measured(reason=reason)] * heads
    ends = interval(values, seed=seed)
    columns = {
        "value": mean_of(values), "uniform": mean_of(level), "shuffled": mean_of(other),
        "spread": spread_of(values), "low": ends[:, 0], "high": ends[:, 1],
    }  # fmt: skip
    numbers = {name: x.tolist() for name, x in columns.items()}
    return [
        Measured(
            **{name: x[at] for name, x in numbers.items()},
            texts=tuple(each),
            reason=(reason or REFUSED) if math.isnan(numbers["value"][at]) else "",
        )
        for at, each in enumerate(values.tolist())
    ]


def _row(numbers: Numbers, name: str, heads: int) -> list[float]:
    return numbers.get(name, [math.nan] * heads)


def _reason(name: str, meant: Sequence[OfSite], note: str) -> str:
    """Why a score has no value: what the first text says of it, or of all."""
    said = [site.reasons[name] for site in meant if name in site.reasons]
    if said:
        return said[0]
    return "" if meant else note or MISSING[SCORE[name].text]
