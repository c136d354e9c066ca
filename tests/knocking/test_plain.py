"""Knock-outs in a plain model held against attention written out by hand, in float64 and float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import attnscope as ats
from attnscope.errors import (
    AttnscopeError,
    ModelError,
    NothingRecorded,
    RecordingError,
    ShapeError,
    Uncertified,
)
from attnscope.knocking import Bench, Cut
from tests.listen.conftest import Plain

B, T, H, D = 2, 11, 5, 8
SITE = "blocks.0"
TOLERANCE = {torch.float64: 1e-13, torch.float32: 2e-6}

Edit = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""(weights (b h t t), outputs (b h t d)) as they go on."""


def by_hand(model: Plain, x: Tensor, edit: Edit, *, mask: Tensor | None = None, at: int = 0) -> Tensor:
    """The model with block `at` written out, its weights and its heads' outputs edited."""
    for number, block in enumerate(model.blocks):
        q, k, v = (part.view(*x.shape[:2], H, D).transpose(1, 2) for part in block.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / D**0.5
        if block.causal:
            scores = scores.masked_fill(~torch.ones(T, T, dtype=torch.bool).tril(), -torch.inf)
        if mask is not None and number == at:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1)
        out = weights @ v
        if number == at:
            weights, _ = edit(weights, out)
            _, out = edit(weights, weights @ v)
        x = x + block.proj(out.transpose(1, 2).reshape(x.shape))
    return x


