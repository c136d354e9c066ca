"""What the page draws of a finished look: arrays in the shapes that the routes state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnscope.core.fold import Summary, summarize
from attnscope.maps import Maps, Pyramid
from attnscope.models import Axis, Look, Prediction
from attnscope.models.reading import HIDDEN, column_of, row_of, weights_of
from attnscope.plain import plain
from attnscope.recording import Cell, Site
from attnscope.recording.overview import block_of
from attnscope.recording.shelf import InMemory
from attnscope.recording.sight import Sight, sight_of
from attnscope.web.refusals import Refusal
from attnscope.web.values import LENGTH, check_cells, value_pictures

LARGEST_GRID = 512  # rows and columns of one heatmap: 1 MB


@dataclass(frozen=True, eq=False)
class Views:
    """The views of one look; sites are numbered as in its recording."""

    look: Look
    _made: dict[int, Summary] = field(default_factory=dict, repr=False, init=False)
    _sights: dict[int, Sight] = field(default_factory=dict, repr=False, init=False)
    _pictures: dict[int, Tensor] = field(default_factory=dict, repr=False, init=False)
    _maps: Maps = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_maps", Maps(self.sites))

    @property
    def sites(self) -> list[Site]:
        """Return the sites in the order of the run."""
        return list(self.look.sites)

    @property
    def predicted(self) -> int:
        """Return after how many positions a prediction is at hand."""
        return 0 if self.look.predicted is None else len(self.look.predicted.entropy)

    def predictions(self, i: int, top: int = 8) -> Prediction:
        """Return what the model expected after position `i`. Raises ModelError, ShapeError."""
        return self.look.predictions(i, top)

    def axis(self, site: Site, side: str) -> Axis:
        """Return what stands along the "rows" or the "columns" of a site."""
        return self.look.axis(site, side)

    def shape(self, place: int) -> tuple[int, int]:
        """Return how many places stand along the rows and the columns of a site."""
        return self.sites[place].tq, self.sites[place].tk

    def told(self, place: int) -> dict[str, Any]:
        """Return what the result says of a site in place of what it says of its tokens; nothing here."""
        return {}

    def prepare(self, place: int) -> None:
        """Make what is asked of every head of a site: its small picture, and in one walk its sums where they
        were not kept. Of a recording on disk no more is read than that.
        """
        site = self.sites[place]
        self._sights[place] = sight = sight_of(site, batch=self.look.batch)
        blocks, block = site.shelf.summed("block_max", "block_seen"), block_of(site.tq, site.tk)
        drawn = not_drawn(site) is None
        if drawn and (blocks is None or (block is not None and blocks["block_max"] is None)):
            whole = summarize(site.q, site.k, site.scoring, normaliser=site.normaliser, top=0, block=block)
            self._made[place] = whole
            blocks = {"block_max": whole.block_max, "block_seen": whole.block_seen}
        if blocks is None or not (drawn or blocks["block_max"] is not None):
            self._pictures[place] = torch.full((site.heads, 1, 1), math.nan)
        else:
            self._pictures[place] = pictures(site, **blocks, batch=self.look.batch)
        first, end = sight.rows or (0, site.tq)
        if drawn and (first, end) != (0, site.tq):
            of_text = slice(first, end)  # padded queries are no part of any sum
            self._made[place] = summarize(
                site.q, site.k, site.scoring, normaliser=site.normaliser, rows=of_text, top=0
            )

    def sums(self, place: int, *names: str) -> Mapping[str, Any] | None:
        """Return sums of a site over the rows that stand for text, (b h ...), by their names in a Summary;
        None where there are none.
        """
        if place not in self._sights:
            self.prepare(place)
        if place in self._made:
            return {name: getattr(self._made[place], name) for name in names}
        return self.sites[place].shelf.summed(*names)

    def sight(self, place: int) -> Sight:
        """Return what the rows of a site see."""
        if place not in self._sights:
            self.prepare(place)
        return self._sights[place]

    def picture_of(self, place: int) -> Tensor:
        """Return the small pictures of a site's heads (heads rows cols)."""
        self.sight(place)
        return self._pictures[place]

    def thumbnails(self) -> Tensor:
        """Return every head's small picture (heads rows cols): HIDDEN where nothing is visible, NaN if
        refused or not kept.

        Past SIDE tokens a pixel is the largest weight of its block. Heads of calls with fewer rows or keys
        are filled up with HIDDEN.
        """
        return self._together([self.picture_of(place) for place in range(len(self.sites))])

    def value_thumbnails(self) -> Tensor:
        """Return the same of weight times the length of the value after W_O; where that is not known, of the
        weights. Refusal for many cells.
        """
        check_cells(self.sites)
        parts = list[Tensor]()
        for place, site in enumerate(self.sites):
            kept = range(site.heads) if site.kept is None else site.kept
            drawn = not_drawn(site) is None
            heads = [head for head in kept if drawn and refused(site, head, self.look.batch) is None]
            parts.append(value_pictures(site, self.picture_of(place), heads, self.look.batch))
        return self._together(parts)

    def _together(self, parts: list[Tensor]) -> Tensor:
        """Return small pictures of sites as one (heads rows cols), filled up with HIDDEN."""
        rows, cols = (max((part.shape[axis] for part in parts), default=0) for axis in (1, 2))
        whole = torch.full((sum(part.shape[0] for part in parts), rows, cols), HIDDEN)
        start = 0
        for part in parts:
            whole[start : start + part.shape[0], : part.shape[1], : part.shape[2]] = part
            start += part.shape[0]
        return whole

    def grid(self, place: int, head: int, rows: slice, cols: slice) -> Tensor:
        """Return a block of weights (r c), HIDDEN where not visible; Refusal past LARGEST_GRID."""
        check_size(rows, cols)
        return weights_of(self.certified(place, head), head, rows, cols, batch=self.look.batch)

    def row(self, place: int, head: int, i: int) -> Tensor:
        """Return where query `i` looks (tk)."""
        return row_of(self.certified(place, head), head, i, batch=self.look.batch)

    def column(self, place: int, head: int, j: int) -> Tensor:
        """Return who looks at key `j` (tq)."""
        return column_of(self.certified(place, head), head, j, batch=self.look.batch)

    def sides(self, place: int, head: int) -> dict[str, Tensor]:
        """Return what stands along a heatmap's sides: per query and per key."""
        site = self.certified(place, head)
        sums, at = self.sums(place, "start", *SIDES), site.head_at(head)
        if sums is None:
            raise Refusal(409, f"{site.name} has no sums", wanted="They were not kept")
        row = self.look.batch if sums["entropy"].shape[0] > 1 else 0
        sides = {name: sums[name][row, at].float() for name in SIDES}
        found = {name: _over_all(values, sums["start"], site, name) for name, values in sides.items()}
        lengths = site.lengths.values
        return found if lengths is None else {**found, LENGTH: lengths[self.look.batch, at]}

    def cell(self, place: int, head: int, i: int, j: int) -> dict[str, Any]:
        """Return the arithmetic of one cell as JSON values, its part in the value mix beside the rest."""
        site = self.certified(place, head)
        cell = site.cell(head, i, j, batch=self.look.batch)
        return {**cell_fields(cell), "through": site.lengths.through}

    def map_of(self, place: int, head: int, *, values: bool = False) -> Pyramid:
        """Return the map of a head, of its weights or of weight times value, or refuse: one whose certificate
        failed has none. Raises NotKept where lengths of values are not known.
        """
        self.certified(place, head)
        return self._maps.pyramid(place, head, batch=self.look.batch, values=values)

    @property
    def nbytes(self) -> int:
        """Return the bytes that the recording, the pictures and the predictions hold."""
        maps = self._maps.nbytes
        held = (
            maps + sum(_nbytes(site) for site in self.sites) + sum(t.nbytes for t in self._pictures.values())
        )
        return held + (self.look.predicted.nbytes if self.look.predicted is not None else 0)

    def certified(self, place: int, head: int) -> Site:
        """Return a site, or refuse: a head whose certificate failed is not drawn."""
        site = self.sites[place]
        refusal = refused(site, head, self.look.batch)
        if refusal is not None:
            raise refusal
        return site


