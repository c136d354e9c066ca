"""The certificates of the calls that made a site's rows: apart where rows may be taken back, else merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from attnscope.core.certificate import Certificate
from attnscope.core.joining import merge_certificates, reordered
from attnscope.recording.piece import Part

MOST = 16
"""Certificates of settled rows that are held before they are merged into one."""


@dataclass(frozen=True, eq=False)
class _Certified:
    """start, stop: rows of the site.   zero: the site's row from which the certificate counts its own."""

    start: int
    stop: int
    zero: int
    certificate: Certificate


@dataclass(eq=False)
class Verdicts:
    """Grows by the parts of one call after the other; the last call's stay apart, for they may be guesses."""

    _settled: list[_Certified] = field(default_factory=list)
    _last: list[_Certified] = field(default_factory=list)

    def append(self, row: int, parts: Sequence[Part]) -> None:
        """Adds the certificates of a call whose row 0 is row `row` of the site."""
        self._settled += self._last
        if len(self._settled) >= MOST:
            self._settled = [self._merged(self._settled)]
        self._last = [
            _Certified(row + part.rows.start, row + part.rows.stop, row, part.certificate)
            for part in parts
            if part.certificate is not None
        ]

    def can_cut(self, size: int) -> bool:
        """Whether the rows from `size` on can be taken off again."""
        return not any(one.start < size < one.stop for one in (*self._settled, *self._last))

    def cut(self, size: int) -> None:
        """Keeps what was said of the first `size` rows."""
        self._settled = [one for one in self._settled if one.start < size]
        self._last = [one for one in self._last if one.start < size]

    def reorder(self, parents: Sequence[int]) -> None:
        """Puts batch entry parents[b] in the place of b."""
        for held in (self._settled, self._last):
            held[:] = [
                _Certified(one.start, one.stop, one.zero, reordered(one.certificate, parents)) for one in held
            ]

    def certificate(self) -> Certificate | None:
        """The certificate of all rows; None where none was made."""
        held = [*self._settled, *self._last]
        return self._merged(held).certificate if held else None

    @staticmethod
    def _merged(held: Sequence[_Certified]) -> _Certified:
        if len(held) == 1 and held[0].zero == 0:
            return held[0]
        whole = merge_certificates([one.certificate for one in held], [one.zero for one in held])
        return _Certified(held[0].start, held[-1].stop, 0, whole)
