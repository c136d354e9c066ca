"""A model that no route knows raises NothingRecorded in sentences that a user can act on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnscope.errors import NothingRecorded
from attnscope.listen import record


class Projected(nn.Module):
    """q, k, v of four heads, (b t h d) each; what is done with them is another matter."""

    def __init__(self) -> None:
        super().__init__()
        self.num_heads = 4
        self.qkv = nn.Linear(32, 96)

    def parts(self, x: Tensor) -> list[Tensor]:
        return [part.unflatten(-1, (4, 8)) for part in self.qkv(x).chunk(3, dim=-1)]


class WrittenOutAttention(Projected):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.transpose(1, 2) for part in self.parts(x))
        weights = (q @ k.transpose(-2, -1) / 8**0.5).exp()
        return (weights / weights.sum(dim=-1, keepdim=True) @ v).transpose(1, 2).flatten(2)


class HeadsLastAttention(Projected):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.parts(x)
        weights = torch.einsum("bihd,bjhd->bihj", q, k).softmax(dim=-1)
        return torch.einsum("bihj,bjhd->bihd", weights, v).flatten(2)


class Otherwise(Projected):
    """Attention whose weights are something else than softmax over the keys."""

    def __init__(self, weigh: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.weigh = weigh

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.transpose(1, 2) for part in self.parts(x))
        return (self.weigh(q @ k.transpose(-2, -1) / 8**0.5) @ v).transpose(1, 2).flatten(2)


class TinyLinearAttention(Projected):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.transpose(1, 2).relu() for part in self.parts(x))
        return (q @ (k.transpose(-2, -1) @ v)).transpose(1, 2).flatten(2)


class Stack(nn.Module):
    def __init__(self, kind: Callable[[], nn.Module], layers: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList(kind() for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


def said(model: Any) -> str:
    with pytest.raises(NothingRecorded) as error, record(model):
        model(torch.randn(2, 9, 32))
    return str(error.value)


REWRITE = (
    "call F.scaled_dot_product_attention(q, k, v), or softmax(scores, dim=-1) @ v with scores (batch, heads"
)


def test_attention_written_out_as_exp_and_sum_is_named_and_the_way_out_is_said() -> None:
    text = said(Stack(WrittenOutAttention))
    assert text.startswith(
        "The Stack ran, and no attention call was heard. In layers.0 and 2 more: its attention could not"
    )
    assert "written out as exp and sum" in text and "7 of its 7 modules were called" in text
    assert "Looked for: transformers' attention registry, F.scaled_dot_product_attention" in text
    assert REWRITE in text and "attn_implementation" not in text


def test_a_layout_of_ones_own_is_shown_with_its_shape() -> None:
    text = said(Stack(HeadsLastAttention))
    assert "layers.0 and 2 more: it computes attention in a layout of its own" in text
    assert "softmax over (2, 9, 4, 9)" in text and REWRITE in text


class MiscountedAttention(Projected):
    def forward(self, x: Tensor) -> Tensor:
        self.num_heads = 5
        q, k, v = (part.transpose(1, 2) for part in self.parts(x))
        return ((q @ k.mT).softmax(dim=-1) @ v).transpose(1, 2).flatten(2)


class SummedAttention(Projected):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.transpose(1, 2) for part in self.parts(x))
        weights = (q @ k.mT).softmax(dim=-1)
        return (weights[..., None] * v[:, :, None]).sum(dim=3).transpose(1, 2).flatten(2)


def test_what_does_not_fit_is_named() -> None:
    text = said(Stack(MiscountedAttention))
    assert (
        "layers.0 and 2 more: its softmax is over (2, 4, 9, 9), and its module or its config speaks of 5"
        in text
    )
    text = said(Stack(SummedAttention))
    assert "layers.0 and 2 more: its softmax over (2, 4, 9, 9) was heard, and its weights could not" in text


def test_a_model_without_softmax_attention_is_told_that_there_is_nothing_to_show() -> None:
    text = said(Stack(TinyLinearAttention))
    assert (
        "it has no softmax attention. In layers.0 and 2 more: TinyLinearAttention: linear attention" in text
    )
    assert "There is nothing to show of such layers" in text and REWRITE not in text


def test_torchscript_is_said_to_run_out_of_hearing() -> None:
    text = said(torch.jit.script(Stack(WrittenOutAttention)))
    assert "TorchScript, which runs out of hearing" in text
    assert "Record the model before torch.jit.script or torch.jit.trace" in text


def test_a_compiled_part_is_said_to_be_one_that_may_be_compiled() -> None:
    model = Stack(WrittenOutAttention)
    inner = torch.compile(lambda layer, x: layer(x), backend="eager")

    def forward(x: Tensor) -> Tensor:
        for layer in model.layers:
            x = inner(layer, x)
        return x

    model.forward = forward  # type: ignore[method-assign]
    with torch.no_grad():
        model(torch.randn(2, 9, 32))
        text = said(model)
    assert "none was called, layers.0 (WrittenOutAttention) among them" in text
    assert "force_eager" in text


@pytest.mark.parametrize(
    ("weigh", "heard"),
    [
        (lambda scores: scores.softmax(dim=2), "softmax along axis 2 of scores, not over the keys,"),
        (lambda scores: scores.softmax(-3), "softmax along axis -3 of scores, not over the keys,"),
        (lambda scores: scores.log_softmax(dim=-1).exp(), "log_softmax of scores"),
        (lambda scores: nn.functional.log_softmax(scores, dim=-1).exp(), "log_softmax of scores"),
        (lambda scores: scores.sigmoid(), "sigmoid of scores"),
        (lambda scores: torch.sigmoid(scores), "sigmoid of scores"),
    ],
)  # fmt: skip
def test_what_stands_in_the_place_of_softmax_over_the_keys_is_named(
    weigh: Callable[[Tensor], Tensor], heard: str
) -> None:
    text = said(Stack(lambda: Otherwise(weigh)))
    heard = heard.replace("scores", "scores (2, 4, 9, 9)")
    assert f"In layers.0 and 2 more: {heard} was heard, which is no softmax attention" in text
    assert "no call of softmax" not in text


def test_a_gate_is_no_attention() -> None:
    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.gate = nn.Linear(32, 32), nn.Linear(32, 32)

        def forward(self, x: Tensor) -> Tensor:
            return torch.sigmoid(self.gate(x)) * self.up(x).log_softmax(-1)

    assert "was heard, which" not in said(Stack(Gated))


def test_a_family_with_code_of_its_own_is_told_that_setting_the_implementation_changes_nothing() -> None:
    import transformers as hf

    sizes: dict[str, Any] = {
        "vocab_size": 101, "hidden_size": 48, "num_hidden_layers": 1, "num_attention_heads": 6,
    }  # fmt: skip
    config = hf.LongformerConfig(
        **sizes, intermediate_size=64, attention_window=[8], max_position_embeddings=130
    )
    model = hf.LongformerModel(config).eval()
    with torch.no_grad(), pytest.raises(NothingRecorded) as error, record(model):
        model(input_ids=torch.randint(3, 100, (1, 24)))
    text = str(error.value)
    assert "set_attn_implementation change nothing in it" in text and "layout of its own" in text


def test_a_thread_from_outside_is_said_to_be_one() -> None:
    model, begin, done = Stack(HeadsLastAttention), threading.Event(), threading.Event()

    def work() -> None:
        begin.wait()
        model(torch.randn(2, 9, 32))
        done.set()

    threading.Thread(target=work).start()
    with pytest.raises(NothingRecorded, match="1 times, in threads that were started outside"), record(model):
        begin.set()
        done.wait()


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.out = nn.LSTM(32, 32, batch_first=True), nn.Linear(32, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.rnn(x)[0])


class Kernelized(Projected):
    """Linear attention under a name that says nothing."""

    forward = TinyLinearAttention.forward


class Skipping(Stack):
    """A model whose attention short inputs pass by."""

    def forward(self, x: Tensor) -> Tensor:
        return x + 1 if x.shape[1] < 64 else super().forward(x)


def test_a_recurrent_model_is_told_that_there_is_nothing_to_show() -> None:
    text = said(Recurrent())
    assert "it has no softmax attention. In rnn: LSTM: a recurrent layer, no softmax attention" in text
    assert REWRITE not in text


def test_modules_of_unknown_names_are_listed_by_their_classes() -> None:
    text = said(Stack(Kernelized))
    assert "7 of its 7 modules were called (Stack, Kernelized, Linear)" in text
    assert REWRITE in text and "What mixes positions without softmax (convolution, recurrence, linear" in text


def test_attention_that_this_run_passes_by_is_named_and_no_rewriting_is_asked_for() -> None:
    text = said(Skipping(WrittenOutAttention))
    assert "none was called, layers.0 (WrittenOutAttention) among them" in text
    assert "the length of the input may pass them by" in text and REWRITE not in text


def test_attention_inside_an_operator_of_its_own_is_said_to_be_out_of_hearing() -> None:
    library = torch.library.Library("attnscope_tests", "DEF")
    library.define("mix(Tensor q, Tensor k, Tensor v) -> Tensor")

    def mix(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.mT).softmax(dim=-1) @ v

    library.impl("mix", mix, "CompositeExplicitAutograd")

    class MemoryEfficientAttention(Projected):
        def forward(self, x: Tensor) -> Tensor:
            q, k, v = (part.transpose(1, 2) for part in self.parts(x))
            mixed: Tensor = torch.ops.attnscope_tests.mix(q, k, v)
            return mixed.transpose(1, 2).flatten(2)

    text = said(Stack(MemoryEfficientAttention))
    assert "In layers.0 and 2 more: its attention could not be heard" in text
    assert "or inside a kernel of its own" in text and REWRITE in text


def test_a_part_that_is_compiled_is_named() -> None:
    by_wrapper, in_place = Stack(WrittenOutAttention), Stack(WrittenOutAttention)
    by_wrapper.layers[1] = torch.compile(by_wrapper.layers[1], backend="eager")  # type: ignore[assignment]
    in_place.layers[1].compile(backend="eager")
    for model in (by_wrapper, in_place):
        text = said(model)
        assert text.startswith("layers.1 of the Stack is compiled, and compiled code cannot be listened to")
        assert "Record the model before it is compiled, or" in text and "force_eager" in text
