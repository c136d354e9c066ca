"""nn.MultiheadAttention, however it is called: its weights are those that it returns itself, and nothing of
what it returns changes.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnscope.errors import NothingRecorded
from attnscope.listen import record
from attnscope.recording import Recording, load
from tests.listen.routes.torch_layers import certified, fastpath, whole

B, TQ, TK, WIDTH, HEADS = 3, 7, 11, 20, 2
DTYPES = [torch.float32, torch.float64, torch.bfloat16]
FLOAT32 = 1e-6

MODULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "positions first": {"batch_first": False},
    "no bias": {"bias": False},
    "other widths": {"kdim": 13, "vdim": 17},
    "bias_kv": {"add_bias_kv": True},
    "zero": {"add_zero_attn": True},
    "both": {"add_bias_kv": True, "add_zero_attn": True, "batch_first": False},
    "odd heads": {"num_heads": 5},
}


def module(name: str = "plain", *, width: int = WIDTH, dtype: torch.dtype = torch.float32) -> Any:
    """One whose heads attend sharply, with all its biases drawn."""
    options = {"num_heads": HEADS, "batch_first": True, **MODULES[name]}
    torch.manual_seed(13)
    made = nn.MultiheadAttention(width, **options)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.4)
    return made.to(dtype).eval()


def inputs(made: Any, *, same: bool, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    own = torch.Generator().manual_seed(3)
    query = torch.randn(B, TK if same else TQ, made.embed_dim, generator=own)
    key = query if same else torch.randn(B, TK, made.kdim, generator=own)
    value = query if same else torch.randn(B, TK, made.vdim, generator=own)
    turned = [(x if made.batch_first else x.transpose(0, 1)).to(dtype) for x in (query, key, value)]
    return (turned[0],) * 3 if same else (turned[0], turned[1], turned[2])


def heard(made: Any, *args: Tensor, **options: Any) -> tuple[Recording, Tensor | None]:
    """The recording, and the weights of each head that the module itself returns."""
    alone = made(*args, **options)
    with record(made, keep="all") as recording:
        listened = made(*args, **options)
    assert torch.equal(alone[0], listened[0])
    assert alone[1] is listened[1] is None or torch.equal(alone[1], listened[1])
    by_head = {**options, "need_weights": True, "average_attn_weights": False}
    return recording, made(*args, **by_head)[1]


def projected(made: Any, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """q, k, v in float64, (b h t d), with the module's own extra keys."""
    given = [x.double() for x in (query, key, value)]
    weights = (
        made.in_proj_weight.chunk(3)
        if made.in_proj_weight is not None
        else (made.q_proj_weight, made.k_proj_weight, made.v_proj_weight)
    )
    biases = [None] * 3 if made.in_proj_bias is None else made.in_proj_bias.double().chunk(3)
    q, k, v = (F.linear(x, w.double(), b) for x, w, b in zip(given, weights, biases, strict=True))
    if not made.batch_first:
        q, k, v = (x.transpose(0, 1) for x in (q, k, v))
    if made.bias_k is not None:
        b = q.shape[0]
        k = torch.cat([k, made.bias_k.double().expand(b, -1, -1)], dim=1)
        v = torch.cat([v, made.bias_v.double().expand(b, -1, -1)], dim=1)
    q, k, v = (x.unflatten(-1, (made.num_heads, -1)).transpose(1, 2) for x in (q, k, v))
    zero = (0, 0, 0, int(made.add_zero_attn))
    return [q, F.pad(k, zero), F.pad(v, zero)]


def oracle(made: Any, query: Tensor, key: Tensor, value: Tensor, **masks: Tensor | None) -> Tensor:
    """The weights in float64 (b h tq tk), from the documented meaning of the masks alone: True = may not."""
    q, k, _ = projected(made, query, key, value)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    extra = (0, k.shape[2] - masks_width(masks)) if masks else (0, 0)
    for name, mask in masks.items():
        if mask is None:
            continue
        numbers = torch.zeros(mask.shape, dtype=torch.float64)
        numbers = numbers.masked_fill(mask, -math.inf) if mask.dtype == torch.bool else mask.double()
        numbers = F.pad(numbers, extra)
        if name == "key_padding_mask":
            numbers = numbers[:, None, None, :]
        elif mask.dim() == 3:
            numbers = numbers.unflatten(0, (-1, made.num_heads))
        scores = scores + numbers
    return torch.softmax(scores, dim=-1)


def masks_width(masks: dict[str, Tensor | None]) -> int:
    return next(mask.shape[-1] for mask in masks.values() if mask is not None)


