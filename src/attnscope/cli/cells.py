"""`attnscope cells`: the largest weights of a saved recording, of one head or of all, with their tokens."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from attnscope.cli.forms import form_options
from attnscope.cli.progress import line
from attnscope.cli.sites import heads_of, open_run, recording_options, site_of

if TYPE_CHECKING:
    from attnscope.errors import RecordingError
    from attnscope.recording import Recording, Run, Site

Found = tuple[float, int, int, int, int]
"""-weight, site, head, i, j: in the order of the list."""


@click.command()
@click.argument("recording", metavar="FOLDER")
@click.option("--site", metavar="S", help="One call of attention alone: its number in the run, or its name.")
@click.option("--head", type=int, metavar="H", help="One query head alone, counted from 0.")
@click.option("-n", "number", type=int, default=20, show_default=True, metavar="N", help="How many cells.")
@click.option("--skip-first", is_flag=True, help="Leave out the first token of the text.")
@click.option(
    "--skip-near", type=int, default=0, show_default=True, metavar="D",
    help="Leave out keys closer than D tokens: 1 is the query's own, 2 its neighbours too.",
)  # fmt: skip
@click.option(
    "--values", is_flag=True,
    help="The largest of weight times the length of the key's value, beside both.",
)  # fmt: skip
@form_options
@recording_options
def command(
    *,
    recording: str,
    site: str | None,
    head: int | None,
    number: int,
    skip_first: bool,
    skip_near: int,
    values: bool,
    form: str | None,
    run: int | None,
    batch: int,
) -> None:
    """List the largest weights of a saved recording, with their tokens.

    Largest first. Heads whose certificate was refused, and calls of which no weights were kept, are left out
    and named; with --values also those whose lengths of values are not known.
    """
    opened, of_run = open_run(recording, run, batch)
    sites = of_run.sites if site is None else [site_of(of_run, site)]

    from attnscope.cli.printing import print_cells
    from attnscope.cli.rows import check_head

    if head is not None:
        for one in sites:
            check_head(one, head)
    left = {"skip_first": skip_first, "near": skip_near}
    search = _Search(of_run, head, number, left, batch=batch, values=values)
    found = search.largest(sites)
    sides = {at: _sides(opened, of_run.sites[at], batch) for at in {one[1] for one in found}}
    cells = [_told(of_run.sites[one[1]], one, sides[one[1]], batch if values else None) for one in found]
    print_cells(cells, search.left_out, form)


class _Search:
    """One search through heads, and what could not be searched."""

    def __init__(
        self, run: Run, head: int | None, n: int, left: dict[str, Any], *, batch: int, values: bool
    ) -> None:
        self.run, self.head, self.n, self.left = run, head, n, left
        self.of = {"batch": batch, "values": values}
        self.left_out: list[str] = []
        self.fault: RecordingError | None = None

    def largest(self, sites: list[Site]) -> list[Found]:
        """Return the n largest cells of these sites. Raises of_site()'s error where none can be read."""
        heads = [(site, head) for site in sites for head in self._heads(site)]
        show, found = line(), list[Found]()
        for done, (site, head) in enumerate(heads):
            if show is not None:
                show(f"{site.name}, head {head}", done, len(heads))
            found = heapq.nsmallest(self.n, [*found, *self._of_head(site, head)])
        if show is not None:
            show("", len(heads), len(heads))
        if self.fault is not None and len(self.left_out) == len(heads):
            raise self.fault
        return found

    def _heads(self, site: Site) -> list[int]:
        return heads_of(site) if self.head is None else [self.head]

    def _of_head(self, site: Site, head: int) -> Iterator[Found]:
        from attnscope.errors import RecordingError
        from attnscope.maps import Pyramid, largest_cells, of_site

        at = self.run.sites.index(site)
        try:
            pyramid = Pyramid(of_site(site, head, **self.of))  # type: ignore[arg-type]
        except RecordingError as error:
            self.fault = self.fault or error
            self.left_out.append(f"{site.name}, head {head}: {error.what}")
            return
        for cell in largest_cells(pyramid, self.n, **self.left):
            yield -cell.weight, at, head, cell.i, cell.j


def _sides(recording: Recording, site: Site, batch: int) -> list[Any]:
    """Return the tokens of a site's rows and of its columns."""
    from attnscope.models import axis_of

    return [axis_of(recording, site, side, batch=batch).tokens for side in ("rows", "columns")]


def _told(site: Site, found: Found, sides: list[Any], of_values: int | None) -> dict[str, Any]:
    """Return a cell as it is printed; of_values: the text of which length of value and product are told."""
    least, at, head, i, j = found
    back = None if site.kind == "cross" else i + (site.offset or 0) - j
    numbers: dict[str, Any] = {"weight": -least}
    if of_values is not None:
        from attnscope.recording.mixes import name_of

        mixes = site.mixes(head, i, j, batch=of_values)
        weight = float(site.weights(head, i, j, batch=of_values))
        numbers = {"weight": weight, "value_length": float(mixes.lengths), "weight_times_length": -least}
        numbers["times"] = name_of(site.lengths)
    return {
        "site": at, "name": site.name, "layer": site.layer, "head": head, "i": i, "j": j, **numbers,
        "back": back, "query": dict(sides[0][i]), "key": dict(sides[1][j]),
    }  # fmt: skip
