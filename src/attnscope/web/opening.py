"""Where the app can show a head of a survey: the model on offer, or the recording, and each of its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from attnscope.measure import HeadTable
from attnscope.measure.recorded import texts_of
from attnscope.models import Look
from attnscope.web.catalogue import Catalogue

LONGEST_LINK = 30_000
"""Bytes that a text may have in an address; servers refuse more than twice that."""

MAP_FROM = 512
"""Tokens past which a text is opened in Map: Explore's heatmap draws no more at once."""


@dataclass(frozen=True)
class Opening:
    """models: the entries whose heads these are, the one to open first.   texts: of each text of the survey
    the entry and what it is given to read, None where it cannot be opened.
    """

    models: tuple[str, ...]
    texts: tuple[dict[str, Any] | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"model": self.models[0] if self.models else None, "texts": list(self.texts)}


def of_table(catalogue: Catalogue, table: HeadTable, model: str | None = None) -> Opening:
    """What opens the heads of a survey: `model`, or what of the catalogue it was made of: the model of its
    name and size first, then recordings of that model.
    """
    models = (model,) if model is not None else _alike(catalogue, table)
    first = models[0] if models else None
    if first is None or catalogue.recorded(first):
        return Opening(models, (None,) * len(table.texts))
    return Opening(models, tuple(_text(first, text.spelled, text.tokens) for text in table.texts))


def of_recording(catalogue: Catalogue, name: str) -> Opening:
    """The entries of a recording that was measured over its own texts."""
    look = _look(catalogue, name)
    of_place = {
        (look.run % len(look.recording.runs), look.batch): entry
        for entry in same_recording(catalogue, name)
        for look in [_look(catalogue, entry)]
    }
    texts = []
    for run, batch in texts_of(look.recording):
        entry = of_place.get((look.recording.runs.index(run), batch))
        tokens = max((site.tk for site in run.sites), default=0)
        texts.append(None if entry is None else {"model": entry, "text": None, "map": tokens > MAP_FROM})
    return Opening((name, *(one for one in of_place.values() if one != name)), tuple(texts))


def same_recording(catalogue: Catalogue, name: str) -> Sequence[str]:
    """The entries that show the recording of this one, in order."""
    recording = _look(catalogue, name).recording
    return [
        other
        for other, entry in catalogue.entries.items()
        if entry.recorded and _look(catalogue, other).recording is recording
    ]


def _look(catalogue: Catalogue, name: str) -> Look:
    opened = catalogue.open(name)
    assert isinstance(opened, Look)
    return opened


def _text(model: str, text: str, tokens: int) -> dict[str, Any] | None:
    if not text or len(quote(text)) > LONGEST_LINK:
        return None
    return {"model": model, "text": text, "map": tokens > MAP_FROM}


def _alike(catalogue: Catalogue, table: HeadTable) -> tuple[str, ...]:
    said = table.model
    found, recorded = [], []
    for name, entry in catalogue.entries.items():
        if entry.recorded:
            model = _look(catalogue, name).recording.model
            label = model.get("label")
            if label is not None and label == said.get("label"):
                recorded.append(name)
        elif name == said.get("id") and _size(entry.description.to_dict()) == _size(said):
            found.append(name)
    return (*found, *recorded)


def _size(model: Any) -> tuple[Any, ...]:
    return tuple(model.get(one) for one in ("layers", "heads", "kind"))
