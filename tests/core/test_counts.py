"""Visible cells are counted from spans and valid keys, as many as the mask itself shows."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import one_hot

from attnscope.core.counts import seen_of_blocks, seen_of_keys
from attnscope.core.mask import Mask
from attnscope.core.masks import causal, documents, full, padding, window
from attnscope.core.visible import Visible

B, H, TQ, TK = 2, 3, 41, 53
VALID = torch.rand(B, TK, generator=torch.Generator().manual_seed(5)) < 0.7
MASKS: dict[str, Mask] = {
    "full": full(),
    "causal": causal(),
    "a window and first keys": window(7, 0)
    | documents(torch.zeros(TQ).long(), (torch.arange(TK) > 3).long()),
    "padding": causal() & padding(VALID),
    "nothing is seen": padding(torch.zeros(B, TK, dtype=torch.bool)),
}
ROWS_AND_KEYS = [(slice(0, TQ), slice(0, TK)), (slice(8, 29), slice(12, 31)), (slice(40, 41), slice(52, 53))]


def _bound(name: str) -> Visible:
    return MASKS[name].bind(B, H, TQ, TK, TK - TQ, torch.device("cpu"))


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(("rows", "cols"), ROWS_AND_KEYS)
def test_each_key_is_seen_by_as_many_rows_as_the_mask_shows(name: str, rows: slice, cols: slice) -> None:
    visible = _bound(name)
    want = visible.tile(rows, cols).sum(dim=2)
    assert torch.equal(seen_of_keys(visible, rows, cols).expand(B, H, -1), want.expand(B, H, -1))


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(("rows", "cols"), ROWS_AND_KEYS)
@pytest.mark.parametrize(("block", "start"), [(1, 0), (4, 0), (4, 8), (7, 5), (64, 0)])
def test_each_block_holds_as_many_cells_as_the_mask_shows(
    name: str, rows: slice, cols: slice, block: int, start: int
) -> None:
    """Blocks of rows are counted from row `start`, which is none of later ones; blocks of keys from key 0."""
    rows = slice(max(rows.start, start), rows.stop)
    visible = _bound(name)
    lines, columns = (
        (torch.arange(cut.start, cut.stop) - at) // block for cut, at in ((rows, start), (cols, 0))
    )
    down, along = (one_hot(x - x[0]).double() for x in (lines, columns))  # which block each one lies in
    want = down.T @ visible.tile(rows, cols).double() @ along
    found = seen_of_blocks(visible, rows, cols, block=block, start=start)
    assert torch.equal(found.double().expand(B, H, -1, -1), want.expand(B, H, -1, -1))
