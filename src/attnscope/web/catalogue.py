"""What the page may open: the models that ship, the model and the recordings named at start.

A request names an entry, never a path.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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
    """The models and recordings on offer, the first of them by default, each opened once."""

    entries: Mapping[str, Entry]
    text: str = SAMPLE
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
    subject: Subject | None, text: str | None = None, *, looks: Sequence[Look] = ()
) -> Catalogue:
    """Return the shipped models, with looks at recordings and `subject` before them, and `text` as the page's
    first text. A recording of a name that is taken is told apart by a number.
    """
    entries: dict[str, Entry] = {}
    if subject is not None:
        entries[subject.id] = Entry(subject.description, lambda: subject)
    for look in looks:
        named = _free(look.description, entries)
        entries[named.id] = Entry(named, _shower(replace(look, description=named)), recorded=True)
    for one in shipped_models():
        entries.setdefault(one.id, Entry(one, _opener(one.id)))
    return Catalogue(entries, SAMPLE if text is None else text)


def _free(description: Description, taken: Mapping[str, Entry]) -> Description:
    """Return the description with an id and label of its own."""
    reserved = {*taken, *(one.id for one in shipped_models())}
    name, number = description.id, 2
    while name in reserved:
        name, number = f"{description.id} ({number})", number + 1
    return replace(description, id=name, label=name)


def _shower(look: Look) -> Callable[[], Look]:
    return lambda: look


def _opener(name: str) -> Callable[[], Subject]:
    return lambda: open_model(name)
