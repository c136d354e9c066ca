"""Any part of a map, in as many pixels as a picture has."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attnscope.errors import RecordingError
from attnscope.maps import Pyramid, of_call, part_of
from tests.maps.conftest import KINDS

Drawn = Callable[..., tuple[Tensor, Tensor]]


def test_a_part_in_cells_is_the_block_of_weights(drawn: Drawn) -> None:
    head = of_call(*drawn(613, 613), KINDS["causal"](613, 613))
    rows, cols = slice(251, 613), slice(3, 300)
    part = part_of(Pyramid(head), rows, cols)
    assert (part.cells, part.rows, part.cols) == (1, rows, cols)
    assert torch.equal(part.values.clamp(min=0), head.weights(rows, cols))
    assert torch.equal(part.values < 0, ~head.seen(rows, cols))


def test_a_part_that_is_larger_than_the_picture_is_reduced(drawn: Drawn) -> None:
    pyramid = Pyramid(of_call(*drawn(613, 613), KINDS["causal"](613, 613)))
    part = part_of(pyramid, slice(99, 613), slice(0, 613), "sum", most=160)
    assert (part.cells, part.rows, part.cols) == (4, slice(96, 613), slice(0, 613))
    assert part.values.shape == (130, 154)
    whole = torch.cat([pyramid.tile(0, 0, 0).values("sum")], dim=1)
    assert torch.equal(part.values, whole[24:, :])


def test_a_part_that_is_not_there_is_refused(drawn: Drawn) -> None:
    pyramid = Pyramid(of_call(*drawn(5, 9), KINDS["causal"](5, 9)))
    with pytest.raises(RecordingError, match=r"There are no rows 2:6. first:end within 0:5"):
        part_of(pyramid, slice(2, 6), slice(0, 9))
    with pytest.raises(RecordingError, match=r"There are no columns 4:4. first:end within 0:9"):
        part_of(pyramid, slice(0, 5), slice(4, 4))
