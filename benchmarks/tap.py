"""A layer that makes its own grid of attention, alone and with its softmax tapped: time, and peak memory."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnscope import record
from attnscope.recording import Recording
from benchmarks.pairs import head, in_pairs, peak, row

LENGTH, HEADS, WIDTH = 2_048, 8, 64


class OwnCode(nn.Module):
    """Softmax attention by hand, as Bloom and MPT have it."""

    def __init__(self) -> None:
        super().__init__()
        self.num_heads = HEADS
        self.qkv = nn.Linear(HEADS * WIDTH, 3 * HEADS * WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (HEADS, WIDTH)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = q @ k.mT / WIDTH**0.5
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(dim=-1)
        return (weights @ v).transpose(1, 2).flatten(2)


def prepare() -> tuple[nn.Module, Tensor]:
    """The layer and its input; a first call is made with a short one, and is not measured."""
    torch.manual_seed(0)
    model = OwnCode().eval()
    recorded(model, torch.randn(1, 80, HEADS * WIDTH))
    return model, torch.randn(1, LENGTH, HEADS * WIDTH)


def alone(model: nn.Module, x: Tensor) -> Tensor:
    """The layer as it is."""
    with torch.no_grad():
        out: Tensor = model(x)
    return out


def recorded(model: nn.Module, x: Tensor) -> Recording:
    """The layer under a recording."""
    with torch.no_grad(), record(model) as recording:
        model(x)
    return recording


def run(rounds: int) -> None:
    """Times both and prints a row; the grid of one such call is 4 * heads * length^2 bytes."""
    model, x = prepare()
    timed = in_pairs(lambda: recorded(model, x), lambda: alone(model, x), rounds=rounds)
    head("recorded", "alone")
    row("softmax tap", timed, peak("tap", "recorded"), peak("tap", "alone"))
    print(f"  one grid of the model: {4 * HEADS * LENGTH**2 / 2**20:.0f} MB")
