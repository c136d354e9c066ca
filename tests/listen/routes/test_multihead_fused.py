"""torch's own layers as one fused step: still fused while recorded, bit-equal, and opened on the side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from attnscope.core.dense import steps
from attnscope.listen import record
from attnscope.listen.routes import multihead_fused
from attnscope.recording import Recording
from tests.listen.routes.torch_layers import causal, certified, fastpath, sharp, verdicts, whole

B, T, WIDTH, HEADS = 3, 13, 24, 4
FUSED = ("aten::_transformer_encoder_layer_fwd", "aten::_native_multi_head_attention")

pytestmark = pytest.mark.filterwarnings("ignore:.*(nested tensor|mask).*")


class Operations(TorchDispatchMode):
    """Counts the fused steps that run while it is on."""

    def __init__(self) -> None:
        super().__init__()
        self.fused = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.fused += func.name() in FUSED
        return func(*args, **(kwargs or {}))


def encoder(layers: int = 2, dtype: torch.dtype = torch.float32, **options: Any) -> Any:
    torch.manual_seed(4)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True, **options)
    return sharp(nn.TransformerEncoder(layer, layers, enable_nested_tensor=not options), dtype)


def text(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Three texts, and True where they are padded."""
    own = torch.Generator().manual_seed(8)
    padded = torch.arange(T) >= torch.tensor([T, 9, 4])[:, None]
    return torch.randn(B, T, WIDTH, generator=own).to(dtype), padded


def heard(model: nn.Module, *args: Any, **options: Any) -> tuple[Recording, int]:
    """The recording, and how many fused steps ran; the same as alone, and the same output."""
    with torch.no_grad():
        with Operations() as before:
            alone = model(*args, **options)
        with record(model, keep="all") as recording, Operations() as meanwhile:
            listened = model(*args, **options)
    alone, listened = (x if isinstance(x, tuple) else (x,) for x in (alone, listened))
    for one, two in zip(alone, listened, strict=True):
        assert one is two is None or torch.equal(one, two)
    assert before.fused == meanwhile.fused
    return recording, meanwhile.fused


MASKS: dict[str, Callable[[Tensor], dict[str, Tensor]]] = {
    "none": lambda padded: {},
    "padding": lambda padded: {"src_key_padding_mask": padded},
    "causal": lambda padded: {"mask": causal(T)},
    "both": lambda padded: {"mask": causal(T), "src_key_padding_mask": padded},
}


def seen(kind: str, padded: Tensor) -> Tensor:
    """Which keys each real row may see, (b t t)."""
    allowed = ~causal(T) if kind in ("causal", "both") else torch.ones(T, T, dtype=torch.bool)
    return allowed & ~padded[:, None] if kind in ("padding", "both") else allowed.expand(B, -1, -1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("kind", MASKS)
def test_an_encoder_stays_fused_and_every_head_is_certified(kind: str, dtype: torch.dtype) -> None:
    model, (x, padded) = encoder(dtype=dtype), text(dtype)
    recording, fused = heard(model, x, **MASKS[kind](padded))
    assert fused == 2 and recording.missing == []
    for number, site in enumerate(recording.sites):
        assert (site.name, site.layer) == (f"layers.{number}.self_attn", number)
        assert (site.kind, site.stack, site.route) == ("self", "encoder", "multihead/fused")
        assert (site.batch, site.heads, site.tq, site.tk, site.offset) == (B, HEADS, T, T, 0)
        assert certified(site)
        assert site.bit_exact is True or kind != "none"  # its masked softmax rounds in ways of its own
        for b in range(B):
            real = ~padded[b] if kind == "padding" else torch.ones(T, dtype=torch.bool)
            expected = seen(kind, padded)[b] & real[:, None]
            assert torch.equal(site.visible(0, batch=b), expected)
            assert not site.weights(1, batch=b)[~expected].any()
            sums = site.weights(1, batch=b)[real].double().sum(dim=-1)
            assert sums.sub(1).abs().max() < (0.02 if dtype == torch.bfloat16 else 1e-6)


@pytest.mark.parametrize("kind", MASKS)
def test_weights_are_those_of_the_module_and_of_the_dense_oracle(kind: str) -> None:
    model, (x, padded) = encoder(1), text()
    recording, _ = heard(model, x, **MASKS[kind](padded))
    (site,) = recording.sites
    given = MASKS[kind](padded)
    with fastpath(False), torch.no_grad():
        own = model.layers[0].self_attn(
            x, x, x, attn_mask=given.get("mask"), key_padding_mask=given.get("src_key_padding_mask"),
            average_attn_weights=False,
        )[1]  # fmt: skip
    real = ~padded if kind == "padding" else torch.ones_like(padded)
    dense = steps(site.q.double(), site.k.double(), site.v.double(), site.scoring).weights
    for b in range(B):
        ours = whole(site)[b][:, real[b]]
        torch.testing.assert_close(ours, own[b][:, real[b]], rtol=0, atol=1e-6)
        torch.testing.assert_close(ours.double(), dense[b][:, real[b]], rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", MASKS)
def test_the_fused_step_and_the_steps_by_themselves_show_the_same(kind: str) -> None:
    model, (x, padded) = encoder(), text()
    fused, count = heard(model, x, **MASKS[kind](padded))
    with fastpath(False):
        stepwise, none = heard(model, x, **MASKS[kind](padded))
    assert (count, none) == (2, 0)
    real = ~padded if kind == "padding" else torch.ones_like(padded)
    for one, two in zip(fused.sites, stepwise.sites, strict=True):
        assert two.route == "multihead/sdpa" and certified(two)
        assert (one.name, one.layer, one.kind, one.stack) == (two.name, two.layer, two.kind, two.stack)
        assert one.scoring.scale == pytest.approx(WIDTH**-0.5 * HEADS**0.5, rel=1e-7)
        assert two.scoring.scale == pytest.approx(WIDTH**-0.5 * HEADS**0.5, rel=1e-15)
        for b in range(B):
            rows = real[b].nonzero().flatten()
            torch.testing.assert_close(one.q[b, :, rows], two.q[b, :, rows], rtol=0, atol=1e-5)
            torch.testing.assert_close(
                whole(one)[b][:, rows], whole(two)[b][:, rows], rtol=0, atol=1e-5
            )  # the layers before differ in their roundings


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_layer_alone_is_opened_whatever_its_order_of_steps(norm_first: bool, activation: str) -> None:
    torch.manual_seed(4)
    made = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 32, batch_first=True, norm_first=norm_first, activation=activation
    )
    layer, (x, padded) = sharp(made), text()
    for given in ({}, {"src_key_padding_mask": padded}, {"src_mask": causal(T)}):
        recording, fused = heard(layer, x, **given)
        (site,) = recording.sites
        assert fused == 1 and certified(site)
        assert (site.name, site.layer, site.stack) == ("self_attn", 0, "encoder")


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_the_module_alone_is_one_fused_step_too(need_weights: bool, average: bool) -> None:
    torch.manual_seed(4)
    made, (x, padded) = sharp(nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)), text()
    for given in ({}, {"key_padding_mask": padded}, {"attn_mask": causal(T)}):
        options = {"need_weights": need_weights, "average_attn_weights": average, **given}
        recording, fused = heard(made, x, x, x, **options)
        (site,) = recording.sites
        assert fused == 1 and certified(site) and site.route == "multihead/fused"
        with torch.no_grad():
            own = made(x, x, x, average_attn_weights=False, **given)[1]
        torch.testing.assert_close(whole(site), own, rtol=0, atol=1e-6)


