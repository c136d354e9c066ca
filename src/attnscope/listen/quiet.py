"""A place for our own computations in the middle of somebody else's forward, where they leave no trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def quiet(device: torch.device | None = None) -> Iterator[None]:
    """Without function modes, gradients, inference mode, and on `device` without autocast: ordinary tensors
    come out.
    """
    with torch._C.DisableTorchFunction(), torch.inference_mode(False), torch.no_grad():
        if device is None:
            yield
        else:
            with torch.autocast(device.type, enabled=False):
                yield


def autocast_dtype(device: torch.device) -> torch.dtype | None:
    """The dtype to which a matrix product casts its operands here, None outside autocast."""
    if not torch.is_autocast_enabled(device.type):
        return None
    return torch.get_autocast_dtype(device.type)


def as_autocast(tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """The tensor as a product under autocast gets it; float64 and whole numbers are left alone there."""
    castable = tensor.is_floating_point() and tensor.dtype != torch.float64
    return tensor if dtype is None or not castable else tensor.to(dtype)
