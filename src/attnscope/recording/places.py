"""What stands at the positions of a stack: tokens, or numbered patches with the picture they were cut from.

A site's rows stand at the places of its own stack; its columns at the same places in self attention, and at
those of the encoder in cross attention. Position p of a stack is `tokens[p]`; a row's position is its index
plus the site's offset.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attnscope.errors import RecordingError

if TYPE_CHECKING:
    from attnscope.recording.recording import Recording
    from attnscope.recording.site import Site

STACKS = ("decoder", "encoder")
PICTURE = re.compile(r"picture-(decoder|encoder)\.png")
"""The names that files of pictures have."""

LARGEST_PICTURE = 2**24
"""Bytes of a PNG: 16 MB."""

_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Places:
    """The positions of one stack, of the first text of a batch.

    tokens: one mapping a position with at least "text"; those of attnscope.models.Token hold more ("id",
    "kind", "bytes", "spoken").   generated: the first position that the model wrote itself, None where it
    wrote none.   picture: a PNG that the positions are patches of.   grid: rows and columns of patches, where
    there is a picture; positions before them (a class token) come first.

    Raises RecordingError for what does not fit together.
    """

    tokens: Sequence[Mapping[str, Any]]
    generated: int | None = None
    picture: bytes | None = field(default=None, repr=False)
    grid: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        count = len(self.tokens)
        if any(not isinstance(token, Mapping) or "text" not in token for token in self.tokens):
            raise RecordingError("A place without a text", wanted='One mapping a position, {"text": "…"}')
        if self.generated is not None and not 0 <= self.generated <= count:
            raise RecordingError(f"generated={self.generated}", wanted=f"A position from 0 to {count}")
        if (self.picture is None) != (self.grid is None):
            raise RecordingError("A picture without a grid, or the other way round", wanted="Both or neither")
        if self.picture is not None and not (
            self.picture.startswith(_PNG) and len(self.picture) <= LARGEST_PICTURE
        ):
            raise RecordingError("The picture is no PNG of at most 16 MB", wanted="The bytes of a PNG file")
        if self.grid is not None and not (min(self.grid) >= 1 and self.grid[0] * self.grid[1] <= count):
            raise RecordingError(
                f"A grid of {self.grid[0]} x {self.grid[1]} over {count} positions",
                wanted="At most one patch a position",
            )

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values; of the picture its checksum and size."""
        picture = self.picture
        return {
            "tokens": [dict(token) for token in self.tokens],
            "generated": self.generated,
            "grid": None if self.grid is None else list(self.grid),
            "picture": None
            if picture is None
            else {"bytes": len(picture), "sha256": hashlib.sha256(picture).hexdigest()},
        }


def places_from(plain: Mapping[str, Any], picture: bytes | None) -> Places:
    """The places again, as `to_dict` wrote them. Raises KeyError, TypeError, ValueError or RecordingError."""
    grid = plain["grid"]
    return Places(
        tuple(dict(token) for token in plain["tokens"]),
        None if plain["generated"] is None else int(plain["generated"]),
        picture,
        None if grid is None else (int(grid[0]), int(grid[1])),
    )


def file_name(stack: str) -> str:
    """The name of the file that holds the picture of a stack."""
    return f"picture-{stack}.png"


def side_of(site: Site, side: str) -> str:
    """The stack whose places stand along a side of a site, "rows" or "columns"."""
    return "encoder" if side == "columns" and site.kind == "cross" else site.stack


def first_of(site: Site, side: str) -> int:
    """The position at which a side of a site begins."""
    return (site.offset or 0) if side == "rows" and site.kind == "self" else 0


def places_of(recording: Recording, site: Site, side: str, *, batch: int = 0) -> Places | None:
    """The places along a side of a site, for one text of its batch: those of its run, else, for the first
    text, those of the recording. None where none were kept that reach as far as the side does.
    """
    stack = side_of(site, side)
    run = next((run for run in recording.runs if run.places and site in run.sites), None)
    if run is not None:
        known = run.places[batch].get(stack) if batch < len(run.places) else None
    else:
        known = recording.places.get(stack) if batch == 0 else None
    size = site.tq if side == "rows" else site.tk
    return known if known is not None and len(known.tokens) >= first_of(site, side) + size else None
