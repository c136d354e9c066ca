"""Modules whose numbers are drawn from a stated seed, without touching PyTorch's own random state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, nn

from attnscope.errors import LessonError
from attnscope.gpt.chance import drawing

Module = TypeVar("Module", bound=nn.Module)


def drawn(make: Callable[[], Module], *, seed: int) -> Module:
    """Return the module that `make` makes, each linear layer drawn as PyTorch draws it, from the seed.

    Weights and biases are uniform between ±1/√(inputs), which is nn.Linear's own rule. Raises LessonError for
    a seed that is not a whole number of 0 or more.
    """
    with torch.device("meta"):
        module = make()
    module.to_empty(device="cpu")
    generator = generator_of(seed)
    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                bound = 1 / math.sqrt(layer.in_features)
                for parameter in layer.parameters():
                    parameter.uniform_(-bound, bound, generator=generator)
    return module.requires_grad_(False)


def normal(*shape: int, seed: int) -> Tensor:
    """Return numbers of mean 0 and deviation 1, float32, drawn from the seed. Raises LessonError."""
    return torch.randn(shape, generator=generator_of(seed))


def generator_of(seed: int) -> torch.Generator:
    """Return a generator of its own. Raises LessonError for what is no seed."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise LessonError(
            f"seed={seed!r}", wanted="A whole number from 0 on is wanted", hint="seed=0 is as good as any"
        )
    return torch.Generator().manual_seed(seed)


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Draw from the seed inside the block, on the CPU and on `device`; afterwards all is as it was before.

    One thread draws at a time. Raises LessonError for what is no seed.
    """
    generator_of(seed)
    with drawing(seed, device if device is not None and device.type == "cuda" else None):
        yield
