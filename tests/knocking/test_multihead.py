"""Knock-outs in torch's own attention, held against edited weights and masks in float64."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from attnscope.errors import NothingRecorded
from attnscope.knocking import Bench, Cut
from tests.listen.routes.torch_layers import causal, fastpath, sharp

B, T, M, WIDTH, HEADS, D = 2, 9, 13, 48, 6, 8


@pytest.fixture
def steps() -> Iterator[None]:
    """torch's attention step by step."""
    with fastpath(False):
        yield


def text(length: int, seed: int) -> Tensor:
    own = torch.Generator().manual_seed(seed)
    return torch.randn(B, length, WIDTH, generator=own, dtype=torch.float64)


def without(bench: Bench, *cuts: Cut) -> Tensor:
    """The model's answer without what the cuts name."""
    kept: list[Tensor] = []
    inner = bench.run
    bench.run = lambda: kept.append(inner()) or kept[-1]  # type: ignore[func-returns-value]
    bench.without(*cuts)
    assert bench.nothing.bit_equal
    found = kept[-1]
    return found[0] if isinstance(found, tuple) else found


def close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12 * float(wanted.abs().max()))


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_head_is_out_as_its_part_of_the_projection_is(need_weights: bool) -> None:
    model = sharp(nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), torch.float64)
    x = text(T, 4)
    bench = Bench(model, lambda: model(x, x, x, need_weights=need_weights))
    found = without(bench, Cut("", 4))
    with torch.no_grad():
        model.out_proj.weight[:, 4 * D : 5 * D] = 0.0
        close(found, model(x, x, x)[0])


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("need_weights", [False, True])
def test_an_edge_is_out_as_a_mask_of_its_cell_takes_it_out(need_weights: bool) -> None:
    model = sharp(nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), torch.float64)
    x, mask = text(T, 4), causal(T)
    bench = Bench(model, lambda: model(x, x, x, need_weights=need_weights, attn_mask=mask))
    found = without(bench, *(Cut("", head, 7, 3) for head in range(HEADS)))
    hidden = mask.clone()
    hidden[7, 3] = True
    with torch.no_grad():
        close(found, model(x, x, x, attn_mask=hidden)[0])


@pytest.mark.usefixtures("steps")
@pytest.mark.filterwarnings("ignore:.*nested tensor.*")
def test_a_stack_of_layers_is_changed_in_one_of_its_calls() -> None:
    layer = nn.TransformerDecoderLayer(WIDTH, HEADS, 60, batch_first=True)
    model = sharp(nn.TransformerDecoder(layer, 2), torch.float64)
    x, memory = text(T, 4), text(M, 5)
    bench = Bench(model, lambda: model(x, memory, tgt_mask=causal(T)))
    assert [name for name, _ in bench.calls] == [
        f"layers.{i}.{kind}" for i in range(2) for kind in ("self_attn", "multihead_attn")
    ]
    found = without(bench, Cut("layers.1.multihead_attn", 2), Cut("layers.0.self_attn", 5))
    with torch.no_grad():
        model.layers[1].multihead_attn.out_proj.weight[:, 2 * D : 3 * D] = 0.0
        model.layers[0].self_attn.out_proj.weight[:, 5 * D :] = 0.0
        close(found, model(x, memory, tgt_mask=causal(T)))


def test_a_fused_step_is_refused_with_the_way_out() -> None:
    model = sharp(nn.TransformerEncoderLayer(WIDTH, HEADS, 60, batch_first=True), torch.float64)
    x = text(T, 4)
    with pytest.raises(NothingRecorded, match=r"inside one fused step.*set_fastpath_enabled\(False\)"):
        Bench(model, lambda: model(x))
    with fastpath(False):
        assert Bench(model, lambda: model(x)).calls == [("self_attn", 0)]