def test_a_nested_tensor_handed_over_is_read_with_its_lengths() -> None:
    layer, (x, padded) = sharp(nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True)), text()
    nested = torch.nested.nested_tensor([x[b, ~padded[b]] for b in range(B)])
    with torch.no_grad():
        alone = layer(nested)
        with record(layer) as recording, Operations() as meanwhile:
            listened = layer(nested)
    assert meanwhile.fused == 1
    assert all(torch.equal(a, b) for a, b in zip(alone.unbind(), listened.unbind(), strict=True))
    (site,) = recording.sites
    assert certified(site) and (site.batch, site.tq) == (B, T)
    assert site.visible(0, batch=2).nonzero().amax().item() == 3


def test_sixteen_bits_keep_the_queries_that_the_kernel_had() -> None:
    for heads, scale in ((6, 0.5), (4, 1.0)):  # widths 4 and 6: only a power of 4 is scaled without rounding
        torch.manual_seed(4)
        made = sharp(nn.MultiheadAttention(WIDTH, heads, batch_first=True), torch.bfloat16)
        x, _ = text(torch.bfloat16)
        recording, _ = heard(made, x, x, x)
        (site,) = recording.sites
        assert site.scoring.scale == scale and certified(site) and site.bit_exact is True


def test_what_the_second_run_does_not_repeat_is_not_certifiable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is not to be trusted where its own kernel gives other bits: here, with one key changed."""
    model, (x, _) = encoder(1), text()
    backend = multihead_fused._backend

    def changes(tensor: Tensor) -> Any:
        tensor[0, 5, 3] += 1e-3
        return backend(tensor)

    monkeypatch.setattr(multihead_fused, "_backend", changes)
    with torch.no_grad(), record(model) as recording:
        model(x)
    (site,) = recording.sites
    assert site.certificate is not None
    assert verdicts([site]) == {"not certifiable"}
    assert {one for heads in site.certificate.reason for one in heads} == {multihead_fused.DOUBT}


def test_the_mask_is_what_the_softmax_got_and_a_wrong_reading_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, (x, padded) = encoder(1), text()
    may_attend = multihead_fused._may_attend

    def one_key_too_many(softmax: Any, shape: tuple[int, ...]) -> Tensor:
        mask = may_attend(softmax, shape)
        assert mask is not None
        mask = mask.clone()
        mask[1, :, :9, 9] = True
        return mask

    monkeypatch.setattr(multihead_fused, "_may_attend", one_key_too_many)
    with torch.no_grad(), record(model) as recording:
        model(x, src_key_padding_mask=padded)
    (site,) = recording.sites
    assert site.certificate is not None
    assert site.certificate.verdict[1] == ("refused",) * HEADS
    assert site.certificate.verdict[2] == ("passed",) * HEADS


@pytest.mark.parametrize("fault", [RuntimeError("not enough memory"), NotImplementedError("no such kernel")])
def test_a_second_run_that_fails_is_a_reason_and_not_an_error_of_the_model(
    fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder(1)
            self.pool = nn.MultiheadAttention(WIDTH, 3, batch_first=True)

        def forward(self, x: Tensor) -> Any:
            x = self.encoder(x)
            return self.pool(x[:, :1], x, x)

    def fails(tensor: Tensor) -> Any:
        raise fault

    monkeypatch.setattr(multihead_fused, "_backend", fails)
    recording, _ = heard(Both().eval(), text()[0])
    assert [site.name for site in recording.sites] == ["pool"]
    (missing,) = recording.missing
    assert missing.name == "encoder.layers.0" and f"a second time ({fault})" in missing.reason
