"""Any code that calls F.scaled_dot_product_attention is heard, with its arguments as the kernel got them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnscope.errors import NothingRecorded
from attnscope.listen import record
from attnscope.recording import Recording


class Calls(nn.Module):
    """One call of the function, with whatever it is given."""

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        return F.scaled_dot_product_attention(*args, **kwargs)


def heard(*args: Any, **kwargs: Any) -> Recording:
    model = Calls()
    alone = model(*args, **kwargs)
    with record(model, keep="all") as recording:
        assert torch.equal(model(*args, **kwargs), alone)
    return recording


def certified(recording: Recording) -> bool:
    site = recording.sites[0]
    certificate = site.certificate
    return certificate is not None and all(
        verdict == "passed" for row in certificate.verdict for verdict in row
    )


def oracle(q: Tensor, k: Tensor, mask: Tensor | None, scale: float | None = None) -> Tensor:
    """Weights in float64; True = may attend, numbers are added."""
    scores = q.double() @ k.double().transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    return torch.softmax(scores, dim=-1)


def qkv(b: int, h: int, hk: int, tq: int, tk: int, d: int = 13) -> tuple[Tensor, Tensor, Tensor]:
    return 3 * torch.randn(b, h, tq, d), torch.randn(b, hk, tk, d), torch.randn(b, hk, tk, 11)


def test_more_queries_than_keys_are_not_one_sequence_unless_the_call_says_so() -> None:
    assert heard(*qkv(1, 2, 2, 9, 4)).sites[0].offset is None
    assert heard(*qkv(1, 2, 2, 9, 4), is_causal=True).sites[0].offset == 0
    assert heard(*qkv(1, 2, 2, 4, 9)).sites[0].offset == 5


def test_a_plain_model_is_recorded_layer_by_layer(plain: Callable[..., nn.Module]) -> None:
    model, x = plain(layers=3), torch.randn(2, 23, 40)
    alone = model(x)
    with record(model) as recording:
        assert torch.equal(model(x), alone)
    assert [(s.name, s.layer, s.stack, s.route) for s in recording.sites] == [
        (f"blocks.{i}", i, "decoder", "sdpa") for i in range(3)
    ]
    assert certified(recording) and recording.missing == []


def test_is_causal_counts_from_the_top_left() -> None:
    q, k, v = qkv(1, 2, 2, 7, 11)
    recording = heard(q, k, v, is_causal=True)
    seen = torch.ones(7, 11, dtype=torch.bool).tril()
    site = recording.sites[0]
    assert torch.equal(site.visible(1), seen) and site.offset == 0
    torch.testing.assert_close(site.weights(1), oracle(q, k, seen)[0, 1].float(), rtol=0, atol=1e-6)
    assert certified(recording)


@pytest.mark.parametrize("scale", [None, 0.7, -0.4, 0.0])
def test_the_scale_is_the_one_given(scale: float | None) -> None:
    q, k, v = qkv(2, 3, 3, 5, 5)
    recording = heard(q, k, v, scale=scale)
    expected = oracle(q, k, None, scale)[1, 2].float()
    torch.testing.assert_close(recording.sites[0].weights(2, batch=1), expected, rtol=0, atol=1e-6)
    assert certified(recording)


def test_arguments_by_position_are_understood() -> None:
    q, k, v = qkv(1, 2, 2, 5, 5)
    recording = heard(q, k, v, None, 0.0, True)
    assert torch.equal(recording.sites[0].visible(0), torch.ones(5, 5, dtype=torch.bool).tril())


def test_grouped_heads_come_in_three_ways() -> None:
    q, k, v = qkv(2, 6, 2, 5, 7)
    flagged = heard(q, k, v, enable_gqa=True)
    repeated = heard(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1))
    for head in range(6):
        expected = oracle(q[1, head], k[1, head // 3], None).float()
        for recording in (flagged, repeated):
            torch.testing.assert_close(recording.sites[0].weights(head, batch=1), expected, rtol=0, atol=1e-6)
    one = heard(q, k[:, :1], v[:, :1])
    assert one.sites[0].key_heads == 1
    torch.testing.assert_close(
        one.sites[0].weights(5), oracle(q[0, 5], k[0, 0], None).float(), rtol=0, atol=1e-6
    )
    assert all(certified(recording) for recording in (flagged, repeated, one))


def test_keys_and_values_may_have_other_numbers_of_heads() -> None:
    q = qkv(2, 6, 2, 5, 7)[0]
    for k_heads, v_heads in ((2, 3), (3, 2), (1, 3), (2, 6)):
        few = torch.randn(2, k_heads, 7, 13), torch.randn(2, v_heads, 7, 11)
        recording = heard(q, *few, enable_gqa=True)
        assert certified(recording)
        for head in range(6):
            expected = oracle(q[1, head], few[0][1, head * k_heads // 6], None).float()
            torch.testing.assert_close(recording.sites[0].weights(head, batch=1), expected, rtol=0, atol=1e-6)


def test_three_axes_are_as_many_texts_as_the_module_was_handed_and_two_are_one_text() -> None:
    q, k, v = qkv(6, 2, 2, 5, 7)
    three = heard(q[:, 1], k[:, 1], v[:, 1]).sites[0]
    assert (three.batch, three.heads) == (6, 1) and certified(heard(q[:, 1], k[:, 1], v[:, 1]))
    torch.testing.assert_close(
        three.weights(0, batch=4), oracle(q[4, 1], k[4, 1], None).float(), rtol=0, atol=1e-6
    )
    two = heard(q[0, 0], k[0, 0], v[0, 0]).sites[0]
    assert (two.batch, two.heads) == (1, 1)


def test_more_axes_than_can_be_told_apart_are_refused_in_words() -> None:
    five = [x.unflatten(0, (2, 3)) for x in qkv(6, 2, 2, 5, 7)]
    with pytest.raises(NothingRecorded, match=r"its queries are \(2, 3, 2, 5, 13\), and which of their axes"):
        heard(*five)
    with pytest.raises(
        NothingRecorded, match=r"its tensors \(1, 2, .* have more axes than can be told apart"
    ):
        heard(*(x[None] for x in five))


def test_one_batch_of_queries_for_many_of_keys() -> None:
    q, k, v = qkv(3, 2, 2, 5, 7)
    recording = heard(q[:1], k, v)
    assert recording.sites[0].batch == 3 and certified(recording)
    expected = oracle(q[0, 1], k[2, 1], None).float()
    torch.testing.assert_close(recording.sites[0].weights(1, batch=2), expected, rtol=0, atol=1e-6)


def test_under_autocast_the_tensors_are_those_that_the_kernel_got() -> None:
    q, k, v = qkv(1, 2, 2, 23, 23)
    mask = torch.randn(23, 23)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        recording = heard(q, k, v.bfloat16(), mask)
    site = recording.sites[0]
    assert site.q.dtype == site.dtype == torch.bfloat16 and certified(recording)
    assert torch.equal(site.q, q.bfloat16())


def test_dropout_is_not_certifiable_and_its_weights_are_those_before_it() -> None:
    q, k, v = qkv(1, 2, 2, 5, 7)
    model = Calls()
    with record(model) as recording:
        model(q, k, v, dropout_p=0.4)
    site = recording.sites[0]
    assert site.certificate is not None and site.certificate.verdict == (("not certifiable",) * 2,)
    torch.testing.assert_close(site.weights(1), oracle(q, k, None)[0, 1].float(), rtol=0, atol=1e-6)


def test_later_changes_in_place_do_not_reach_the_recording() -> None:
    q, k, v = qkv(1, 2, 2, 5, 7)
    mask = torch.rand(5, 7) < 0.7
    mask[:, 0] = True
    expected = oracle(q, k, mask)[0, 1].float()
    recording = heard(q, k, v, mask)
    for x in (q, k, v):
        x.zero_()
    mask.fill_(True)
    torch.testing.assert_close(recording.sites[0].weights(1), expected, rtol=0, atol=1e-6)


def test_a_mask_changed_in_place_between_two_layers_is_read_again() -> None:
    class Twice(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
            first = F.scaled_dot_product_attention(q, k, v, mask)
            mask[:, 1] = False
            return first + F.scaled_dot_product_attention(q, k, v, mask)

    q, k, v = qkv(1, 2, 2, 5, 7)
    model = Twice()
    for mode in (torch.no_grad(), torch.inference_mode()):
        with mode, record(model) as recording:
            model(q, k, v, torch.ones(5, 7, dtype=torch.bool))
        first, second = recording.sites
        assert first.visible(0).all() and not second.visible(0)[:, 1].any()
        assert [(site.layer, site.order) for site in recording.sites] == [(0, 0), (1, 1)]


def test_what_cannot_be_read_is_listed_with_its_reason(plain: Callable[..., nn.Module]) -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.good, self.odd = Calls(), Calls()

        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            bad = torch.zeros(5, 7)
            bad[0, 0] = math.nan
            return self.good(q, k, v) + self.odd(q, k, v, bad)

    q, k, v = qkv(1, 2, 2, 5, 7)
    model = Mixed()
    with record(model) as recording:
        model(q, k, v)
    assert [site.name for site in recording.sites] == ["good"]
    assert [(one.name, one.reason) for one in recording.missing] == [("odd", "its mask holds +inf or NaN")]


def test_tensors_of_other_classes_are_left_alone() -> None:
    class Special(Tensor):
        pass

    q, k, v = (x.as_subclass(Special) for x in qkv(1, 2, 2, 5, 7))
    model = Calls()
    alone = model(q, k, v)
    message = "its query is a Special, not a plain tensor"
    with pytest.raises(NothingRecorded, match=message), record(model):
        assert torch.equal(model(q, k, v), alone)


@pytest.mark.parametrize("sizes", [(0, 2, 3, 4), (2, 2, 0, 4)])
def test_empty_sizes_are_no_crash(sizes: tuple[int, int, int, int]) -> None:
    b, h, tq, tk = sizes
    recording = heard(*qkv(b, h, h, tq, tk))
    assert recording.sites[0].tq == tq


@pytest.mark.parametrize("kind", ["masked", "bias"])
def test_under_autocast_a_float_mask_is_the_one_that_the_kernel_got(kind: str) -> None:
    q, k, v = qkv(1, 2, 2, 23, 23)
    least = torch.finfo(torch.float32).min
    seen = torch.ones(23, 23, dtype=torch.bool).tril()
    given = torch.where(seen, 0.0, least) if kind == "masked" else torch.randn(23, 23) * 3 + 100
    with torch.autocast("cpu", dtype=torch.bfloat16):
        recording = heard(q, k, v, given)
    site = recording.sites[0]
    assert certified(recording)
    assert torch.equal(site.visible(1), seen if kind == "masked" else torch.ones_like(seen))
    mask = seen if kind == "masked" else given.bfloat16().double()
    expected = oracle(q.bfloat16()[0, 1], k.bfloat16()[0, 1], mask)
    torch.testing.assert_close(site.weights(1).double(), expected, rtol=0, atol=1e-5)
