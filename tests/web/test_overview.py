"""A recording on disk opens with the sums and small pictures that were made while it was written."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attnscope import record
from attnscope.core.fold import summarize
from attnscope.models.opened import open_recording
from attnscope.recording import load
from attnscope.recording.ondisk import OnDisk
from attnscope.web import views as views_module
from attnscope.web.results import result_of
from attnscope.web.views import Views, pictures

T = 150


class _Attention(nn.Module):
    def forward(self, q: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, q, q, is_causal=True)


@pytest.fixture(scope="module", params=["streamed", "saved"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("overview") / "look"
    q = torch.randn(1, 3, T, 8, generator=torch.Generator().manual_seed(2)) * 2
    path = at if request.param == "streamed" else None
    with torch.no_grad(), record(model := _Attention(), path=path) as recording:
        model(q)
    return at if path is not None else recording.save(at)


def test_opening_it_sums_nothing_up_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def again(*_: object, **__: object) -> None:
        raise AssertionError("summed up again")

    monkeypatch.setattr(views_module, "summarize", again)
    (look,) = open_recording(folder, name="look")
    views = Views(look)
    assert views.thumbnails().shape == (3, 50, 50)
    assert views.sides(0, 1)["received"].shape == (T,)


def test_opening_it_reads_what_is_shown_of_every_head_and_no_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, fetch = set[str](), OnDisk.fetch

    def noted(shelf: OnDisk, name: str) -> Tensor:
        read.add(name)
        return fetch(shelf, name)

    monkeypatch.setattr(OnDisk, "fetch", noted)
    (look,) = open_recording(folder, name="look")
    views = Views(look)
    result_of(views)
    views.thumbnails()
    shown = {name for name in read if not name.startswith(("mask.", "certificate."))}
    assert shown == {f"summary.{name}" for name in ("block_max", "block_seen", "entropy", "largest")}


def test_what_was_kept_is_what_the_whole_head_says(folder: Path) -> None:
    site = load(folder).site(0)
    kept = site.shelf.summary
    assert kept is not None
    fresh = summarize(site.q, site.k, site.scoring, normaliser=site.normaliser, block=3)
    for name in ("entropy", "largest", "received", "received_mean", "first", "block_sum", "block_max"):
        assert torch.equal(getattr(kept, name), getattr(fresh, name)), name
    drawn = (pictures(site, one.block_max, one.block_seen) for one in (kept, fresh))
    assert torch.equal(*drawn)
