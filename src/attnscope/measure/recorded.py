"""A recording as the texts of a survey: each text of each run, measured as it lies there, without a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from attnscope.errors import NothingRecorded, NotKept
from attnscope.measure.attention import Uniform
from attnscope.measure.found import OfSite, OfText
from attnscope.measure.run import measured
from attnscope.measure.texts import Text
from attnscope.models import axis_of
from attnscope.recording import Recording, Run, Site

NO_MODEL = "A recording is not run again: what needs random tokens, or the same text shuffled, is left out"


Told = Callable[[str, int, int], None]
"""Called with what is measured, how many calls of attention are done, and of how many."""


def texts_of(recording: Recording) -> list[tuple[Run, int]]:
    """The texts of a recording in the order in which they are measured: a run, and which of its batch."""
    return [
        (run, batch)
        for run in recording.runs
        for batch in range(max((site.batch for site in run.sites), default=0))
    ]


def of_recording(recording: Recording, told: Told | None = None) -> list[OfText]:
    """What each text of each run gives. Raises NothingRecorded where there is no call; `told` may raise to
    leave.
    """
    texts = texts_of(recording)
    if not texts:
        raise NothingRecorded("The recording holds no call of attention", wanted="One call or more")
    found: list[OfText] = []
    done, total = 0, sum(len(run.sites) for run, _ in texts)
    for run, batch in texts:
        name = f"run {run.index}, text {batch}"
        sites = _sites(recording, run, batch, partial(_tell, told, name, done, total))
        done += len(run.sites)
        tokens = max((site.tk for site in run.sites), default=0)
        found.append(OfText(len(found), "plain", name, tokens, sites, note=NO_MODEL))
    _tell(told, "", total, total, 0)
    return found


def _tell(told: Told | None, text: str, done: int, total: int, more: int) -> None:
    if told is not None:
        told(text[:1].upper() + text[1:], done + more, total)


def _sites(recording: Recording, run: Run, batch: int, begun: Callable[[int], None]) -> tuple[OfSite, ...]:
    uniform, found = Uniform(), []
    for at, site in enumerate(run.sites):
        begun(at)
        if batch >= site.batch:
            continue
        text = Text("plain", "", ids_of(recording, site, batch))
        try:
            one = measured(site, text, uniform, batch=batch)
        except NotKept as error:
            heads = tuple(range(site.heads)) if site.kept is None else site.kept
            about = (site.name, site.order, site.layer, site.kind, site.stack, heads)
            one = OfSite(*about, {}, {}, reasons={"entropy": str(error)})
        found.append(replace(one, order=_order(run, site)))
    return tuple(found)


def _order(run: Run, site: Site) -> int:
    """The place of a call among those of its module: a generation may have several grids of one call."""
    return [one.index for one in run.sites if one.name == site.name].index(site.index)


def ids_of(recording: Recording, site: Site, batch: int) -> tuple[int, ...] | None:
    """Numbers that are equal where tokens of the keys are; None where the tokens are not known."""
    tokens = axis_of(recording, site, "columns", batch=batch).tokens
    ids = [token.get("id", -1) for token in tokens]
    if all(isinstance(one, int) and one >= 0 for one in ids):
        return tuple(ids)
    texts = [str(token["text"]) for token in tokens]
    if all(
        token["kind"] == "place" and not text.startswith("#")
        for token, text in zip(tokens, texts, strict=True)
    ):
        return None
    number: dict[str, int] = {}
    return tuple(number.setdefault(text, len(number)) for text in texts)
