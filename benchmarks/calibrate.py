"""How far clean heads go, by route and dtype, and how many times that is allowed by core/verdict.py.

Heads of tiny models with attention that is not flat, of layers of plain PyTorch, of calls made up at random
from flat rows to rows of one key, and of the real models that are installed beside this program.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

import torch
from torch import Tensor

from attnscope.core.certificate import Certificate
from attnscope.core.verdict import REFUSED, thresholds_of
from benchmarks.layers import layer_sites
from benchmarks.made_up import clean_calls
from benchmarks.real import real_sites
from benchmarks.tiny import runs

LENGTHS = (7, 97)
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
FIGURES = ("z", "rms", "t")
MANY = 50  # rows: an rms over fewer scatters, and is judged by rms_over
HEAD = "| route | dtype | heads | refused | z of its limit | rms of its limit | t of its limit |"

Found = dict[tuple[str, torch.dtype], list[Certificate]]


def run(rounds: int) -> None:
    """Prints the table of the largest of each figure and its limit."""
    found: Found = defaultdict(list)
    for certificate in certificates(rounds):
        found[certificate.route, certificate.dtype].append(certificate)
    print("\n".join(table(found)))


def certificates(rounds: int) -> Iterator[Certificate]:
    """Of every clean call, made by the listener or by certify itself."""
    for dtype in DTYPES:
        for seed in range(rounds):
            tiny = runs(dtype, lengths=LENGTHS, padded=seed % 2 == 1, seed=11 + seed)
            sites = chain.from_iterable(one.recording.sites for one in tiny)
            for site in chain(sites, layer_sites(seed, dtype)):
                yield site.certificate
            for route in ("attnscope", "sdpa", "eager"):
                yield from clean_calls(seed, dtype, route)
    for site in real_sites():
        yield site.certificate


def table(found: Found) -> list[str]:
    """The table, line by line, as docs/certificate.md keeps it."""
    order = sorted(found, key=lambda key: (key[0], DTYPES.index(key[1])))
    return [HEAD, "|" + "---|" * 7, *(_line(*key, found[key]) for key in order)]


def figures(certificates: list[Certificate], name: str) -> Tensor:
    """A figure of all heads that were compared, in order; of rms only those of MANY rows."""
    heads = [
        getattr(one, name).abs()[one.rows > (MANY if name == "rms" else 0)].flatten() for one in certificates
    ]
    return torch.cat([*heads, torch.zeros(1, dtype=torch.float64)]).sort().values


def _line(route: str, dtype: torch.dtype, certificates: list[Certificate]) -> str:
    limits = thresholds_of(route, dtype)
    verdicts = [word for one in certificates for batch in one.verdict for word in batch]
    reached = [
        f"{float(figures(certificates, name)[-1]):.2f} of {getattr(limits, name):g}" for name in FIGURES
    ]
    return (
        f"| {route} | {_name(dtype)} | {len(verdicts)} | {verdicts.count(REFUSED)} | {' | '.join(reached)} |"
    )


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
