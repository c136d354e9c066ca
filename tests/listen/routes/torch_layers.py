"""What the tests of torch's own layers share: sharp heads, whole grids, verdicts, the fast path's switch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from attnscope.recording import Site


def sharp(model: nn.Module, dtype: torch.dtype = torch.float32) -> Any:
    """Heads that attend sharply, and no parameter that is 0 or 1 throughout."""
    own = torch.Generator().manual_seed(17)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            size = 0.35 if "in_proj" in name else 0.1
            parameter.add_(torch.randn(parameter.shape, generator=own), alpha=size)
    return model.to(dtype).eval()


def causal(length: int) -> Tensor:
    """As torch's modules take it: True = may not attend."""
    return torch.ones(length, length, dtype=torch.bool).triu(1)


def whole(site: Site) -> Tensor:
    """All weights of a site, (b h tq tk)."""
    grids = [[site.weights(h, batch=b) for h in range(site.heads)] for b in range(site.batch)]
    return torch.stack([torch.stack(heads) for heads in grids])


def verdicts(sites: Iterable[Site]) -> set[str]:
    """Every verdict on a head of these sites, once."""
    found = [site.certificate for site in sites]
    return {v for one in found for heads in (one.verdict if one else (("none",),)) for v in heads}


def certified(*sites: Site) -> bool:
    """Whether every head of every site passed."""
    return verdicts(sites) == {"passed"}


@contextmanager
def fastpath(on: bool) -> Iterator[None]:
    """torch's fast path switched on or off."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(on)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
