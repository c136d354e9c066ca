"""Which heads, rows and columns of a recording are meant, checked once for every export."""

from __future__ import annotations

from dataclasses import dataclass, field

from attnscope.errors import RecordingError, TooLarge
from attnscope.recording import Recording, Site
from attnscope.recording.asked import Where, cut_of, index_of
from attnscope.recording.refusals import not_measured

LARGEST = 2**24
"""Cells that one export holds: 64 MB in float32."""

Place = int | str | Site | None
"""A site: its number in the run, its module's name, itself, or None for all."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """heads: each with its site and what is wanted of its rows and columns.   batch: which text.   values:
    whether weight times length of value is wanted.
    """

    recording: Recording = field(repr=False)
    heads: list[tuple[Site, int]]
    rows: Where
    cols: Where
    batch: int
    values: bool = False

    def part(self, site: Site) -> tuple[slice, slice]:
        """Return the rows and columns that are wanted of a site."""
        return cut_of(self.rows, site.tq, "row"), cut_of(self.cols, site.tk, "column")

    @property
    def cells(self) -> int:
        """Return how many cells there are, seen or not."""
        parts = (self.part(site) for site, _ in self.heads)
        return sum((rows.stop - rows.start) * (cols.stop - cols.start) for rows, cols in parts)


def wanted(
    recording: Recording, site: Place = None, head: int | None = None, *, rows: Where = None,
    cols: Where = None, run: int = -1, batch: int = 0, values: bool = False,
) -> Wanted:  # fmt: skip
    """Return what is meant; without a site all of the run, without a head all that were kept.

    Raises RecordingError and ShapeError for what is not there, NotKept for a head that was left out, and with
    `values` for a site whose lengths of values are not known.
    """
    if not recording.runs or not -len(recording.runs) <= run < len(recording.runs):
        raise RecordingError(f"There is no run {run}", wanted=f"0 to {len(recording.runs) - 1}")
    sites = recording.runs[run].sites
    if not sites:
        raise RecordingError(f"Run {run} holds no call of attention")
    chosen = sites if site is None else [site_of(sites, site)]
    index_of(batch, max(one.batch for one in chosen), "batch")
    for one in chosen if head is not None else []:
        one.head_at(head if head is not None else 0)
    heads = [
        (one, h % one.heads)
        for one in chosen
        for h in ([head] if head is not None else range(one.heads) if one.kept is None else one.kept)
    ]
    found = Wanted(recording, heads, rows, cols, batch, values)
    for one in chosen:
        found.part(one)
        if values and one.lengths.values is None:
            raise not_measured(one)
    return found


def site_of(sites: list[Site], given: int | str | Site) -> Site:
    """Return the site that was given. Raises ShapeError, RecordingError, which lists what there is."""
    if isinstance(given, int):
        return sites[index_of(given, len(sites), "site")]
    for one in sites:
        if one is given or (isinstance(given, str) and one.name == given):
            return one
    names = [f"{at} {one.name}" for at, one in enumerate(sites)]
    listed = ", ".join(names if len(names) <= 6 else [*names[:3], "…", *names[-2:]])
    named = repr(getattr(given, "name", given))
    raise RecordingError(f"There is no site {named:.80} in this run", wanted=f"One of {listed}")


def check_size(asked: Wanted, *, largest: int = LARGEST) -> None:
    """Refuse more cells than one export holds. Raises TooLarge."""
    if asked.cells > largest:
        raise TooLarge(
            f"{len(asked.heads):,} heads with {asked.cells:,} cells together were asked for",
            wanted=f"At most {largest:,} cells at once",
            hint="Ask for one head, or for fewer rows or columns",
        )
