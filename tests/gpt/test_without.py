"""Taking out a head or a weight: held against loops, the whole model, and nothing taken out at all."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from attnscope.core.without import Way
from attnscope.gpt import GPT, load_shipped, without
from attnscope.gpt.without import changed, every_edge, every_head, row_without
from attnscope.nn.heads import project_heads
from tests.gpt.one_out import Knockout, knocked_out
from tests.gpt.tiny import small

STYLES = ["lesson", "lesson-no-positions", "laptop"]
IDS = torch.tensor([[0, 3, 1, 6, 2, 5, 4]])
LINE = "ROMEO:\nBut, soft! what light"


@pytest.mark.parametrize("name", ["embedded", "lesson"])
def test_a_knock_out_of_nothing_changes_nothing_bit_for_bit(name: str) -> None:
    model = load_shipped(name)
    ids = torch.tensor([model.tokenizer.encode(LINE)])
    untouched = model(ids)
    for layer in range(model.config.n_layers):
        for head in (0, model.config.n_heads - 1):
            assert torch.equal(knocked_out(model, ids, Knockout(layer, head, keys=())), untouched)
    assert torch.equal(model(ids), untouched)


@pytest.mark.parametrize("way", ["renormalise", "zero"])
def test_a_row_without_some_keys_is_what_loops_over_the_others_give(way: Way) -> None:
    q, k, v = torch.randn(1, 2, 1, 3).double(), torch.randn(1, 2, 5, 3).double(), torch.randn(1, 2, 5, 7)
    v, hidden = (
        v.double(),
        torch.tensor([[False, True, False, False, True], [True, False, False, False, False]]),
    )
    found = row_without(q, k, v, hidden, way)
    assert found.shape == (2, 2, 1, 7)
    for n in range(2):
        for head in range(2):
            scores = [float(q[0, head, 0] @ k[0, head, j]) / 3**0.5 for j in range(5)]
            shares = [torch.tensor(score, dtype=torch.float64).exp() for score in scores]
            kept = [j for j in range(5) if not hidden[n, j]]
            total = sum(shares[j] for j in (kept if way == "renormalise" else range(5)))
            wanted = sum(shares[j] / total * v[0, head, j] for j in kept)
            torch.testing.assert_close(found[n, head, 0], wanted, rtol=0, atol=1e-13)


def test_a_row_whose_only_key_is_hidden_is_zero() -> None:
    q = k = v = torch.randn(1, 2, 1, 3)
    assert not row_without(q, k, v, torch.tensor([[True]]), "renormalise").any()
    assert not row_without(q, k, v, torch.tensor([[True]]), "zero").any()


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("way", ["renormalise", "zero"])
@pytest.mark.parametrize("copied", [2**21, 300, 1])  # numbers: all keys at once, some, one after the other
def test_every_edge_is_the_whole_model_run_again_without_it(
    style: str, way: Way, copied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(without, "_COPIED", copied)
    model = small(style)
    found = every_edge(model, IDS, way=way)
    assert found.shape == (2, 3, 7, 7)
    for layer, head, key in [(0, 0, 0), (0, 2, 6), (1, 1, 3), (1, 2, 5)]:
        wanted = knocked_out(model, IDS, Knockout(layer, head, (key,), way=way))[0, -1]
        torch.testing.assert_close(found[layer, head, key], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("style", STYLES)
def test_every_head_is_the_whole_model_run_again_without_it(style: str) -> None:
    model = small(style)
    found = every_head(model, IDS)
    assert found.shape == (2, 3, 7)
    for layer in range(2):
        for head in range(3):
            wanted = knocked_out(model, IDS, Knockout(layer, head))[0, -1]
            torch.testing.assert_close(found[layer, head], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("style", STYLES)
def test_a_head_is_out_when_its_columns_of_the_projection_are_zero(style: str) -> None:
    model, head = small(style), 1
    found = knocked_out(model, IDS, Knockout(1, head))
    with torch.no_grad():
        model.blocks[1].output.weight[:, 4 * head : 4 * head + 4] = 0.0
    torch.testing.assert_close(found, model(IDS), rtol=0, atol=1e-12)


def test_hiding_keys_of_a_row_changes_nothing_before_it_and_something_after() -> None:
    model = small("laptop")
    untouched, found = model(IDS), knocked_out(model, IDS, Knockout(0, 1, (0, 2), query=4))
    assert torch.equal(found[:, :4], untouched[:, :4])
    assert not torch.isclose(found[:, 4:], untouched[:, 4:]).all(dim=-1).any()


def test_weights_that_stay_and_weights_that_share_differ() -> None:
    model = small("lesson")
    shared = knocked_out(model, IDS, Knockout(0, 0, (2,), way="renormalise"))
    stayed = knocked_out(model, IDS, Knockout(0, 0, (2,), way="zero"))
    assert not torch.allclose(shared[:, -1], stayed[:, -1])


def test_the_model_is_as_it_was_also_after_an_error_inside() -> None:
    model = small("laptop")
    untouched = model(IDS)

    def broken(_: Tensor) -> Tensor:
        raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"), changed(model, 1, broken):
        model(IDS)
    assert torch.equal(model(IDS), untouched)


@pytest.mark.parametrize("style", STYLES)
def test_what_the_heads_add_to_the_stream_is_the_projection_of_their_outputs(style: str) -> None:
    """And so the weights times the projected values are all that attention adds, but for the bias."""
    model = small(style)
    for block, x, seen in zip(model.blocks, model.streams(IDS), model.steps(IDS), strict=True):
        added = project_heads(seen.out, block.output).sum(dim=1)
        bias = 0.0 if block.output.bias is None else block.output.bias
        torch.testing.assert_close(added + bias, attended(model, block, x), rtol=0, atol=1e-12)
        by_values = seen.weights @ project_heads(block.project(x)[2], block.output)
        torch.testing.assert_close(by_values.sum(dim=1), added, rtol=0, atol=1e-12)


def attended(model: GPT, block: torch.nn.Module, x: Tensor) -> Tensor:
    normed = block.attention_norm(x)
    if model.config.style == "lesson":
        return block.attention(normed)
    from attnscope.core.masks import causal

    return block.attention(normed, scoring=causal())
