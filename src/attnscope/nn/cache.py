"""The keys and values of the tokens read so far, kept so that the next token costs one row."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from attnscope.errors import ShapeError
from attnscope.shapes import Key, Value

AllKeys = Float[Tensor, "b hk all d"]
AllValues = Float[Tensor, "b hk all dv"]


class KeyValueCache:
    """One attention module's keys (b hk t d) and values (b hk t dv) so far; empty at first.

    A module that is handed a cache appends its new keys and values and attends over all of them, so that
    reading a text piece by piece gives the same as reading it at once.
    """

    def __init__(self) -> None:
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    @property
    def length(self) -> int:
        """How many tokens are held: the position of the next one."""
        return 0 if self._keys is None else self._keys.shape[2]

    def extend(self, keys: Key, values: Value) -> tuple[AllKeys, AllValues]:
        """Append new keys and values on the token axis; returns all that are held, the new ones last.

        Raises ShapeError where batch, heads or width differ from what is held.
        """
        if self._keys is None or self._values is None:
            self._keys, self._values = keys, values
        else:
            for name, held, new in (("keys", self._keys, keys), ("values", self._values, values)):
                if held.shape[:2] != new.shape[:2] or held.shape[3] != new.shape[3]:
                    raise ShapeError(
                        f"The cache holds {name} {tuple(held.shape)} and {tuple(new.shape)} came",
                        wanted="The same batch, heads and width: only the number of tokens may differ",
                        hint="One cache serves one module and one batch of texts; make a new one for another",
                    )
            self._keys = torch.cat([self._keys, keys], dim=2)
            self._values = torch.cat([self._values, values], dim=2)
        return self._keys, self._values
