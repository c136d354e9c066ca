"""What the page draws of a finished look: arrays in the shapes that the routes state."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnscope.core.fold import Summary, summarize
from attnscope.models import Look
from attnscope.models.reading import HIDDEN, column_of, row_of, weights_of
from attnscope.plain import plain
from attnscope.recording import Cell, Site
from attnscope.recording.site import SIDE
from attnscope.web.refusals import Refusal

LARGEST_GRID = 512  # rows and columns of one heatmap: 1 MB


@dataclass(frozen=True, eq=False)
class Views:
    """The views of one look; sites are numbered as in its recording."""

    look: Look
    _summaries: dict[int, Summary] = field(default_factory=dict, repr=False, init=False)
    _pictures: dict[int, Tensor] = field(default_factory=dict, repr=False, init=False)

    @property
    def sites(self) -> list[Site]:
        """Return the sites in the order of the run."""
        return list(self.look.sites)

    @property
    def predicted(self) -> int:
        """Return after how many positions a prediction is at hand."""
        return 0 if self.look.predicted is None else len(self.look.predicted.entropy)

    def prepare(self, place: int) -> None:
        """Make what is asked of every head of a site, in one walk: its summary and its small picture."""
        site = self.sites[place]
        summary = site.summary() if site.heard_scores_alone else _summary(site)
        self._summaries[place] = summary
        self._pictures[place] = pictures(site, summary)

    def summary(self, place: int) -> Summary:
        """Return the summary of a site, (1 h ...)."""
        if place not in self._summaries:
            self.prepare(place)
        return self._summaries[place]

    def thumbnails(self) -> Tensor:
        """Return every head's small picture (heads rows cols): HIDDEN where nothing is visible, NaN if
        refused.

        Past SIDE tokens a pixel is the largest weight of its block. Heads of calls with fewer keys are
        filled up with HIDDEN.
        """
        for place in range(len(self.sites)):
            self.summary(place)
        parts = [self._pictures[place] for place in range(len(self.sites))]
        rows, cols = (max((part.shape[axis] for part in parts), default=0) for axis in (1, 2))
        whole = torch.full((sum(part.shape[0] for part in parts), rows, cols), HIDDEN)
        start = 0
        for part in parts:
            whole[start : start + part.shape[0], : part.shape[1], : part.shape[2]] = part
            start += part.shape[0]
        return whole

    def grid(self, place: int, head: int, rows: slice, cols: slice) -> Tensor:
        """Return a block of weights (r c), HIDDEN where not visible; Refusal past LARGEST_GRID."""
        if rows.stop - rows.start > LARGEST_GRID or cols.stop - cols.start > LARGEST_GRID:
            raise Refusal(
                400,
                f"{rows.stop - rows.start:,} x {cols.stop - cols.start:,} cells were asked for",
                wanted=f"At most {LARGEST_GRID} x {LARGEST_GRID} at once",
                hint="Ask for a window: rows=0:512&cols=0:512",
            )
        return weights_of(self._certified(place, head), head, rows, cols)

    def row(self, place: int, head: int, i: int) -> Tensor:
        """Return where query `i` looks (tk)."""
        return row_of(self._certified(place, head), head, i)

    def column(self, place: int, head: int, j: int) -> Tensor:
        """Return who looks at key `j` (tq)."""
        return column_of(self._certified(place, head), head, j)

    def sides(self, place: int, head: int) -> dict[str, Tensor]:
        """Return what stands along a heatmap's sides: per query and per key."""
        site = self._certified(place, head)
        summary, at = self.summary(place), site.head_at(head)
        return {name: values[0, at].float() for name, values in _side_values(summary).items()}

    def cell(self, place: int, head: int, i: int, j: int) -> dict[str, Any]:
        """Return the arithmetic of one cell as JSON values, its part in the value mix beside the rest."""
        return cell_fields(self._certified(place, head).cell(head, i, j))

    @property
    def nbytes(self) -> int:
        """Return the bytes that the recording, the pictures and the predictions hold."""
        held = sum(_nbytes(site) for site in self.sites) + sum(t.nbytes for t in self._pictures.values())
        return held + (self.look.predicted.nbytes if self.look.predicted is not None else 0)

    def _certified(self, place: int, head: int) -> Site:
        """Return a site, or refuse: a head whose certificate failed is not drawn."""
        site = self.sites[place]
        refusal = refused(site, head)
        if refusal is not None:
            raise refusal
        return site


def _summary(site: Site) -> Summary:
    step = max(1, math.ceil(max(site.tq, site.tk) / SIDE))
    block = step if step > 1 else None
    return summarize(site.q, site.k, site.scoring, normaliser=site.normaliser, top=0, block=block)


def cell_fields(cell: Cell) -> dict[str, Any]:
    """Return a cell as JSON values: "value" is the length of v_j, "mix" weight times that, "v" and "part"
    lists.
    """
    own = cell.to_dict()
    mixed = own.pop("value") or {}
    names = {"value": "norm", "mix": "mix", "v": "v", "part": "part"}
    fields: dict[str, Any] = plain(own | {name: mixed.get(key) for name, key in names.items()})
    return fields


def refused(site: Site, head: int) -> Refusal | None:
    """Return why a head may not be shown; None where it may."""
    certificate = site.certificate
    if certificate is None:
        return None
    at = site.head_at(head)
    if certificate.verdict[0][at] != "refused":
        return None
    z = float(certificate.z[0, at])
    return Refusal(
        409,
        f"Layer {site.layer} head {head} refused",
        wanted=f"Its rows do not re-add to the model's output: residual {z:.3g} times what rounding allows. "
        "Nothing of this head is drawn",
    )


def pictures(site: Site, summary: Summary) -> Tensor:
    """Return the small pictures of every head of a site (heads rows cols).

    A short text's picture is its grid; a longer one's is the largest weight of each of the summary's blocks.
    """
    if summary.block_max is None:
        every = slice(0, site.tq), slice(0, site.tk)
        found = [_grid(site, head, *every) for head in range(site.heads)]
        return torch.stack(found) if found else torch.empty(0, site.tq, site.tk)
    maxima = summary.block_max[0].float()
    seen = torch.as_tensor(summary.block_seen)[0] > 0
    drawn = torch.where(seen, maxima, HIDDEN)
    for head in range(site.heads):
        if refused(site, head) is not None:
            drawn[head] = math.nan
    return drawn


def _grid(site: Site, head: int, rows: slice, cols: slice) -> Tensor:
    if refused(site, head) is not None:
        return torch.full((site.tq, site.tk), math.nan)
    return weights_of(site, head, rows, cols)


def _side_values(summary: Summary) -> dict[str, Tensor]:
    return {
        "entropy": summary.entropy,
        "largest": summary.largest,
        "sink": summary.sink,
        "received": summary.received,
        "received_mean": summary.received_mean,
    }


def _nbytes(site: Site) -> int:
    """Return the bytes of what a site holds; q, k and v may be cut from one storage, which counts once."""
    tensors = [site.shelf.tensor(name) for name in ("q", "k", "v", "out")]
    storages = [t.untyped_storage() for t in tensors if t is not None]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())
