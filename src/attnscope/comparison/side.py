"""One of the two that are compared: a run of a recording and a text of its batch, with what stands at its
places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnscope.errors import RecordingError
from attnscope.files import home_made
from attnscope.models.axes import axis_of
from attnscope.recording import Recording, Run, Site, load
from attnscope.recording.asked import index_of
from attnscope.recording.sight import sight_of

Key = tuple[str, str, int, int, int]
"""What a site is in its run, whatever the model: stack, kind, layer, order, segment."""


@dataclass(frozen=True, eq=False)
class Side:
    """recording, run, batch: which text of which run."""

    recording: Recording
    run: Run
    batch: int

    @property
    def sites(self) -> dict[Key, Site]:
        """The sites of the run by what they are."""
        return {
            (site.stack, site.kind, site.layer, site.order, site.segment): site for site in self.run.sites
        }

    @property
    def label(self) -> str:
        """What the model is called."""
        model = self.recording.model
        return str(model.get("label") or model.get("name") or model.get("class") or "a model")

    def tokens(self, site: Site, side: str) -> Sequence[Mapping[str, Any]]:
        """What stands along the "rows" or "columns" of a site."""
        return axis_of(self.recording, site, side, batch=self.batch).tokens

    def real(self, site: Site, side: str) -> list[int]:
        """The rows or columns of a site that are no padding."""
        padding = sight_of(site, batch=self.batch).padding
        size, first = (site.tk, 0) if side == "columns" else (site.tq, site.offset or 0)
        if side == "rows" and site.kind == "cross":
            return list(range(size))
        gone = {at - first for start, end in padding for at in range(start, end)}
        return [at for at in range(size) if at not in gone]

    def shape(self) -> str:
        """What the run holds, in words: "30 layers of 9 heads"."""
        kinds: dict[str, dict[int, list[int]]] = {}
        for site in self.run.sites:
            kinds.setdefault(f"{site.stack} {site.kind}", {}).setdefault(site.heads, []).append(site.layer)
        said = [
            f"{len(set(layers))} layers of {heads} heads" + (f" ({kind})" if len(kinds) > 1 else "")
            for kind, by_heads in kinds.items()
            for heads, layers in by_heads.items()
        ]
        return ", ".join(said) or "nothing"


def side_of(given: Recording | str | Path, run: int | None, batch: int) -> Side:
    """Return a side; `given` is a recording or its folder, `run` None the last.

    Raises BrokenRecording, RecordingError for a run or a text that is not there, ShapeError.
    """
    recording = given if isinstance(given, Recording) else load(home_made(given, RecordingError))
    if not any(one.sites for one in recording.runs):
        raise RecordingError("A recording without a call of attention", wanted="One call or more in each")
    at = len(recording.runs) - 1 if run is None else index_of(run, len(recording.runs), "run")
    texts = max((site.batch for site in recording.runs[at].sites), default=0)
    if not texts:
        raise RecordingError(f"Run {at} holds no call of attention", wanted="Another run")
    return Side(recording, recording.runs[at], index_of(batch, texts, "text"))
