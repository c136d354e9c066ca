"""What a page holds of a recording: the very weights, as many heads as have room, and a sentence about the
rest.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import attnscope as ats
from attnscope.errors import ShapeError, TooLarge
from attnscope.models import look_of
from attnscope.recording import Recording, Run, Site
from attnscope.web.alone.held import Asked, Held, held
from tests.recording.conftest import SCORINGS, make_site  # noqa: F401

ROOM = 10_000_000


def numbers(text: str, dtype: str = "<f4") -> Any:
    return np.frombuffer(base64.b64decode(text), dtype)


def grids(found: Held) -> Iterator[tuple[dict[str, Any], torch.Tensor]]:
    """Every head that is held, as a grid: −1 where not visible, NaN in rows that are not there."""
    for one in found.heads:
        site = found.result["sites"][one["site"]]
        first, end = found.rows[one["site"]]
        told, values = numbers(found.seen[one["seen"]], "<i4"), numbers(one["values"])
        counts, edges = told[: end - first], told[end - first :].reshape(-1, 2)
        grid = np.full((site["tq"], site["tk"]), np.nan, np.float32)
        run = place = 0
        for row, count in enumerate(counts, start=first):
            grid[row] = -1
            for lo, hi in edges[run : run + count]:
                grid[row, lo:hi] = values[place : place + hi - lo]
                place += hi - lo
            run += count
        assert run == len(edges) and place == len(values)
        yield one, torch.from_numpy(grid)


def recording_of(*sites: Site) -> Recording:
    return Recording([Run(0, "", list(sites))], model={"class": "Hand"})


@pytest.mark.parametrize("name", list(SCORINGS))
@pytest.mark.parametrize("batch", [0, 1])
def test_weights_come_back_to_the_last_bit(
    name: str,
    batch: int,
    make_site: Callable[..., Site],  # noqa: F811
) -> None:
    site = make_site(name)
    found = held(look_of(recording_of(site), batch=batch), Asked(), room=ROOM, limit=ROOM)
    assert found.left == "" and len(found.heads) == site.heads
    for one, grid in grids(found):
        head = one["head"]
        weights, visible = site.weights(head, batch=batch), site.visible(head, batch=batch)
        assert torch.equal(grid[visible], weights[visible])
        assert bool((grid[~visible] == -1).all())
        kept = numbers(one["entropy"])
        summary = site.summary(batch)
        rows = summary.entropy[0, head]
        assert np.array_equal(kept[~np.isnan(kept)], rows[~np.isnan(kept)].numpy())
        assert ("sink" in one) == (name == "sinks")


def test_rows_are_held_at_their_own_places(make_site: Callable[..., Site]) -> None:  # noqa: F811
    site = make_site("causal")
    asked = Asked(site=0, head=2, rows=slice(10, 20))
    found = held(look_of(recording_of(site)), asked, room=ROOM, limit=ROOM)
    assert found.rows == [[10, 20]] and [one["head"] for one in found.heads] == [2]
    ((_, grid),) = grids(found)
    seen = site.visible(2, slice(10, 20))
    assert torch.equal(grid[10:20][seen], site.weights(2, slice(10, 20))[seen])
    assert bool(grid[:10].isnan().all()) and bool(grid[20:].isnan().all())
    reasons = {verdict["reason"] for verdict in found.result["sites"][0]["certificate"] if verdict["reason"]}
    assert reasons == {"Another head was asked for"}


def test_what_has_no_room_is_counted_and_the_rest_is_whole(make_site: Callable[..., Site]) -> None:  # noqa: F811
    recording = recording_of(*(make_site("causal") for _ in range(5)))
    whole = held(look_of(recording), Asked(), room=ROOM, limit=ROOM)
    size = len(json.dumps(whole.heads[0]))
    spare = len(json.dumps(whole.result)) + len(whole.seen[0]) + 8 * size
    found = held(look_of(recording), Asked(), room=spare, limit=2_000_000)
    assert found.left.startswith(f"{len(found.heads)} of 30 heads are here. A file of 2 MB has no room")
    assert 0 < len(found.heads) < 30
    assert 2 in found.places  # the call that was to be seen first
    assert len(json.dumps([found.result, found.heads, found.seen])) <= spare + 200
    list(grids(found))


def test_of_a_head_that_is_too_long_the_last_rows_are_held(make_site: Callable[..., Site]) -> None:  # noqa: F811
    site = make_site("causal")
    look = look_of(recording_of(site))
    whole = held(look, Asked(0, 1), room=ROOM, limit=ROOM)
    spare = len(json.dumps(whole.result)) + site.tk * 6 + 2_400
    found = held(look, Asked(0, 1), room=spare, limit=1_000_000)
    (first, end) = found.rows[0]
    assert 0 < first < end == site.tq
    assert f"Of 37 queries the last {end - first} are here, {first} to 36." in found.left
    ((_, grid),) = grids(found)
    seen = site.visible(1, slice(first, end))
    assert torch.equal(grid[first:][seen], site.weights(1, slice(first, end))[seen])


def test_where_not_one_row_has_room_it_is_refused(make_site: Callable[..., Site]) -> None:  # noqa: F811
    with pytest.raises(TooLarge, match=r"One row of 37 keys has no room in a file of 0\.01 MB. limit="):
        held(look_of(recording_of(make_site("causal"))), Asked(0, 1), room=4_000, limit=10_000)


@pytest.mark.parametrize("asked", [Asked(site=3), Asked(site=0, head=99), Asked(site=0, rows=40)])
def test_what_is_not_there_is_refused(asked: Asked, make_site: Callable[..., Site]) -> None:  # noqa: F811
    with pytest.raises(ShapeError):
        held(look_of(recording_of(make_site("causal"))), asked, room=ROOM, limit=ROOM)


def test_a_refused_head_takes_no_room_and_has_no_weights(make_site: Callable[..., Site]) -> None:  # noqa: F811
    site = make_site("causal", out=torch.ones(2, 6, 37, 11))
    found = held(look_of(recording_of(site)), Asked(), room=ROOM, limit=ROOM)
    assert found.heads == [] and found.left == ""
    verdicts = [verdict["verdict"] for verdict in found.result["sites"][0]["certificate"]]
    assert verdicts == ["refused"] * 6


def test_heads_that_were_not_kept_stay_so() -> None:
    from attnscope import gpt

    model = gpt.load_shipped("embedded")
    ids = torch.tensor([model.tokenizer.encode("But, soft!")])
    with torch.no_grad(), ats.record(model, heads=[0, 3]) as recording:
        model(ids)
    found = held(look_of(recording), Asked(), room=ROOM, limit=ROOM)
    assert {one["head"] for one in found.heads} == {0, 3} and found.left == ""
    assert len(found.heads) == 12
