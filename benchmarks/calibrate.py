"""How far clean heads go, by route and dtype, and how many times that is allowed by core/verdict.py.

Heads of tiny models with attention that is not flat, over several lengths, of calls made up at random
from flat rows to rows of one key, and of the real models that are installed beside this program.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import torch
from torch import Tensor

from attnscope.core.certificate import Certificate
from attnscope.core.verdict import REFUSED, thresholds_of
from benchmarks.made_up import clean_calls
from benchmarks.real import real_sites
from benchmarks.tiny import runs

LENGTHS = (7, 97)
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
FIGURES = ("z", "rms", "t")
MANY = 50  # rows: an rms over fewer scatters, and is judged by rms_over


def run(rounds: int) -> None:
    """Prints quantiles and maxima of each figure, the limit, and the margin that it leaves."""
    found: dict[tuple[str, torch.dtype], list[Certificate]] = defaultdict(list)
    for certificate in certificates(rounds):
        found[certificate.route, certificate.dtype].append(certificate)
    for key in sorted(found, key=str):
        _print(*key, found[key])


def certificates(rounds: int) -> Iterator[Certificate]:
    """Of every clean call, made by the listener or by certify itself."""
    for dtype in DTYPES:
        for seed in range(rounds):
            for one in runs(dtype, lengths=LENGTHS, padded=seed % 2 == 1, seed=11 + seed):
                yield from (site.certificate for site in one.recording.sites)
            for route in ("sdpa", "eager"):
                yield from clean_calls(seed, dtype, route)
    for site in real_sites():
        yield site.certificate


def figures(certificates: list[Certificate], name: str) -> Tensor:
    """A figure of all heads that were compared, in order; of rms only those of MANY rows."""
    heads = [
        getattr(one, name).abs()[one.rows > (MANY if name == "rms" else 0)].flatten() for one in certificates
    ]
    return torch.cat([*heads, torch.zeros(1, dtype=torch.float64)]).sort().values


def _print(route: str, dtype: torch.dtype, certificates: list[Certificate]) -> None:
    limits = thresholds_of(route, dtype)
    verdicts = [word for one in certificates for batch in one.verdict for word in batch]
    print(f"  {route}, {str(dtype)[6:]}: {len(verdicts)} heads, {verdicts.count(REFUSED)} refused")
    for name in FIGURES:
        ordered = figures(certificates, name)
        half, most, last = (float(ordered.quantile(part)) for part in (0.5, 0.99, 1.0))
        allowed = getattr(limits, name)
        told = f"median {half:.2f}, 99% {most:.2f}, largest {last:.2f} of {allowed:g}"
        print(f"    {name:4s} {told}, {allowed / max(last, 1e-9):.1f} times")
