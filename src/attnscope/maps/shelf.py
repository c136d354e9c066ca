"""The maps of a run: a pyramid for each head that was looked at, the last of them kept up to a limit."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from attnscope.errors import RecordingError
from attnscope.maps.head import of_site
from attnscope.maps.pyramid import Pyramid
from attnscope.maps.tile import Address
from attnscope.recording import Site

KEPT = 2**29
"""Bytes of pyramids that are kept where nothing else is said: 512 MB."""


@dataclass(eq=False)
class Maps:
    """sites: those of a run, in its order.   limit: bytes; the pyramid that was asked for last stays in any
    case, the others go in the order in which they were last used. Threads may share it.
    """

    sites: Sequence[Site]
    limit: int = KEPT
    _kept: OrderedDict[tuple[int, int, int, bool], Pyramid] = field(
        default_factory=OrderedDict, init=False, repr=False
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def pyramid(self, site: int, head: int, *, batch: int = 0, values: bool = False) -> Pyramid:
        """The map of a head: the site's place among `sites` and the model's number of the head; with `values`
        that of its weights times the lengths of values.

        Raises RecordingError, ShapeError, NotKept, and Uncertified for a head that was refused.
        """
        if not 0 <= site < len(self.sites):
            raise RecordingError(f"There is no site {site}", wanted=f"0 to {len(self.sites) - 1}")
        key = (site, head, batch, values)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = Pyramid(of_site(self.sites[site], head, batch=batch, values=values))
            self._kept.move_to_end(key)
            self._forget()
            return self._kept[key]

    def plane(self, address: Address, *, batch: int = 0) -> Tensor:
        """The pixels (r c) of one address, HIDDEN where nothing is visible. Raises as pyramid() does."""
        where = self.pyramid(address.site, address.head, batch=batch)
        return where.tile(address.level, address.row, address.col).values(address.reduction)

    @property
    def nbytes(self) -> int:
        """The bytes that all of them keep."""
        return sum(one.nbytes for one in self._kept.values())

    def _forget(self) -> None:
        while len(self._kept) > 1 and self.nbytes > self.limit:
            self._kept.popitem(last=False)