def check_size(rows: slice, cols: slice) -> None:
    """Refuse a block of more than LARGEST_GRID rows or columns."""
    if rows.stop - rows.start > LARGEST_GRID or cols.stop - cols.start > LARGEST_GRID:
        raise Refusal(
            400,
            f"{rows.stop - rows.start:,} x {cols.stop - cols.start:,} cells were asked for",
            wanted=f"At most {LARGEST_GRID} x {LARGEST_GRID} at once",
            hint="Ask for a window: rows=0:512&cols=0:512",
        )


def cell_fields(cell: Cell) -> dict[str, Any]:
    """Return a cell as JSON values: "value" is the length of v_j, "mix" weight times that, "v" and "part"
    lists.
    """
    own = cell.to_dict()
    mixed = own.pop("value") or {}
    names = {"value": "norm", "mix": "mix", "v": "v", "part": "part"}
    fields: dict[str, Any] = plain(own | {name: mixed.get(key) for name, key in names.items()})
    return fields


def not_drawn(site: Site) -> str | None:
    """Return why no weight of a site can be drawn; None where they can."""
    if {"q", "k"} <= site.shelf.names:
        return None
    if site.keep == "summary":
        return "The recording was made with keep=summary: sums of each head were kept, and no weights."
    return (
        "This model computes attention in code of its own. What was heard is its softmax: its small picture, "
        "its entropy and its certificate are exact, but q and k are not known, so there are no single "
        "weights to open."
    )