def masks(kind: str, tq: int, dtype: torch.dtype = torch.float32) -> dict[str, Tensor | None]:
    own = torch.Generator().manual_seed(9)
    padded = torch.arange(TK) >= torch.tensor([TK, 8, 5])[:, None]
    hidden = torch.rand(tq, TK, generator=own) < 0.4
    hidden[:, 0] = False
    by_head = torch.rand(B * HEADS, tq, TK, generator=own) < 0.4
    by_head[:, :, 0] = False
    numbers = torch.randn(tq, TK, generator=own).masked_fill(hidden, -math.inf).to(dtype)
    added = torch.randn(B, TK, generator=own).to(dtype)
    table: dict[str, dict[str, Tensor | None]] = {
        "none": {},
        "attn": {"attn_mask": hidden},
        "attn by head": {"attn_mask": by_head},
        "attn numbers": {"attn_mask": numbers},
        "padding": {"key_padding_mask": padded},
        "padding numbers": {"key_padding_mask": added},
        "both": {"attn_mask": hidden, "key_padding_mask": padded},
        "both numbers": {"attn_mask": numbers, "key_padding_mask": added},
    }
    return table[kind]


MASKS = ["none", "attn", "attn by head", "attn numbers", "padding", "padding numbers", "both", "both numbers"]


