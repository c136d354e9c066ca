"""Maps of recorded sites: the model's own bits at the deepest level, what may not be drawn, what is kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.replay import replay
from attnscope.errors import NotKept, RecordingError, ShapeError, Uncertified
from attnscope.maps import HIDDEN, Address, Maps, Pyramid, largest_cells, of_site
from attnscope.recording import Site
from tests.recording.conftest import SCORINGS, T, make_site

__all__ = ["make_site"]


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("name", sorted(SCORINGS))
def test_the_deepest_level_is_what_the_site_shows(
    name: str, eager: bool, make_site: Callable[..., Site]
) -> None:
    site = make_site(name, eager=eager)
    for batch, head in ((0, 0), (1, 5)):
        pyramid = Pyramid(of_site(site, head, batch=batch))
        tile = pyramid.tile(pyramid.geometry.depth, 0, 0)
        weights, seen = site.weights(head, batch=batch), site.visible(head, batch=batch)
        assert torch.equal(tile.values("max"), torch.where(seen, weights, HIDDEN))
        assert torch.equal(tile.values("sum"), tile.values("max"))
        assert torch.equal(tile.values("mean"), tile.values("max"))
        top = largest_cells(pyramid, 3)
        assert [cell.weight for cell in top] == weights.flatten().topk(3).values.tolist()
        assert all(cell.weight == float(weights[cell.i, cell.j]) for cell in top)


def test_what_a_model_replays_in_16_bits_is_drawn_bit_for_bit(make_site: Callable[..., Site]) -> None:
    site = make_site("causal", dtype=torch.bfloat16, eager=True)
    tile = Pyramid(of_site(site, 2)).tile(0, 0, 0)
    assert isinstance(site.scoring.arithmetic, Arithmetic)
    model = replay(site.bound, slice(0, T))[0, 2].float()  # as it would return its own grid
    seen = torch.ones(T, T, dtype=torch.bool).tril()
    assert torch.equal(tile.values("max"), torch.where(seen, model, HIDDEN))


def test_a_refused_head_is_not_drawn(make_site: Callable[..., Site]) -> None:
    site = make_site(out=torch.randn(2, 6, T, 11))
    with pytest.raises(Uncertified, match="Head 3 of layers"):
        Maps([site]).pyramid(0, 3)
    shown = Pyramid(of_site(site, 3, allow_uncertified=True)).tile(0, 0, 0)
    assert shown.values("max").max() > 0


def test_sums_alone_make_no_map(make_site: Callable[..., Site]) -> None:
    with pytest.raises(NotKept, match='keep="qk" or more'):
        of_site(make_site(keep="summary"), 0)


def test_a_site_or_head_that_is_not_there_is_refused(make_site: Callable[..., Site]) -> None:
    maps = Maps([make_site()])
    with pytest.raises(RecordingError, match=r"There is no site 1. 0 to 0"):
        maps.pyramid(1, 0)
    with pytest.raises(ShapeError, match=r"There is no head 6. 0 to 5"):
        maps.pyramid(0, 6)


def test_the_maps_of_a_run_are_kept_up_to_a_limit_the_last_ones_used(make_site: Callable[..., Site]) -> None:
    maps = Maps([make_site()], limit=0)
    first = maps.pyramid(0, 0)
    first.build()
    assert maps.pyramid(0, 0) is first and maps.nbytes == first.nbytes > 0
    second = maps.pyramid(0, 1)
    assert maps.pyramid(0, 1) is second and maps.pyramid(0, 0) is not first
    roomy = Maps([make_site()])
    ones = [roomy.pyramid(0, head) for head in (0, 1, 2)]
    assert [roomy.pyramid(0, head) for head in (0, 1, 2)] == ones


def test_a_plane_is_found_by_its_address(make_site: Callable[..., Site]) -> None:
    maps = Maps([make_site(), make_site("window", index=1)])
    plane = maps.plane(Address(site=1, head=4, level=0, row=0, col=0, reduction="max"))
    assert torch.equal(plane >= 0, maps.sites[1].visible(4))


def test_a_tile_travels_as_raw_little_endian_numbers(make_site: Callable[..., Site]) -> None:
    tile = Pyramid(of_site(make_site(), 1)).tile(0, 0, 0)
    planes = torch.stack([tile.values(name) for name in ("sum", "mean", "max")]).numpy()
    assert np.array_equal(np.frombuffer(tile.encode(), "<f4").reshape(3, T, T), planes)
    assert np.array_equal(np.frombuffer(tile.encode("mean"), "<f4").reshape(T, T), planes[1])
    half = np.frombuffer(tile.encode("max", form="bfloat16"), "<u2").astype("<u4") << 16
    back = half.view("<f4").reshape(T, T)
    assert np.all(np.abs(back - planes[2]) <= 2.0**-8 * np.abs(planes[2]))
    assert np.array_equal(back == -1, planes[2] == -1) and np.array_equal(back == 0, planes[2] == 0)
    with pytest.raises(RecordingError, match="float32 or bfloat16"):
        tile.encode("max", form="int8")  # type: ignore[arg-type]


def test_a_walk_that_is_stopped_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    from attnscope.core.masks import causal
    from attnscope.maps import of_call

    monkeypatch.setattr("attnscope.maps.pyramid.WALKED", 256)

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if done >= 512:
            raise InterruptedError

    q = torch.randn(1, 1, 1_000, 4)
    head, seen = of_call(q, q, causal()), list[tuple[int, int]]()
    pyramid, whole = Pyramid(head), Pyramid(head)
    with pytest.raises(InterruptedError):
        pyramid.build(stop)
    assert (pyramid.done, pyramid.built) == (512, False)
    later: list[int] = []
    pyramid.build(lambda done, total: later.append(done))
    assert (seen, later) == ([(256, 1_000), (512, 1_000)], [768, 1_000])
    whole.build()
    for level in range(pyramid.geometry.depth + 1):
        for reduction in ("sum", "max"):
            assert torch.equal(
                pyramid.tile(level, 0, 0).values(reduction),  # type: ignore[arg-type]
                whole.tile(level, 0, 0).values(reduction),  # type: ignore[arg-type]
            )
    assert torch.equal(pyramid.sides.received, whole.sides.received)
