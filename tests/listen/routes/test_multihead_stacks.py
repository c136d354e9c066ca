"""Models made of torch's own transformer layers: every site has its place, and nothing is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn, overrides
from torch.nn import functional as F

from attnscope.listen import record
from attnscope.recording import Site, load
from tests.listen.routes.torch_layers import causal, certified, sharp, verdicts

B, T, M, WIDTH, HEADS = 2, 7, 11, 24, 4

pytestmark = pytest.mark.filterwarnings("ignore:.*(nested tensor|mask|enable_nested).*")


def text(length: int, seed: int = 8) -> Tensor:
    return torch.randn(B, length, WIDTH, generator=torch.Generator().manual_seed(seed))


def padding(length: int, real: int) -> Tensor:
    return torch.arange(length) >= torch.tensor([length, real])[:, None]


def places(sites: list[Site]) -> list[tuple[str, int, str, str]]:
    return [(site.name, site.layer, site.kind, site.stack) for site in sites]


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("grad", [False, True])
def test_a_decoder_with_memory_has_self_and_cross_sites(norm_first: bool, grad: bool) -> None:
    layer = nn.TransformerDecoderLayer(WIDTH, HEADS, 32, batch_first=True, norm_first=norm_first)
    model = sharp(nn.TransformerDecoder(layer, 2))
    given: dict[str, Any] = {
        "tgt_mask": causal(T), "memory_key_padding_mask": padding(M, 6),
        "tgt_key_padding_mask": padding(T, 5),
    }  # fmt: skip
    with torch.set_grad_enabled(grad):
        alone = model(text(T), text(M, 9), **given)
        with record(model) as recording:
            assert torch.equal(model(text(T), text(M, 9), **given), alone)
    assert places(recording.sites) == [
        place
        for i in range(2)
        for place in (
            (f"layers.{i}.self_attn", i, "self", "decoder"),
            (f"layers.{i}.multihead_attn", i, "cross", "decoder"),
        )
    ]
    assert certified(*recording.sites) and recording.missing == []
    cross = recording.site(1, kind="cross")
    assert (cross.tq, cross.tk, cross.offset) == (T, M, None)
    assert not cross.weights(2, batch=1)[:, 6:].any() and cross.weights(2, batch=0)[:, 6:].all()
    own = recording.site(1, kind="self")
    assert torch.equal(own.visible(0, batch=1), ~causal(T) & ~padding(T, 5)[1])


def test_memory_that_equals_the_text_is_still_cross_attention() -> None:
    layer = sharp(nn.TransformerDecoderLayer(WIDTH, HEADS, 32, batch_first=True, norm_first=True))
    x = text(T)
    with torch.no_grad():
        layer.self_attn.out_proj.weight.zero_()
        layer.self_attn.out_proj.bias.zero_()
        normed = layer.norm2(x)
        with record(layer) as recording:
            layer(x, normed)
    assert [site.kind for site in recording.sites] == ["self", "cross"]


@pytest.mark.parametrize("batch_first", [True, False])
def test_a_whole_transformer_has_three_kinds_of_sites(batch_first: bool) -> None:
    torch.manual_seed(2)
    model = sharp(nn.Transformer(WIDTH, HEADS, 2, 3, 32, batch_first=batch_first))
    turned = (lambda x: x) if batch_first else (lambda x: x.transpose(0, 1))
    given: dict[str, Any] = {
        "src_key_padding_mask": padding(M, 6), "memory_key_padding_mask": padding(M, 6),
        "tgt_mask": causal(T), "tgt_is_causal": True,
    }  # fmt: skip
    source, target = turned(text(M, 9)), turned(text(T))
    with torch.no_grad():
        alone = model(source, target, **given)
        with record(model) as recording:
            assert torch.equal(model(source, target, **given), alone)
    assert certified(*recording.sites) and recording.missing == []
    found = {(site.stack, site.kind, site.layer) for site in recording.sites}
    wanted = {("encoder", "self", i) for i in range(2)}
    wanted |= {("decoder", kind, i) for kind in ("self", "cross") for i in range(3)}
    assert found == wanted and len(recording.sites) == 8
    assert recording.site(1, stack="encoder").name == "encoder.layers.1.self_attn"
    routes = {site.stack: site.route for site in recording.sites}
    assert routes["encoder"] == ("multihead/fused" if batch_first else "multihead/sdpa")


def test_an_encoder_in_training_is_bit_equal_down_to_its_gradients() -> None:
    torch.manual_seed(2)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True, dropout=0.2)
    model, x = sharp(nn.TransformerEncoder(layer, 2)).train(), text(T)
    results = []
    for listening in (False, True):
        torch.manual_seed(6)
        model.zero_grad()
        if listening:
            with record(model) as recording:
                out = model(x, src_key_padding_mask=padding(T, 5))
        else:
            out = model(x, src_key_padding_mask=padding(T, 5))
        out.square().sum().backward()
        results.append([out.detach(), torch.rand(2), *(one.grad.clone() for one in model.parameters())])
    assert all(torch.equal(one, two) for one, two in zip(*results, strict=True))
    assert places(recording.sites) == [(f"layers.{i}.self_attn", i, "self", "encoder") for i in range(2)]
    assert verdicts(recording.sites) == {"not certifiable"}


class Block(nn.Module):
    """As people write their own blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mixer = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        mask = causal(x.shape[1])
        mixed, _ = self.mixer(self.norm(x), self.norm(x), self.norm(x), attn_mask=mask)
        return x + mixed