def same(weights: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
    return weights, out


def states(model: nn.Module, x: Tensor, *cuts: Cut) -> Tensor:
    """The last states of the model without what the cuts name."""
    kept: list[Tensor] = []
    bench = Bench(model, lambda: kept.append(model(x)) or kept[-1])  # type: ignore[func-returns-value]
    bench.without(*cuts)
    assert len(kept) == 3
    assert torch.equal(kept[0], kept[1])
    assert bench.nothing.bit_equal
    return kept[-1]


@pytest.fixture(params=[torch.float64, torch.float32], ids=["float64", "float32"])
def model(plain: Callable[..., Plain], request: pytest.FixtureRequest) -> Plain:
    return plain().to(request.param)


@pytest.fixture
def x(model: Plain) -> Tensor:
    return torch.randn(B, T, H * D, dtype=next(model.parameters()).dtype)


def close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(
        found, wanted, rtol=0, atol=TOLERANCE[found.dtype] * float(wanted.detach().abs().max())
    )


@pytest.mark.parametrize("how", ["zero", "renormalise"])
def test_a_head_is_out_as_a_hand_made_mask_of_heads_takes_it_out(model: Plain, x: Tensor, how: Any) -> None:
    def edit(weights: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
        return weights, out * (torch.arange(H) != 3).to(out.dtype)[:, None, None]

    close(states(model, x, Cut(SITE, 3, how=how)), by_hand(model, x, edit))


def test_an_edge_is_out_as_a_mask_of_its_cell_takes_it_out(model: Plain, x: Tensor) -> None:
    seen = torch.ones(B, H, T, T, dtype=torch.bool)
    seen[:, 2, 7, 4] = False
    found = states(model, x, Cut(SITE, 2, 7, 4))
    close(found, by_hand(model, x, same, mask=seen))
    by_kernel = model.blocks[1](model.blocks[0](x, seen & torch.ones(T, T, dtype=torch.bool).tril()))
    close(found, by_kernel)


def test_an_edge_set_to_0_leaves_the_other_weights_of_its_row(model: Plain, x: Tensor) -> None:
    def edit(weights: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
        weights = weights.clone()
        weights[:, 2, 7, 4] = 0.0
        return weights, out

    close(states(model, x, Cut(SITE, 2, 7, 4, "zero")), by_hand(model, x, edit))


def test_the_mean_output_of_a_head_stands_in_the_place_of_its_rows(model: Plain, x: Tensor) -> None:
    def edit(weights: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
        out = out.clone()
        out[:, 1, 3:6] = out[:, 1].mean(dim=1, keepdim=True)
        return weights, out

    close(states(model, x, Cut(SITE, 1, slice(3, 6), how="mean")), by_hand(model, x, edit))


def test_several_heads_and_cells_are_taken_out_together(model: Plain, x: Tensor) -> None:
    seen = torch.ones(B, H, T, T, dtype=torch.bool)
    seen[:, 2, 7, 4] = seen[:, 2, 8, :3] = seen[1, 0, :, 5] = False

    def edit(weights: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
        return weights, out * (torch.arange(H) != 3).to(out.dtype)[:, None, None]

    cuts = (Cut(SITE, 2, 7, 4), Cut(SITE, 2, 8, slice(0, 3)), Cut(SITE, 3), Cut(SITE, 0, cols=5, batch=1))
    close(states(model, x, *cuts), by_hand(model, x, edit, mask=seen))


def test_cuts_in_two_layers_are_made_in_one_forward(model: Plain, x: Tensor) -> None:
    wanted = x
    for block, head in zip(model.blocks, (1, 4), strict=True):
        saved = block.proj.weight.clone()
        with torch.no_grad():
            block.proj.weight[:, head * D : head * D + D] = 0.0
            wanted = block(wanted)
            block.proj.weight.copy_(saved)
    close(states(model, x, Cut(0, 1), Cut(1, 4)), wanted)


@pytest.mark.parametrize("how", ["zero", "renormalise"])
@pytest.mark.parametrize(("rows", "cols"), [(slice(4, 4), None), (3, slice(2, 2)), (3, 7), (slice(0, 4), 5)])
def test_cells_that_nobody_sees_change_nothing_bit_for_bit(
    model: Plain, x: Tensor, how: Any, rows: Any, cols: Any
) -> None:
    assert torch.equal(states(model, x, Cut(SITE, 2, rows, cols, how)), model(x))


@pytest.mark.parametrize("how", ["zero", "renormalise"])
def test_a_row_that_loses_every_key_gives_0(model: Plain, x: Tensor, how: Any) -> None:
    cells = states(model, x, Cut(SITE, 2, 4, slice(0, 5), how))
    close(cells, states(model, x, Cut(SITE, 2, 4, how=how)))


def test_what_is_not_taken_out_stays_the_kernels_own_bit_for_bit(model: Plain, x: Tensor) -> None:
    given: list[Tensor] = []
    hook = model.blocks[0].proj.register_forward_pre_hook(lambda _, args: given.append(args[0]))
    states(model, x, Cut(SITE, 2, 7, 4))
    hook.remove()
    plain, nothing, without = (one.view(B, T, H, D) for one in given)
    assert torch.equal(plain, nothing)
    changed = (plain != without).any(dim=-1)  # (b t h)
    wanted = torch.zeros_like(changed)
    wanted[:, 7, 2] = True
    assert torch.equal(changed, wanted)


def test_only_the_text_that_was_named_is_changed(model: Plain, x: Tensor) -> None:
    found = states(model, x, Cut(SITE, 2, batch=1))
    assert torch.equal(found[0], model(x)[0])
    assert not torch.equal(found[1], model(x)[1])


def test_the_weight_that_was_taken_out_is_told(model: Plain, x: Tensor) -> None:
    with ats.record(model) as recording:
        model(x)
    found = ats.knockout(model, x, recording.site(0), 2, 7, 4)
    (one,) = found.taken_out
    shown = [float(recording.site(0).weights(2, 7, 4, batch=batch)) for batch in range(B)]
    assert one.weights is not None
    assert one.weights[:, 7].tolist() == pytest.approx(shown, rel=1e-6)
    assert one.weights[:, :7].abs().max() == 0
    assert one.verdict == ("passed", "passed")
    assert one.weight == pytest.approx(max(shown), rel=1e-6)


def test_states_tell_how_far_they_moved(model: Plain, x: Tensor) -> None:
    found = ats.knockout(model, x, 0, 2, 7, 4)
    assert found.moved is None
    assert found.states is not None
    moved = states(model, x, Cut(SITE, 2, 7, 4)) - model(x)
    torch.testing.assert_close(found.states.length, moved.double().norm(dim=-1))
    assert found.states.length[:, :7].abs().max() == 0
    assert found.position() == 7
    assert "The last hidden state of position 7 moved by" in str(found)
    with pytest.raises(ModelError, match="gives hidden states and expects no token"):
        found.at()


def test_the_model_is_as_it_was_also_after_an_error_inside(model: Plain, x: Tensor) -> None:
    untouched = model(x)
    hooks = len(torch.nn.modules.module._global_forward_pre_hooks)

    def broken(text: str, done: int, total: int) -> None:
        if done == 2:
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        ats.knockout(model, x, 0, 2, progress=broken)
    with pytest.raises(ShapeError, match=r"There is no head 5\. 0 to 4"):
        ats.knockout(model, x, 0, 5)
    assert len(torch.nn.modules.module._global_forward_pre_hooks) == hooks == 0
    assert torch.equal(model(x), untouched)
    assert not torch.overrides._get_current_function_mode_stack()


@pytest.mark.parametrize(
    ("cut", "error", "said"),
    [
        (("blocks.7", 0), RecordingError, r"No call of attention of 'blocks\.7' can be changed.*0 blocks\.0"),
        ((2, 0), ShapeError, r"There is no call of attention 2\. 0 to 1"),
        ((0, 0, 11), ShapeError, r"There is no row 11\. 0 to 10"),
        ((0, 0, 3, 11), ShapeError, r"There is no column 11\. 0 to 10"),
        (
            (0, 0, None, None, "median"),
            AttnscopeError,
            r"how='median'\. One of 'zero', 'renormalise', 'mean'",
        ),
        ((0, 0, 3, 1, "mean"), AttnscopeError, "a mean stands in the place of the whole output"),
        ((0, 0, None, None, "zero", 2), ShapeError, r"There is no text of the batch 2\. 0 to 1"),
    ],
)
def test_what_is_not_there_is_refused(
    model: Plain, x: Tensor, cut: tuple[Any, ...], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        Bench(model, lambda: model(x)).without(Cut(*cut))


def test_cells_of_one_head_are_taken_out_in_one_way(model: Plain, x: Tensor) -> None:
    with pytest.raises(AttnscopeError, match=r"in several ways: renormalise, zero\. One way"):
        Bench(model, lambda: model(x)).without(Cut(0, 1, 3, 2, "zero"), Cut(0, 1, 4, 2))


def test_a_model_in_training_is_refused(model: Plain, x: Tensor) -> None:
    with pytest.raises(ModelError, match=r"is in training.*Call model\.eval\(\) first"):
        ats.knockout(model.train(), x, 0, 0)


def test_a_model_without_a_call_that_can_be_changed_is_refused() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=8, batch_first=True).eval()
    with pytest.raises(
        NothingRecorded, match="made no call of attention that can be changed: its attention is"
    ):
        ats.knockout(layer, torch.randn(1, 4, 8), 0, 0)


def test_cells_of_a_head_whose_rows_do_not_re_add_are_not_taken_out(
    model: Plain, x: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = torch.nn.functional.scaled_dot_product_attention

    def faulty(q: Tensor, k: Tensor, v: Tensor, **given: Any) -> Tensor:
        return kernel(q * 1.05, k, v, **given)

    from attnscope.listen import ears

    tap = ears._TAPS[kernel]
    monkeypatch.setitem(ears._TAPS, kernel, lambda inner, args, kwargs: tap(faulty, args, kwargs))
    with pytest.raises(Uncertified, match=r"Head 2 of blocks\.0: its rows do not re-add"):
        ats.knockout(model, x, 0, 2, 7, 4)
    assert ats.knockout(model, x, 0, 2).taken_out[0].verdict is None


def test_a_model_that_answers_otherwise_each_time_is_told(model: Plain, x: Tensor) -> None:
    def noisy() -> Tensor:
        return model(x) + torch.rand(1, dtype=x.dtype)

    found = Bench(model, noisy).without(Cut(0, 1))
    assert not found.nothing.bit_equal
    assert 0 < found.nothing.largest < 1
    assert "no smaller change means anything" in str(found)
