"""A place for our own computations in the middle of somebody else's forward, where they leave no trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor
from torch.utils import _python_dispatch


@contextmanager
def quiet(device: torch.device | None = None) -> Iterator[None]:
    """Without modes, gradients, inference mode, and on `device` autocast: ordinary tensors come out."""
    with ExitStack() as still:
        if torch._C._len_torch_dispatch_stack():  # somebody counts operations: ours are not the model's
            still.enter_context(_python_dispatch._disable_current_modes())
        still.enter_context(torch._C.DisableTorchFunction())
        still.enter_context(torch.inference_mode(False))
        still.enter_context(torch.no_grad())
        if device is not None and _knows_autocast(device):
            still.enter_context(torch.autocast(device.type, enabled=False))
        yield


def _knows_autocast(device: torch.device) -> bool:
    """Whether autocast speaks of such devices; of "meta" it does not."""
    return torch.amp.is_autocast_available(device.type)


def autocast_dtype(device: torch.device) -> torch.dtype | None:
    """The dtype to which a matrix product casts its operands here, None outside autocast."""
    if not _knows_autocast(device) or not torch.is_autocast_enabled(device.type):
        return None
    return torch.get_autocast_dtype(device.type)


def as_autocast(tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """The tensor as a product under autocast gets it; float64 and whole numbers are left alone there."""
    castable = tensor.is_floating_point() and tensor.dtype != torch.float64
    return tensor if dtype is None or not castable else tensor.to(dtype)
