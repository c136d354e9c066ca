"""What the page may open: the models that ship, the model, the recordings and the surveys named at start.

A request names an entry, never a path.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from attnscope.measure import HeadTable
from attnscope.models import Description, Look, Subject, open_model, shipped_models
from attnscope.web.refusals import Refusal

SAMPLE = "ROMEO:\nBut, soft! what light"


@dataclass(frozen=True)
class Entry:
    """One model on offer, or one look at a recording, which needs no text."""

    description: Description
    open: Callable[[], Subject | Look]
    recorded: bool = False


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The models and recordings on offer, the first of them by default, each opened once.

    surveys: tables of heads by name; no name is that of a model.   alone: held while a model runs, since a
    recording hears every thread that runs its model.
    """

    entries: Mapping[str, Entry]
    text: str = SAMPLE
    surveys: Mapping[str, HeadTable] = field(default_factory=dict)
    alone: threading.Lock = field(default_factory=threading.Lock, repr=False, init=False)
    _opened: dict[str, Subject | Look] = field(default_factory=dict, repr=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, init=False)

    def open(self, model: str) -> Subject | Look:
        """Return the model or the look of that id, opened at its first use; Refusal 404 where none is."""
        self.check(model)
        with self._lock:
            if model not in self._opened:
                self._opened[model] = self.entries[model].open()
            return self._opened[model]

    def check(self, model: str) -> None:
        """Refuse an id that is not on offer."""
        if model not in self.entries:
            raise Refusal(
                404,
                f"There is no model {model[:60]!r} here",
                wanted=f"On offer are {', '.join(self.entries)}",
                hint="Other models are named at start: attnscope app --model NAME",
            )

    def recorded(self, model: str) -> bool:
        """Return whether that id is a recording, which is shown without a text."""
        return model in self.entries and self.entries[model].recorded

    def to_dict(self) -> dict[str, Any]:
        """Return the list and the default as JSON values."""
        return {
            "models": [
                {**entry.description.to_dict(), "recorded": entry.recorded} for entry in self.entries.values()
            ],
            "default": {"model": next(iter(self.entries)), "text": self.text},
        }


def catalogue_with(
    subject: Subject | None, text: str | None = None, *, looks: Sequence[Look] = (),
    surveys: Sequence[tuple[str, HeadTable]] = (),
) -> Catalogue:  # fmt: skip
    """Return the shipped models, with looks at recordings and `subject` before them, `text` as the page's
    first text, and surveys by name. A recording or survey of a name that is taken is told apart by a number.
    """
    entries: dict[str, Entry] = {}
    if subject is not None:
        entries[subject.id] = Entry(subject.description, lambda: subject)
    for look in looks:
        name = _free(look.description.id, entries)
        named = replace(look.description, id=name, label=name)
        entries[named.id] = Entry(named, _shower(replace(look, description=named)), recorded=True)
    for one in shipped_models():
        entries.setdefault(one.id, Entry(one, _opener(one.id)))
    tables: dict[str, HeadTable] = {}
    for given, table in surveys:
        tables[_free(given, {*entries, *tables})] = table
    return Catalogue(entries, SAMPLE if text is None else text, tables)


def _free(wanted: str, taken: Collection[str]) -> str:
    """Return a name that nothing else has."""
    reserved = {*taken, *(one.id for one in shipped_models())}
    name, number = wanted, 2
    while name in reserved:
        name, number = f"{wanted} ({number})", number + 1
    return name


def _shower(look: Look) -> Callable[[], Look]:
    return lambda: look


def _opener(name: str) -> Callable[[], Subject]:
    return lambda: open_model(name)