def refused(site: Site, head: int, batch: int = 0) -> Refusal | None:
    """Return why a head may not be shown; None where it may."""
    certificate = site.certificate
    if certificate is None:
        return None
    at = site.head_at(head)
    if certificate.verdict[batch][at] != "refused":
        return None
    z = float(certificate.z[batch, at])
    return Refusal(
        409,
        f"Layer {site.layer} head {head} refused",
        wanted=f"Its rows do not re-add to the model's output: residual {z:.3g} times what rounding allows. "
        "Nothing of this head is drawn",
    )


def pictures(site: Site, block_max: Tensor | None, block_seen: Tensor | None, *, batch: int = 0) -> Tensor:
    """Return the small pictures of every head of a site (heads rows cols), NaN of one refused or not kept.

    A short text's picture is its grid; a longer one's is the largest weight of each of a summary's blocks.
    """
    kept = range(site.heads) if site.kept is None else site.kept
    drawn = [head for head in kept if refused(site, head, batch) is None]
    if block_max is None or block_seen is None:
        every = slice(0, site.tq), slice(0, site.tk)
        found = torch.full((site.heads, site.tq, site.tk), math.nan)
        for head in drawn:
            found[head] = weights_of(site, head, *every, batch=batch)
        return found
    maxima = block_max[batch if block_max.shape[0] > 1 else 0].float()
    seen = (block_seen[batch if block_seen.shape[0] > 1 else 0] > 0).expand_as(maxima)
    blocks = torch.where(seen, maxima, HIDDEN)
    found = torch.full((site.heads, *blocks.shape[1:]), math.nan)
    for head in drawn:
        found[head] = blocks[site.head_at(head)]
    return found


def _over_all(values: Tensor, start: int, site: Site, name: str) -> Tensor:
    """Return what is told of rows for every row, NaN for those left out; what is told of keys as it is."""
    if name in PER_KEY or len(values) == site.tq:
        return values
    whole = values.new_full((site.tq,), math.nan)
    whole[start : start + len(values)] = values
    return whole


PER_KEY = ("received", "received_mean")
SIDES = ("entropy", "largest", "first", "sink", *PER_KEY)
"""What stands along the sides of a heatmap, by the names of a Summary."""


def _nbytes(site: Site) -> int:
    """Return the bytes of what a site holds; q, k and v may be cut from one storage, which counts once.

    What lies on disk is mapped, and holds none.
    """
    if not isinstance(site.shelf, InMemory):
        return 0
    storages = [t.untyped_storage() for t in site.shelf.tensors.values()]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())
