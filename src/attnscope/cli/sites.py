"""The sites and heads of a saved recording, as `map` and `cells` name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from attnscope.errors import RecordingError

if TYPE_CHECKING:
    from attnscope.recording import Recording, Run, Site


def recording_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what says which run and text of a recording is meant."""
    for option in (
        click.option("--batch", type=int, default=0, show_default=True, metavar="B", help="Which text."),
        click.option("--run", type=int, metavar="R", help="Which run, counted from 0. Default: the last."),
    ):
        command = option(command)
    return command


def open_run(folder: str, run: int | None, batch: int) -> tuple[Recording, Run]:
    """Return a saved recording and one of its runs. Raises BrokenRecording, RecordingError."""
    from attnscope.files import home_made
    from attnscope.recording import load

    if folder == "":
        raise click.UsageError("FOLDER is empty; the folder of a saved recording is wanted.")
    recording = load(home_made(folder, RecordingError))
    if not recording.runs or not any(one.sites for one in recording.runs):
        raise RecordingError(f"{folder} is a recording without a call of attention")
    at = len(recording.runs) - 1 if run is None else run
    if not 0 <= at < len(recording.runs):
        raise RecordingError(f"There is no run {run}", wanted=f"0 to {len(recording.runs) - 1}")
    texts = max((site.batch for site in recording.runs[at].sites), default=0)
    if not 0 <= batch < texts:
        raise RecordingError(f"Run {at} has no text {batch}", wanted=f"0 to {texts - 1}")
    return recording, recording.runs[at]


def site_of(run: Run, given: str) -> Site:
    """Return the site that was given: its place in the run, counted from 0, or its module's name.

    Raises RecordingError, which lists what there is.
    """
    if given.isdecimal() and len(given) < 8 and int(given) < len(run.sites):
        return run.sites[int(given)]
    named = [site for site in run.sites if site.name == given]
    if named:
        return named[0]
    listed = [f"{at} {site.name}" for at, site in enumerate(run.sites)]
    shown = ", ".join(listed if len(listed) <= 6 else [*listed[:3], "…", *listed[-2:]])
    raise RecordingError(f"There is no site {given:.80} in run {run.index}", wanted=f"One of {shown}")


def heads_of(site: Site) -> list[int]:
    """Return the model's numbers of the heads that were kept."""
    return list(range(site.heads)) if site.kept is None else list(site.kept)


def stretch(given: str | None, size: int, what: str) -> slice:
    """Return first:end as a slice of 0:size; either may be left out, and None is all of it.

    Raises RecordingError.
    """
    first, colon, end = (given or ":").partition(":")
    numbers = [word.strip().replace(",", "").replace("_", "") for word in (first, end)]
    if not colon or any(word and not (word.isdecimal() and len(word) < 12) for word in numbers):
        raise RecordingError(
            f"--{what} {given!s:.40}", wanted=f"first:end within 0:{size}, as in --{what} 0:{min(size, 64)}"
        )
    first_place, end_place = int(numbers[0] or 0), int(numbers[1] or size)
    if not first_place < end_place <= size:
        named = "columns" if what == "cols" else what
        raise RecordingError(f"There are no {named} {given}", wanted=f"first:end within 0:{size}")
    return slice(first_place, end_place)
