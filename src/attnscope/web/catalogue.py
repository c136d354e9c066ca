"""What the page may open: the models that ship and the one named at start. A request names an entry, never a
path.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from attnscope.models import Description, Subject, open_model, shipped_models
from attnscope.web.refusals import Refusal

SAMPLE = "ROMEO:\nBut, soft! what light"


@dataclass(frozen=True)
class Entry:
    """One model on offer."""

    description: Description
    open: Callable[[], Subject]


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The models on offer, the first of them by default, each opened once."""

    entries: Mapping[str, Entry]
    text: str = SAMPLE
    _opened: dict[str, Subject] = field(default_factory=dict, repr=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, init=False)

    def subject(self, model: str) -> Subject:
        """Return the model of that id, opened at its first use; Refusal 404 where there is none."""
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

    def to_dict(self) -> dict[str, Any]:
        """Return the list and the default as JSON values."""
        return {
            "models": [entry.description.to_dict() for entry in self.entries.values()],
            "default": {"model": next(iter(self.entries)), "text": self.text},
        }


def catalogue_with(subject: Subject | None, text: str | None = None) -> Catalogue:
    """Return the shipped models, with `subject` before them and `text` as the page's first text."""
    entries = {one.id: Entry(one, _opener(one.id)) for one in shipped_models()}
    if subject is not None:
        chosen = Entry(subject.description, lambda: subject)
        entries = {subject.id: chosen, **{name: e for name, e in entries.items() if name != subject.id}}
    return Catalogue(entries, SAMPLE if text is None else text)


def _opener(name: str) -> Callable[[], Subject]:
    return lambda: open_model(name)
