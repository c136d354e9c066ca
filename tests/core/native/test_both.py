"""Both passes at once give the normaliser that pass 1 gives alone, bit for bit."""

from __future__ import annotations

import pytest
import torch

from attnscope.core import masks
from attnscope.core.engine import Native, Wanted
from attnscope.core.native.library import Library, library
from attnscope.core.rowstats import first_keys
from attnscope.core.scoring import Scoring

found = library()
pytestmark = pytest.mark.skipif(not isinstance(found, Library), reason="the library was not compiled")


@pytest.mark.parametrize("sinks", [None, [0.5, 30.0]])
def test_a_normaliser_is_the_same_alone_and_with_the_second_pass(sinks: list[float] | None) -> None:
    assert isinstance(found, Library)
    own = torch.Generator().manual_seed(3)
    q, k = (torch.randn(2, 2, 131, 8, generator=own) for _ in range(2))
    logits = None if sinks is None else torch.tensor(sinks)
    bound = Scoring(masks.window(100), sinks=logits).bind(q, k)
    engine, rows = Native(found), slice(5, 131)
    wanted = Wanted(top=1, first=first_keys(bound.visible), block=None, start=5, probe=None)
    alone, (given, _) = engine.normaliser(bound, rows), engine.both(bound, wanted, rows)
    assert torch.equal(alone.peak, given.peak) and torch.equal(alone.logsum, given.logsum)