class Mixed(nn.Module):
    """torch's own encoder, own blocks, and F.scaled_dot_product_attention."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True)
        self.front = nn.TransformerEncoder(layer, 2)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.pool = nn.MultiheadAttention(WIDTH, 3, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.front(x, src_key_padding_mask=padding(x.shape[1], 5))
        for block in self.blocks:
            x = block(x)
        heads = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        x = x + F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(2)
        pooled: Tensor = self.pool(x[:, :1], x, x, need_weights=False)[0]
        return pooled


def test_a_model_of_several_kinds_is_recorded_by_its_several_routes() -> None:
    torch.manual_seed(3)
    model, x = sharp(Mixed()), text(T)
    with torch.no_grad():
        alone = model(x)
        with record(model) as recording:
            assert torch.equal(model(x), alone)
    assert certified(*recording.sites) and recording.missing == []
    assert [(site.name, site.route) for site in recording.sites] == [
        ("front.layers.0.self_attn", "multihead/fused"),
        ("front.layers.1.self_attn", "multihead/fused"),
        ("blocks.0.mixer", "multihead/eager"),
        ("blocks.1.mixer", "multihead/eager"),
        ("", "sdpa"),
        ("pool", "multihead/sdpa"),
    ]
    assert [site.kind for site in recording.sites] == ["self"] * 5 + ["cross"]
    whole = {(site.stack, site.kind, site.layer) for site in recording.sites}
    assert len(whole) == len(recording.sites)


def test_a_layer_whose_attention_is_overridden_is_heard_in_its_own_way() -> None:
    class Own(nn.TransformerEncoderLayer):
        def _sa_block(
            self, x: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
        ) -> Tensor:
            heads = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            return F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(2)

    layer, x = sharp(Own(WIDTH, HEADS, 32, batch_first=True)), text(T)
    alone = layer(x)
    with record(layer) as recording:
        assert torch.equal(layer(x), alone)
    assert [site.route for site in recording.sites] == ["sdpa"]
    with torch.no_grad():  # the fused step ignores the method
        alone = layer(x)
        with record(layer) as recording:
            assert torch.equal(layer(x), alone)
    assert [site.route for site in recording.sites] == ["multihead/fused"]


def test_layers_beside_hugging_face_parts_are_heard_together(tiny: Callable[..., nn.Module]) -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = tiny("bert")
            self.head = sharp(nn.TransformerEncoderLayer(48, HEADS, 32, batch_first=True))

        def forward(self, ids: Tensor) -> Tensor:
            out: Tensor = self.head(self.bert(input_ids=ids)[0])
            return out

    model, ids = Both().eval(), torch.arange(3, 3 + 2 * T).view(B, T)
    with torch.no_grad():
        alone = model(ids)
        with record(model) as recording:
            assert torch.equal(model(ids), alone)
    routes = [site.route for site in recording.sites]
    assert routes == ["huggingface/sdpa", "huggingface/sdpa", "multihead/fused"]
    assert certified(*recording.sites) and [site.layer for site in recording.sites] == [0, 1, 2]


def test_recordings_go_to_disk_and_back(tmp_path: Any) -> None:
    torch.manual_seed(2)
    model, x = sharp(nn.Transformer(WIDTH, HEADS, 1, 1, 32, batch_first=True)), text(T)
    with torch.no_grad(), record(model, path=tmp_path / "look", keep="all") as recording:
        model(text(M, 9), x, src_key_padding_mask=padding(M, 6), tgt_mask=causal(T))
    again = load(tmp_path / "look")
    for one, two in zip(recording.sites, again.sites, strict=True):
        assert places([one]) == places([two]) and one.route == two.route
        for batch in range(B):
            ours, theirs = (site.weights(3, batch=batch) for site in (one, two))
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


def test_layers_and_heads_can_be_chosen() -> None:
    torch.manual_seed(2)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True)
    model, x = sharp(nn.TransformerEncoder(layer, 3)), text(T)
    with torch.no_grad():
        with record(model) as whole:
            model(x)
        with record(model, layers=[2], heads=[1, 3]) as recording:
            model(x)
    (site,) = recording.sites
    assert (site.layer, site.kept) == (2, (1, 3)) and certified(site)
    assert torch.equal(site.weights(3), whole.site(2).weights(3))


def test_two_threads_that_cross_leave_nothing_behind_and_do_not_mix() -> None:
    before = (F.multi_head_attention_forward, overrides.has_torch_function)
    torch.manual_seed(2)
    models = [
        sharp(nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True), 2)),
        sharp(nn.TransformerDecoder(nn.TransformerDecoderLayer(WIDTH, HEADS, 32, batch_first=True), 2)),
    ]
    given = [(text(T),), (text(T), text(M, 9))]
    with torch.no_grad():
        alone = [model(*args) for model, args in zip(models, given, strict=True)]
    inside, leave = threading.Barrier(2), threading.Event()

    def work(i: int) -> tuple[bool, int, bool]:
        same = []
        with torch.no_grad():
            with record(models[i]) as recording:
                inside.wait(timeout=60)  # both are open; the first to open is the first to close
                same += [torch.equal(models[i](*given[i]), alone[i]) for _ in range(3)]
                if i:
                    leave.wait(timeout=60)
                    same.append(torch.equal(models[i](*given[i]), alone[i]))
            leave.set()
            after = torch.equal(models[i](*given[i]), alone[i])
        return all(same), len(recording.sites), after

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, range(2))) == [(True, 2, True), (True, 4, True)]
    assert (F.multi_head_attention_forward, overrides.has_torch_function) == before


@pytest.mark.parametrize("fault", [ValueError("a fault of the user"), KeyboardInterrupt()])
@pytest.mark.parametrize("grad", [False, True])
def test_an_exception_inside_leaves_the_model_and_torch_as_they_were(
    fault: BaseException, grad: bool
) -> None:
    class Fails(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2)
            self.faulty = False

        def forward(self, x: Tensor) -> Tensor:
            x = self.encoder(x)
            if self.faulty:
                raise fault
            return x

    torch.manual_seed(2)
    model, x = sharp(Fails()), text(T)
    asked = overrides.has_torch_function
    with torch.set_grad_enabled(grad):
        alone = model(x)
        model.faulty = True
        with pytest.raises(type(fault)), record(model):
            assert overrides.has_torch_function is not asked
            model(x)
        assert overrides.has_torch_function is asked
        assert overrides._get_current_function_mode_stack() == []
        model.faulty = False
        assert torch.equal(model(x), alone)
        with record(model) as recording:
            assert torch.equal(model(x), alone)
    assert len(recording.sites) == 2
