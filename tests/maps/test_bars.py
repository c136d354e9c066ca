"""What stands along the sides of a map, number by number and at every zoom."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attnscope.core.fold import summarize
from attnscope.errors import NotKept, RecordingError
from attnscope.maps import SIDE, Pyramid, of_call
from tests.maps.conftest import KINDS

Drawn = Callable[..., tuple[Tensor, Tensor]]
TQ, TK = 301, 613


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_sides_are_those_of_the_summary(kind: str, drawn: Drawn) -> None:
    q, k = drawn(TQ, TK)
    scoring = KINDS[kind](TQ, TK)
    pyramid, whole = Pyramid(of_call(q, k, scoring, head=1)), summarize(q, k, scoring)
    for name in ("entropy", "received", "received_mean"):
        want = getattr(whole, name)[0, 1]
        torch.testing.assert_close(pyramid.sides.of(name), want, rtol=1e-4, atol=1e-5, equal_nan=True)
    if scoring.sinks is None:
        with pytest.raises(NotKept, match=r"no learned sink"):
            pyramid.sides.of("sink")
    else:
        torch.testing.assert_close(pyramid.sides.of("sink"), whole.sink[0, 1], rtol=1e-5, atol=1e-7)


def test_a_bar_is_reduced_as_the_tiles_beside_it(drawn: Drawn) -> None:
    pyramid = Pyramid(of_call(*drawn(TQ, TK), KINDS["causal"](TQ, TK)))
    received, entropy = pyramid.sides.received, pyramid.sides.entropy
    for level in range(pyramid.geometry.depth + 1):
        cells, (high, wide) = pyramid.geometry.cells(level), pyramid.geometry.tiles(level)
        bars = [pyramid.bar("received", level, at, "sum") for at in range(wide)]
        assert [len(bar) for bar in bars] == [pyramid.tile(level, 0, at).shape[1] for at in range(wide)]
        want = torch.stack([part.sum() for part in received.split(cells)])
        torch.testing.assert_close(torch.cat(bars), want, rtol=1e-5, atol=0)
        for name, reduce in (("mean", torch.mean), ("max", torch.amax)):
            got = torch.cat([pyramid.bar("entropy", level, at, name) for at in range(high)])
            want = torch.stack([reduce(part) for part in entropy.split(cells)])
            torch.testing.assert_close(got, want)
    assert sum(len(pyramid.bar("entropy", pyramid.geometry.depth, at)) for at in range(2)) == TQ > SIDE


def test_a_key_that_no_row_sees_has_no_mean(drawn: Drawn) -> None:
    pyramid = Pyramid(of_call(*drawn(TQ, TK), KINDS["padded"](TQ, TK)))
    fine = pyramid.bar("received_mean", pyramid.geometry.depth, 0)
    assert fine.isnan().nonzero().flatten().tolist() == [7, 138]
    assert not pyramid.bar("received_mean", 0, 0, "max").isnan().any()


def test_a_bar_that_is_not_there_is_refused(drawn: Drawn) -> None:
    pyramid = Pyramid(of_call(*drawn(TQ, TK), KINDS["causal"](TQ, TK)))
    with pytest.raises(
        RecordingError, match=r"There is no bar 'length'. entropy, sink, received, received_me"
    ):
        pyramid.bar("length", 0, 0)
    with pytest.raises(RecordingError, match=r"Level 0 has no tile"):
        pyramid.bar("received", 0, 1)