@pytest.fixture(params=[True, False], ids=["weights asked for", "no weights"])
def need_weights(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.filterwarnings("ignore:.*mask.*")
@pytest.mark.parametrize("same", [True, False], ids=["self", "cross"])
@pytest.mark.parametrize("kind", MASKS)
def test_weights_are_the_modules_own_under_every_mask(kind: str, same: bool, need_weights: bool) -> None:
    for dtype in (torch.float32, torch.float64) if kind.startswith("both") else (torch.float32,):
        made = module(dtype=dtype)
        given = inputs(made, same=same, dtype=dtype)
        chosen = masks(kind, given[0].shape[1], dtype)
        with torch.no_grad():
            recording, own = heard(made, *given, need_weights=need_weights, **chosen)
        (site,) = recording.sites
        assert own is not None and recording.missing == []
        tolerance = FLOAT32 if dtype == torch.float32 else 1e-14
        torch.testing.assert_close(whole(site), own, rtol=0, atol=tolerance)
        expected = oracle(made, *given, **chosen)
        torch.testing.assert_close(whole(site).double(), expected, rtol=0, atol=tolerance)
        assert not whole(site)[expected == 0].any() and (expected == 0).any() == (kind in HIDING)
        assert certified(site) and site.kind == ("self" if same else "cross")
        assert site.offset == (0 if same else None)


HIDING = {"attn", "attn by head", "attn numbers", "padding", "both", "both numbers"}


@pytest.mark.parametrize("same", [True, False], ids=["self", "cross"])
@pytest.mark.parametrize("name", MODULES)
def test_every_kind_of_module_is_read(name: str, same: bool, need_weights: bool) -> None:
    made = module(name)
    if same and (made.kdim, made.vdim) != (made.embed_dim, made.embed_dim):
        pytest.skip("keys of another width are never the queries")
    given = inputs(made, same=same)
    recording, own = heard(made, *given, need_weights=need_weights)
    (site,) = recording.sites
    extra = int(made.bias_k is not None) + int(made.add_zero_attn)
    assert (site.name, site.heads, site.batch) == ("", made.num_heads, B)
    assert site.tk == TK + extra and site.offset == (0 if same else None)
    assert own is not None and certified(site) and recording.missing == []
    torch.testing.assert_close(whole(site), own.detach(), rtol=0, atol=FLOAT32)
    for ours, theirs in zip((site.q, site.k, site.v), projected(made, *given), strict=True):
        torch.testing.assert_close(ours.double(), theirs.detach(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_asked_for_weights_are_the_bits_that_the_module_returns(dtype: torch.dtype) -> None:
    made = module(dtype=dtype)
    given = inputs(made, same=False, dtype=dtype)
    for kind in ("none", "attn", "padding", "both"):
        recording, own = heard(made, *given, **masks(kind, TQ))
        (site,) = recording.sites
        assert own is not None and certified(site)
        assert (site.route, site.bit_exact) == ("multihead/eager", True)
        assert torch.equal(whole(site), own.detach().to(whole(site).dtype))


@pytest.mark.parametrize("fast", [True, False], ids=["fast path", "no fast path"])
def test_bfloat16_is_certified_in_every_mask(fast: bool, need_weights: bool) -> None:
    made = module(dtype=torch.bfloat16)
    given = inputs(made, same=True, dtype=torch.bfloat16)
    with fastpath(fast), torch.no_grad():
        for kind in MASKS:
            chosen = masks(kind, TK, torch.bfloat16)
            recording, _ = heard(made, *given, need_weights=need_weights, **chosen)
            (site,) = recording.sites
            assert certified(site) and site.dtype == torch.bfloat16
            off = whole(site).double() - oracle(made, *given, **chosen)
            assert off.abs().max() < 0.06  # the module's own roundings


def test_added_numbers_are_rounded_with_the_product_on_disk_and_in_every_cell_too(tmp_path: Path) -> None:
    made = module(dtype=torch.bfloat16)
    given = inputs(made, same=False, dtype=torch.bfloat16)
    recording, own = heard(made, *given, **masks("both numbers", TQ, torch.bfloat16))
    (site,) = recording.sites
    assert own is not None and site.bit_exact is True and torch.equal(whole(site), own.detach().float())
    assert site.scoring.arithmetic is not None and site.scoring.arithmetic.fused_bias
    assert all(site.cell(1, i, j, batch=2).readds for i in range(TQ) for j in range(TK))
    recording.save(tmp_path / "look")
    (again,) = load(tmp_path / "look").sites
    assert again.scoring.arithmetic == site.scoring.arithmetic
    assert torch.equal(whole(again), whole(site))


def test_a_text_without_a_batch_axis_is_a_batch_of_one(need_weights: bool) -> None:
    made = module()
    query, key, value = (x[1] for x in inputs(made, same=False))
    padded = torch.arange(TK) >= 8
    recording, own = heard(made, query, key, value, key_padding_mask=padded, need_weights=need_weights)
    (site,) = recording.sites
    assert own is not None and own.dim() == 3 and site.batch == 1 and certified(site)
    torch.testing.assert_close(whole(site)[0], own.detach(), rtol=0, atol=1e-6)
    assert not whole(site)[..., 8:].any()


def test_the_causal_hint_is_read_as_the_kernel_gets_it(need_weights: bool) -> None:
    for name in ("plain", "odd heads"):
        made = module(name)
        given = inputs(made, same=True)
        causal = torch.ones(TK, TK, dtype=torch.bool).triu(1)
        for grad in (torch.no_grad(), torch.enable_grad()):
            with grad:
                recording, own = heard(
                    made, *given, attn_mask=causal, is_causal=True, need_weights=need_weights
                )
            (site,) = recording.sites
            assert own is not None and certified(site) and site.offset == 0
            assert all(torch.equal(site.visible(h), ~causal) for h in range(site.heads))
            torch.testing.assert_close(whole(site), own.detach(), rtol=0, atol=FLOAT32)


def test_averaged_weights_are_still_kept_by_head() -> None:
    made = module()
    given = inputs(made, same=False)
    averaged = made(*given)[1]
    recording, own = heard(made, *given, average_attn_weights=True)
    assert own is not None and averaged is not None
    torch.testing.assert_close(whole(recording.sites[0]).mean(dim=1), averaged.detach(), rtol=0, atol=1e-6)


def test_a_padding_mask_of_numbers_is_added() -> None:
    made = module()
    with torch.no_grad():
        for weight in made.parameters():
            weight.zero_()
    x = torch.randn(1, 2, WIDTH)
    recording, _ = heard(made, x, x, x, key_padding_mask=torch.tensor([[0.0, 1.0]]))
    expected = torch.tensor([0.2689, 0.7311]).expand(2, 2)
    torch.testing.assert_close(recording.sites[0].weights(0), expected, rtol=0, atol=1e-4)


def test_queries_that_are_the_keys_in_all_but_identity_are_self_attention() -> None:
    made = module()
    x = torch.randn(B, TK, WIDTH)
    for key, kind in ((x.clone(), "self"), (x + 1, "cross"), (x[:, :5], "cross")):
        recording, _ = heard(made, x, key, key)
        assert recording.sites[0].kind == kind


def test_a_row_that_sees_nothing_is_zero_and_spoils_no_other(need_weights: bool) -> None:
    made = module()
    hidden = torch.zeros(TK, TK, dtype=torch.bool)
    hidden[4] = True
    x = inputs(made, same=True)[0]
    for grad in (torch.no_grad(), torch.enable_grad()):
        with grad:
            options = {"attn_mask": hidden, "need_weights": need_weights}
            alone = made(x, x, x, **options)[0]
            with record(made) as recording:
                listened = made(x, x, x, **options)[0]
        torch.testing.assert_close(listened, alone, rtol=0, atol=0, equal_nan=True)
        (site,) = recording.sites
        assert certified(site) and not site.weights(1)[4].any() and not site.visible(1)[4].any()
        assert site.weights(1).sum(dim=-1)[5].sub(1).abs() < 1e-6


def test_dropout_in_training_is_not_certifiable_and_draws_the_same(need_weights: bool) -> None:
    made = nn.MultiheadAttention(WIDTH, HEADS, dropout=0.3, batch_first=True).train()
    x = torch.randn(B, TK, WIDTH)
    results = []
    for listening in (False, True):
        torch.manual_seed(5)
        made.zero_grad()
        if listening:
            with record(made) as recording:
                out = made(x, x, x, need_weights=need_weights)[0]
        else:
            out = made(x, x, x, need_weights=need_weights)[0]
        out.square().sum().backward()
        results.append((out.detach(), made.in_proj_weight.grad.clone(), torch.rand(3)))
    assert all(torch.equal(one, two) for one, two in zip(*results, strict=True))
    (site,) = recording.sites
    assert site.certificate is not None
    assert {verdict for heads in site.certificate.verdict for verdict in heads} == {"not certifiable"}
    assert "dropout 0.3" in str(site.certificate.reason[0][0])
    own = made.eval()(x, x, x, average_attn_weights=False)[1]
    torch.testing.assert_close(whole(site), own.detach(), rtol=0, atol=FLOAT32)


def test_autocast_is_followed(need_weights: bool) -> None:
    made = module()
    bias = 100 + 3 * torch.randn(TK, TK, generator=torch.Generator().manual_seed(8))  # cast, it is .25 off
    padded, added = masks("padding", 0), {"attn_mask": bias}
    for same, given in ((True, padded), (False, padded), (True, added)):
        with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
            recording, own = heard(made, *inputs(made, same=same), need_weights=need_weights, **given)
        (site,) = recording.sites
        assert certified(site) and site.q.dtype == torch.bfloat16 and own is not None
        if need_weights or given is padded:  # its own grid has scores of 16 bits
            torch.testing.assert_close(whole(site), own.float(), rtol=0, atol=0.02)


def test_inference_mode_gives_ordinary_tensors(need_weights: bool) -> None:
    made = module()
    with torch.inference_mode():
        for same in (True, False):
            recording, _ = heard(made, *inputs(made, same=same), need_weights=need_weights)
            (site,) = recording.sites
            assert certified(site) and not site.q.is_inference() and not site.out.is_inference()


def test_modes_of_the_user_see_the_functions_of_torch_and_we_hear_what_they_hand_on() -> None:
    seen: list[Any] = []

    class Watching(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    made = module()
    given = inputs(made, same=True)
    runs = []
    for listening in (False, True):
        seen.clear()
        with Watching(), torch.device("cpu"):
            if listening:
                with record(made) as recording, Watching():
                    made(*given, need_weights=False)
            else:
                with Watching():
                    made(*given, need_weights=False)
        runs.append(seen.count(F.multi_head_attention_forward))
    assert runs == [2, 2] and [site.route for site in recording.sites] == ["multihead/sdpa"]


def test_tensors_of_other_classes_are_left_alone_with_the_reason() -> None:
    class Special(Tensor):
        pass

    made = module()
    x = torch.randn(B, TK, WIDTH).as_subclass(Special)
    alone = made(x, x, x)[0]
    with pytest.raises(NothingRecorded, match="gets no plain tensors"), record(made):
        assert torch.equal(made(x, x, x)[0], alone)


def test_the_function_itself_is_heard_where_a_model_calls_it() -> None:
    class Pool(nn.Module):
        """As CLIP's attention pool calls it."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = module()

        def forward(self, x: Tensor) -> Tensor:
            own = self.inner
            return F.multi_head_attention_forward(
                query=x[:1], key=x, value=x, embed_dim_to_check=WIDTH, num_heads=HEADS,
                in_proj_weight=own.in_proj_weight, in_proj_bias=own.in_proj_bias, bias_k=None, bias_v=None,
                add_zero_attn=False, dropout_p=0.0, out_proj_weight=own.out_proj.weight,
                out_proj_bias=own.out_proj.bias, training=False, need_weights=False,
            )[0]  # fmt: skip

    model, x = Pool(), torch.randn(TK, B, WIDTH)
    alone = model(x)
    with record(model) as recording:
        assert torch.equal(model(x), alone)
    (site,) = recording.sites
    assert (site.kind, site.tq, site.tk, site.batch, site.name) == ("cross", 1, TK, B, "")
    assert certified(site)
