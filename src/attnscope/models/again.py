"""The model of a recording once more: where it lies, and its text as it was read then."""

from __future__ import annotations

from pathlib import Path

from attnscope.errors import ModelError
from attnscope.models.encoded import Encoded
from attnscope.models.looking import Look
from attnscope.models.opening import open_model
from attnscope.models.own import SHIPPED
from attnscope.models.subject import Subject
from attnscope.recording.places import first_of

AS_WRITTEN = "The recording does not say which model's folder it was made from"


def why_not_again(look: Look) -> str | None:
    """Why the model of a recording cannot be run again on its text; None where it can be tried."""
    said = look.recording.model
    source = said.get("source")
    if not isinstance(source, str):
        return AS_WRITTEN
    if look.batch or any(site.batch > 1 for site in look.sites):
        return "The recording holds several texts at once"
    if not look.text:
        return "The recording does not hold its text"
    if source not in SHIPPED and not Path(source).is_dir():
        return f"The folder of its model is not there any more: {source}"
    return None


def open_again(look: Look) -> tuple[Subject, Encoded]:
    """The model of a recording and the text as it reads it, token by token what was recorded.

    Raises ModelError where it cannot be run again, and what open_model raises.
    """
    why = why_not_again(look)
    if why is not None:
        raise ModelError(why, hint="Open the model beside the recording, and run the text")
    said = look.recording.model
    own = said["source"] in SHIPPED or said.get("type") is None
    subject = open_model(
        said["source"], dtype=said.get("dtype"), attention=None if own else said.get("attention")
    )
    encoded = subject.complete(subject.encode(look.text))
    for site in look.sites:
        for side in ("rows", "columns"):
            axis, first = look.axis(site, side), first_of(site, side)
            now = encoded.places({axis.stack})[axis.stack].tokens[first : first + len(axis.tokens)]
            if [one["id"] for one in now] != [one["id"] for one in axis.tokens]:
                raise ModelError(
                    f"{subject.label} reads the text in other tokens than those that were recorded",
                    wanted="The same model, tokeniser and text",
                )
    return subject, encoded
