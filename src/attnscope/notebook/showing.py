"""show(): what a notebook keeps of a recording, alive after it was saved, closed, and opened elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from attnscope.errors import RecordingError
from attnscope.exports.wanted import Place, site_of
from attnscope.files import place_of, write_new
from attnscope.notebook.plain import table
from attnscope.recording import Recording
from attnscope.recording.asked import Where
from attnscope.web.alone.held import Asked
from attnscope.web.alone.recording import LIMIT, Shown, Theme, shown

HEIGHT = 720
"""px of the frame in a notebook, where nothing else is said."""


@dataclass(frozen=True, eq=False, repr=False)
class Showing:
    """A picture that a notebook draws where it is the last thing in a cell.

    html: the whole page.   left: what had no room in it, in a sentence, "" where all had.   height: px of its
    frame.
    """

    html: str = field(repr=False)
    left: str
    height: int
    _text: str = field(repr=False)
    _title: str = field(repr=False)

    def save(self, path: str | Path) -> Path:
        """Write the page as one file that opens offline, and return its path. Raises RecordingError."""
        file = place_of(str(path), RecordingError)
        write_new(file, self.html.encode(), RecordingError)
        return file

    def __repr__(self) -> str:
        return self._text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return what IPython keeps: a frame, and a table where no HTML is shown."""
        return {"text/html": self._framed(), "text/plain": self._text}

    def _framed(self) -> str:
        """Return the page in a frame of its own: its styles stay inside, and it may run its script and no
        more. A host that takes frames away shows the table that lies under it.
        """
        page = escape(self.html, quote=False).replace('"', "&quot;")
        fill = "position:absolute;top:0;left:0;width:100%;height:100%;border:0;margin:0"
        hidden = "If no picture stands here, trust this notebook (in JupyterLab: File, Trust Notebook)."
        under = escape(f"{self._text}\n\n{hidden}")
        return (
            f'<div style="position:relative;width:100%;height:{self.height}px;overflow:hidden">'
            f'<pre aria-hidden="true" style="margin:0">{under}</pre>'
            f'<iframe title="{escape(self._title)}" sandbox="allow-scripts" style="{fill}" srcdoc="{page}">'
            "</iframe></div>"
        )


def show(
    recording: Recording, site: Place = None, head: int | None = None, rows: Where = None,
    *, run: int = -1, batch: int = 0, theme: Theme | None = None, height: int = HEIGHT, limit: int = LIMIT,
    values: bool = False,
) -> Showing:  # fmt: skip
    """Return the picture of a recording, as the page Explore draws it, for a notebook or a file.

    site: one call of attention alone, by its number in the run, its module's name, or as a Site.   head: one
    query head alone, which is also the first that is seen; without a site it is that of the third call, as in
    the app.   rows: queries, as a slice or a number.   run, batch: which run, and which text of it.   theme:
    "light" or "dark", by default that of the reader.   height: px of the frame.   limit: bytes of the page.
    values: open with the second picture, weight times the length of the key's value.

    What has no room in `limit` is named on the picture and in `.left`; nothing else is left out, but a head
    whose certificate was refused is not drawn. Raises RecordingError and ShapeError for what is not there,
    NothingRecorded for an empty recording, TooLarge where not one row has room, NotKept where lengths of
    values are asked for and not known.
    """
    if not isinstance(recording, Recording):
        raise RecordingError(
            f"show() got a {type(recording).__name__}",
            wanted="A Recording, from attnscope.record(model) or attnscope.load(folder)",
        )
    if not (isinstance(height, int) and 100 <= height <= 10_000):
        raise RecordingError(f"height={height!r}", wanted="100 to 10,000 px")
    if theme not in (None, "light", "dark"):
        raise RecordingError(f"theme={theme!r:.40}", wanted='"light", "dark", or None for the reader\'s own')
    place = _place(recording, site, run)
    if head is not None and place is None and recording.runs:
        place = min(2, len(recording.runs[run].sites) - 1)
    asked = Asked(place, head, rows)
    made = shown(recording, asked, run=run, batch=batch, limit=limit, theme=theme, values=values)
    return Showing(made.page, made.left, height, table(made), _title(made))


def _place(recording: Recording, site: Place, run: int) -> int | None:
    """Return the number of a site in its run. Raises RecordingError, which lists what there is."""
    if site is None or isinstance(site, int):
        return site
    sites = recording.runs[run].sites if recording.runs else []
    return sites.index(site_of(sites, site))


def _title(made: Shown) -> str:
    return f"Attention of {made.look.description.label}"
