"""A recording as looks: one for each run and for each text of its batch, without the model."""

from __future__ import annotations

from pathlib import Path

from attnscope.errors import NothingRecorded, RecordingError
from attnscope.models.axes import axis_of
from attnscope.models.looking import Look
from attnscope.models.subject import Description, Kind, Unit
from attnscope.models.tokens import raw_of, spelled
from attnscope.recording import Recording, Run, load

MOST = 64
"""Looks of one recording: past this, later runs and texts are reached from Python alone."""


def open_recording(folder: Path, *, name: str) -> list[Look]:
    """Return the looks of a saved recording, the last run first; tensors stay on disk until they are shown.

    `name` is what it is called. Raises BrokenRecording, and NothingRecorded where it holds no call.
    """
    recording = load(folder)
    runs = [(at, run) for at, run in enumerate(recording.runs) if run.sites]
    if not runs:
        raise NothingRecorded(
            f"{folder} is a recording without a call of attention", wanted="One call or more"
        )
    places = [(at, batch) for at, run in reversed(runs) for batch in range(max(s.batch for s in run.sites))][
        :MOST
    ]
    return [_look(recording, at, batch, name if len(places) == 1 else "", name) for at, batch in places]


def look_of(recording: Recording, *, run: int = -1, batch: int = 0) -> Look:
    """Return the look of one run and one text of a recording that is at hand, by default the last run.

    Raises NothingRecorded where it holds no call, RecordingError for a run or a text that is not there.
    """
    runs = recording.runs
    if not any(one.sites for one in runs):
        raise NothingRecorded(
            "The recording holds no call of attention", wanted="One call or more",
            hint="Run the model inside the with block",
        )  # fmt: skip
    if not -len(runs) <= run < len(runs):
        raise RecordingError(f"There is no run {run}", wanted=f"0 to {len(runs) - 1}")
    texts = max((site.batch for site in runs[run].sites), default=0)
    if not 0 <= batch < texts:
        raise RecordingError(f"Run {run} has no text {batch}", wanted=f"0 to {texts - 1}")
    name = str(recording.model.get("label") or recording.model.get("class") or "a model")
    return _look(recording, run % len(runs), batch, name, name)


def _look(recording: Recording, at: int, batch: int, alone: str, name: str) -> Look:
    run = recording.runs[at]
    said = [f"run {at}"] if len(recording.runs) > 1 else []
    said += [f"text {batch}"] if max(site.batch for site in run.sites) > 1 else []
    label = alone or " · ".join([name, *said])
    return Look(
        _described(recording, run, label), _text(recording, run, batch), recording, run=at, batch=batch
    )


def _text(recording: Recording, run: Run, batch: int) -> str:
    """Return the text as it was given, where it was kept, else what its tokens spell: "" for patches of a
    picture, whose names are no text.
    """
    given, listed = recording.model.get("text"), recording.model.get("texts")
    if isinstance(listed, list) and run.places and run.index < len(listed) == len(recording.runs):
        given = listed[run.index]
    if isinstance(given, str) and batch == 0:
        return given
    axis = axis_of(recording, run.sites[0], "columns", batch=batch)
    return "" if axis.grid is not None else spelled(map(raw_of, axis.tokens))


def _described(recording: Recording, run: Run, label: str) -> Description:
    return Description(
        id=label,
        label=label,
        context=max(site.tk for site in run.sites),
        unit=_unit(recording),
        layers=len({site.layer for site in run.sites}),
        heads=max(site.heads for site in run.sites),
        kind=_kind(run),
    )


def _unit(recording: Recording) -> Unit:
    """Return what a token is: as it was said, else a character where each of them is one."""
    said = recording.model.get("unit")
    if said in ("character", "token"):
        return "character" if said == "character" else "token"
    given = recording.tokens or []
    letters = all(isinstance(token, str) and len(token) == 1 for token in given)
    return "character" if given and letters else "token"


def _kind(run: Run) -> Kind:
    if any(site.kind == "cross" for site in run.sites):
        return "encoder-decoder"
    return "causal" if run.sites[0].stack == "decoder" else "bidirectional"
