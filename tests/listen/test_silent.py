"""Layers of which nothing is heard are listed, with their true number and a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnscope.listen import record
from attnscope.listen.silent import MIXES, NO_ATTENTION, UNHEARD, silent, without_softmax


class SlowAttention(nn.Module):
    """Softmax attention written out as exp and sum, which no route hears."""

    def __init__(self, layer_idx: int | None = None) -> None:
        super().__init__()
        if layer_idx is not None:
            self.layer_idx = layer_idx

    def forward(self, x: Tensor) -> Tensor:
        weights = (x @ x.transpose(1, 2)).exp()
        return weights / weights.sum(dim=-1, keepdim=True) @ x / 10


class TinyMambaMixer(nn.Module):
    """No attention at all."""

    def forward(self, x: Tensor) -> Tensor:
        return x.cumsum(dim=1)


class Layer(nn.Module):
    def __init__(self, mixer: nn.Module) -> None:
        super().__init__()
        self.norm, self.mixer = nn.LayerNorm(40), mixer

    def forward(self, x: Tensor) -> Tensor:
        mixed: Tensor = self.mixer(self.norm(x))
        return mixed


class Hybrid(nn.Module):
    def __init__(self, *mixers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(mixer) for mixer in mixers)
        self.unused = SlowAttention()

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def test_a_hybrid_lists_its_other_layers_by_number(plain: Callable[..., nn.Module]) -> None:
    def heard() -> nn.Module:
        return plain(layers=1)

    model = Hybrid(TinyMambaMixer(), heard(), SlowAttention(), heard(), nn.Identity())
    with record(model) as recording:
        model(torch.randn(1, 9, 40))
    assert [site.name for site in recording.sites] == ["layers.1.mixer.blocks.0", "layers.3.mixer.blocks.0"]
    assert [(one.layer, one.name, one.reason) for one in recording.missing] == [
        (0, "layers.0.mixer", "TinyMambaMixer: a state-space layer, no softmax attention"),
        (2, "layers.2.mixer", UNHEARD),
        (4, "layers.4", NO_ATTENTION),
    ]
    assert "written out as exp and sum" in UNHEARD


def test_modules_that_did_not_run_are_not_missed(plain: Callable[..., nn.Module]) -> None:
    model = Hybrid(plain(layers=1))
    with record(model) as recording:
        model(torch.randn(1, 9, 40))
    assert recording.missing == []


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("JambaMambaMixer", "a state-space layer"),
        ("GraniteMoeHybridMambaLayer", "a state-space layer"),
        ("FalconH1Mixer", "a state-space layer"),
        ("RwkvSelfAttention", "a recurrence over decayed keys and values"),
        ("Qwen3NextGatedDeltaNet", "a delta net, which is a linear recurrence"),
        ("KimiLinearDeltaAttention", "a delta net, which is a linear recurrence"),
        ("MiniMaxLightningAttention", "linear attention"),
        ("Lfm2ShortConv", "a convolution over positions"),
        ("RecurrentGemmaRecurrentBlock", "a recurrent layer"),
        ("FNetBasicFourierTransform", "a Fourier transform over positions"),
        ("LlamaAttention", None),
        ("MambaRMSNorm", None),
        ("JambaMambaDecoderLayer", None),
        ("MLPMixer", None),
    ],
)
def test_layers_without_softmax_are_known_by_their_class(name: str, what: str | None) -> None:
    module = type(name, (nn.Module,), {})()
    assert without_softmax(module) == (None if what is None else f"{name}: {what}, no softmax attention")


def test_the_layers_of_a_hybrid_are_told_apart_with_their_true_numbers() -> None:
    import transformers as hf

    sizes: dict[str, Any] = {
        "vocab_size": 101,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 4,
    }
    config = hf.JambaConfig(
        **sizes, num_hidden_layers=4, num_key_value_heads=2, attn_layer_period=4, attn_layer_offset=2,
        num_experts=2, mamba_d_state=4, use_mamba_kernels=False,
    )  # fmt: skip
    model = hf.JambaForCausalLM(config).eval()
    with torch.no_grad(), record(model) as recording:
        model(input_ids=torch.randint(3, 100, (1, 9)))
    assert [site.layer for site in recording.sites] == [2]
    reason = "JambaMambaMixer: a state-space layer, no softmax attention"
    assert [(one.layer, one.name, one.reason) for one in recording.missing] == [
        (layer, f"model.layers.{layer}.mamba", reason) for layer in (0, 1, 3)
    ]


def test_a_mixer_of_unknown_kind_is_not_said_to_be_attention() -> None:
    mixer = type("TokenMixer", (nn.Module,), {})()
    assert [one.reason for one in silent({"blocks.0.mix": mixer}, [])] == [MIXES]


def test_where_nothing_at_all_was_heard_the_layers_still_have_their_numbers() -> None:
    layers = {f"net.stack.{i}.mix": type("RetNetRetention", (nn.Module,), {})() for i in range(3)}
    assert [one.layer for one in silent(dict(layers), [])] == [0, 1, 2]


class Rooted(nn.Module):
    """A model that makes a call itself, over layers that make none."""

    def __init__(self, *mixers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(mixer) for mixer in mixers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return nn.functional.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None])[:, 0]


def test_a_call_of_the_model_itself_hides_none_of_its_layers(plain: Callable[..., nn.Module]) -> None:
    model = Rooted(TinyMambaMixer(), SlowAttention(), plain(layers=1), nn.Identity())
    with record(model) as recording:
        model(torch.randn(1, 9, 40))
    assert [site.name for site in recording.sites] == ["layers.2.mixer.blocks.0", ""]
    assert [(one.layer, one.name, one.reason) for one in recording.missing] == [
        (0, "layers.0.mixer", "TinyMambaMixer: a state-space layer, no softmax attention"),
        (1, "layers.1.mixer", UNHEARD),
        (3, "layers.3", NO_ATTENTION),
    ]


class Both(nn.Module):
    """A layer that makes a call itself, beside attention that cannot be heard."""

    def __init__(self) -> None:
        super().__init__()
        self.other = SlowAttention()

    def forward(self, x: Tensor) -> Tensor:
        mixed: Tensor = nn.functional.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None])[:, 0]
        return mixed + self.other(x)


def test_a_call_of_a_layer_hides_no_other_attention_in_it() -> None:
    model = Hybrid(Both(), Both())
    with record(model) as recording:
        model(torch.randn(1, 9, 40))
    assert [site.name for site in recording.sites] == ["layers.0.mixer", "layers.1.mixer"]
    assert [(one.layer, one.name) for one in recording.missing] == [
        (0, "layers.0.mixer.other"), (1, "layers.1.mixer.other")
    ]  # fmt: skip


class WeightsAttention(nn.Module):
    """Gives weights that its parent mixes."""

    def forward(self, x: Tensor) -> Tensor:
        return (x @ x.mT).softmax(dim=-1)


class MixedAbove(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.num_heads = 4
        self.weights = WeightsAttention()

    def forward(self, x: Tensor) -> Tensor:
        heads = x.unflatten(-1, (4, 10)).transpose(1, 2)
        return (self.weights(heads) @ heads).transpose(1, 2).flatten(2)


def test_a_child_whose_weights_its_parent_mixes_was_heard() -> None:
    model = Hybrid(MixedAbove())
    with record(model) as recording:
        model(torch.randn(2, 9, 40))
    assert [site.name for site in recording.sites] == ["layers.0.mixer"] and recording.missing == []


def test_a_module_that_an_exception_ended_is_not_said_to_have_been_silent(
    plain: Callable[..., nn.Module],
) -> None:
    def fails(*_: object) -> None:
        raise ValueError

    model = Hybrid(plain(layers=1), SlowAttention())
    handle = model.layers[1].mixer.register_forward_pre_hook(fails)
    with record(model) as recording, pytest.raises(ValueError):
        model(torch.randn(1, 9, 40))
    assert recording.missing == []
    handle.remove()
    with record(model) as recording:
        model(torch.randn(1, 9, 40))
    assert [one.name for one in recording.missing] == ["layers.1.mixer"]
