"""Drawing from torch's own generator: by one thread at a time, and afterwards it is as it was before.

There is one such generator in a process. Two threads that seed it and draw would mix their numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

DRAWING = threading.RLock()
"""Held by whoever draws from torch's own generator."""


@contextmanager
def drawing(seed: int, cuda: torch.device | None = None) -> Iterator[None]:
    """Draw from the seed inside the block, on the CPU and on the device `cuda`.

    torch.manual_seed would seed every other device too, and leave it so.
    """
    with DRAWING, torch.random.fork_rng(devices=[] if cuda is None else [cuda]):
        torch.default_generator.manual_seed(seed)
        if cuda is not None:
            with torch.cuda.device(cuda):
                torch.cuda.manual_seed(seed)
        yield
