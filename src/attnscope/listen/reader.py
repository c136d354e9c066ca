"""Reads what a run's calls are handed, each distinct mask, rule and bias once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor

from attnscope.core.bias import Bias
from attnscope.listen.biases import bias_of
from attnscope.listen.reading import Reading, read


class Reader:
    """Reads masks, each distinct tensor once: a tensor is known by what it is a view of, where, and its
    version.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[weakref.ref[Tensor], Reading]] = {}
        self._biases: dict[tuple[int, int], tuple[Reading, Bias | None]] = {}
        self._rules: dict[tuple[int, ...], tuple[Any, Reading]] = {}

    def read(self, mask: Tensor, tq: int, tk: int) -> Reading:
        """The reading of a mask that broadcasts from the right to (b, h, tq, tk). Raises CannotShowError."""
        base = mask if mask._base is None else mask._base
        if base.is_inference():  # no version counter: a change in place could not be told
            return read(mask, tq, tk)
        key = (
            id(base),
            base._version,
            mask.storage_offset(),
            tuple(mask.shape),
            mask.stride(),
            mask.dtype,
            tq,
            tk,
        )
        known = self._known.get(key)
        if known is not None and known[0]() is base:
            return known[1]
        reading = read(mask, tq, tk)
        self._known[key] = (weakref.ref(base), reading)
        return reading

    def once(self, rule: Any, sizes: tuple[int, ...], make: Callable[[], Reading]) -> Reading:
        """The reading of a rule that is no tensor, made once for each rule and sizes (b, h, tq, tk, ..)."""
        key = (id(rule), *sizes)
        if key not in self._rules:
            self._rules[key] = (rule, make())  # held, so that no id is given away meanwhile
        return self._rules[key][1]

    def bias(self, reading: Reading, offset: int) -> Bias | None:
        """The bias of a reading for a call whose row 0 stands at `offset`; worked out once."""
        key = (id(reading), offset)
        if key not in self._biases:
            self._biases[key] = (reading, bias_of(reading, offset))
        return self._biases[key][1]
