"""Layers of which nothing is heard are listed, with their true number and a reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from attnscope.errors import NothingRecorded
from attnscope.listen import record


class SlowAttention(nn.Module):
    """Softmax attention in code of its own, which no route hears."""

    def __init__(self, layer_idx: int | None = None) -> None:
        super().__init__()
        if layer_idx is not None:
            self.layer_idx = layer_idx

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x @ x.transpose(1, 2), dim=-1) @ x


class StateMixer(nn.Module):
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

    model = Hybrid(StateMixer(), heard(), SlowAttention(), heard(), nn.Identity())
    with record(model) as recording:
        model(torch.randn(1, 9, 40))
    assert [site.name for site in recording.sites] == ["layers.1.mixer.blocks.0", "layers.3.mixer.blocks.0"]
    reason = "it made no softmax attention call that could be heard"
    assert [(one.layer, one.name, one.reason) for one in recording.missing] == [
        (0, "layers.0.mixer", reason),
        (2, "layers.2.mixer", reason),
        (4, "layers.4", reason),
    ]


def test_a_model_without_any_call_says_where_one_was_looked_for() -> None:
    model = Hybrid(SlowAttention(5), SlowAttention(6))
    message = r"no attention call was heard \(layers\.0\.mixer: it made no .*layers\.1\.mixer: it made no"
    with pytest.raises(NothingRecorded, match=message), record(model):
        model(torch.randn(1, 9, 40))


def test_modules_that_did_not_run_are_not_missed(plain: Callable[..., nn.Module]) -> None:
    model = Hybrid(plain(layers=1))
    with record(model) as recording:
        model(torch.randn(1, 9, 40))
    assert recording.missing == []
