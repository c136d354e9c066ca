"""A recording: the runs of a model that were listened to, and in each run its sites in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from attnscope.errors import RecordingError
from attnscope.recording.places import Places
from attnscope.recording.site import Site
from attnscope.recording.told import told

Tokens = list[str] | list[list[int]]
"""What the columns stand for: the strings of one text, or ids (b t)."""


@dataclass(frozen=True)
class NotShown:
    """A layer of which no picture is given, and why. layer: None where the model gives it no number."""

    layer: int | None
    name: str
    reason: str


@dataclass(eq=False)
class Run:
    """One forward of the model, or one whole generate(). name: the module that was called, "" for the whole
    model.   forwards: how many forwards it made.   places: for each text of its batch what stands at the
    positions of each stack, where that is known and is not that of the whole recording.
    """

    index: int
    name: str = ""
    sites: list[Site] = field(default_factory=list)
    forwards: int = 1
    places: list[dict[str, Places]] = field(default_factory=list)

    def site(
        self, layer: int, kind: str = "self", stack: str = "decoder", *, order: int | None = None
    ) -> Site:
        """The site of a layer. A model with a single stack answers to either name; `order` picks a repeated
        call.

        Raises RecordingError, which lists what there is.
        """
        stacks = {site.stack for site in self.sites if site.kind == kind}
        wanted = next(iter(stacks)) if len(stacks) == 1 else stack
        for site in self.sites:
            fits = site.layer == layer and site.kind == kind and site.stack == wanted
            if fits and (order is None or site.order == order):
                return site
        raise RecordingError(
            f"There is no {stack} {kind} attention of layer {layer} in run {self.index}",
            wanted=f"One of {self._there()}",
            hint="recording.missing says which layers could not be shown, and why",
        )

    def _there(self) -> str:
        layers: dict[str, list[int]] = {}
        for site in self.sites:
            layers.setdefault(f"{site.stack} {site.kind}", []).append(site.layer)
        return (
            "; ".join(f"{name} {', '.join(map(str, which))}" for name, which in layers.items()) or "nothing"
        )


@dataclass(eq=False, repr=False)
class Recording:
    """runs: every forward in order.   tokens: what was handed to record().   model: a description of the
    model.

    missing: the layers of which no picture is given, each with its reason.   keep: what each site holds.
    places: what stands at the positions of a stack, "decoder" or "encoder", where that is known.
    """

    runs: list[Run] = field(default_factory=list)
    tokens: Tokens | None = None
    model: dict[str, Any] = field(default_factory=dict)
    missing: list[NotShown] = field(default_factory=list)
    keep: str = "qkv"
    places: dict[str, Places] = field(default_factory=dict)

    @property
    def sites(self) -> list[Site]:
        """The sites of the last run; empty before the first."""
        return self.runs[-1].sites if self.runs else []

    def site(self, layer: int, kind: str = "self", stack: str = "decoder") -> Site:
        """The site of a layer in the last run. Raises RecordingError."""
        if not self.runs:
            raise RecordingError("Nothing has been recorded yet", hint="Run the model inside the with block")
        return self.runs[-1].site(layer, kind, stack)

    def __repr__(self) -> str:
        """One line: what was recorded, and what its certificates say."""
        return f"<{told(self)}>"

    def _repr_html_(self) -> str:
        """The same line in a notebook, which draws a recording only where it is told to."""
        return f"<p>{escape(told(self))}. <code>attnscope.show(recording)</code> draws it.</p>"

    def save(self, path: str | Path) -> Path:
        """Writes the recording as a folder, whole or not at all; a recording already there is replaced.

        Returns the folder. Raises RecordingError where the path holds something else, or a mask is too
        large to store.
        """
        from attnscope.recording.writing import write

        return write(self, Path(path))

    def to_dict(self) -> dict[str, Any]:
        """What was recorded, as plain data without tensors: model, tokens, runs, sites, missing."""
        from attnscope.recording.manifest import describe

        return describe(self)
