"""Which share of this machine's matrix product the native engine reaches, and what its time is spent on.

Widths are varied: the time that a pass takes for each number more of a key is that of q.k, for each number
more of a value that of mixing; with no rows to speak of, packing is left; the remainder is exponentials and
statistics.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from attnscope.core.engine import Native, Wanted, native_of
from attnscope.core.masks import causal, full
from attnscope.core.rowstats import first_keys
from attnscope.core.scoring import Bound, Scoring

LENGTH, WIDTH, SIDE = 4_096, 64, 1_024
CELLS = LENGTH * (LENGTH + 1) / 2


def run(rounds: int) -> None:
    """Prints the shares, of one thread in processor time; there is no bound on them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _shares(rounds)
    finally:
        torch.set_num_threads(threads)


def _shares(rounds: int) -> None:
    if native_of(_bound(LENGTH, WIDTH)[0]) is None:
        print("  the native engine does not run here")
        return
    a, b, c = (torch.randn(SIDE, SIDE) for _ in range(3))
    mm = SIDE**3 / min(_seconds(lambda: torch.mm(a, b, out=c)) for _ in range(8 * rounds))
    print(f"  torch.mm, {SIDE} x {SIDE}: {mm / 1e9:.1f} thousand million products and sums a second")
    passes = {"pass 1": _normaliser, "both passes": _both, "output": _output}
    for name, work in passes.items():
        whole, wide, long = (
            _median(work, rounds, *sizes)
            for sizes in ((WIDTH, WIDTH), (2 * WIDTH, WIDTH), (WIDTH, 2 * WIDTH))
        )
        keys = wide - whole
        values = long - whole if work is _output else 0.0
        packing = _packing(rounds, values=work is _output)
        rest = max(whole - keys - values - packing, 0.0)
        shares = {"q.k": keys, "mixing": values, "packing": packing, "exponentials and statistics": rest}
        print(f"  {name}: {whole * 1e3:.0f} ms: " + ", ".join(
            f"{part} {share / whole:.0%}" for part, share in shares.items() if share
        ))  # fmt: skip
        print(f"    q.k at {CELLS * WIDTH / keys / mm:.0%} of torch.mm", end="")
        print(f", mixing at {CELLS * WIDTH / values / mm:.0%}" if values else "", end="")
        products = CELLS * WIDTH * (2 if values else 1)
        print(f"; the whole pass at {products / whole / mm:.0%}", flush=True)


def _bound(length: int, width: int, *, rows: int = LENGTH, dv: int = WIDTH) -> tuple[Bound, Tensor]:
    own = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(1, 1, t, d, generator=own) for t, d in ((rows, width), (length, width), (length, dv))
    )
    scoring = Scoring(causal()) if rows == length else Scoring(full(), offset=0)
    return scoring.bind(q, k), v


def _engine(bound: Bound) -> Native:
    found = native_of(bound)
    assert found is not None
    return found


def _normaliser(bound: Bound, v: Tensor) -> None:
    _engine(bound).normaliser(bound, slice(0, bound.shape.tq))


def _both(bound: Bound, v: Tensor) -> None:
    wanted = Wanted(top=8, first=first_keys(bound.visible), block=16, start=0, probe=None)
    _engine(bound).both(bound, wanted, slice(0, bound.shape.tq))


def _output(bound: Bound, v: Tensor) -> None:
    out = torch.empty(*bound.q.shape[:3], v.shape[-1])
    _engine(bound).output(bound, v, slice(0, bound.shape.tq), out)


def _packing(rounds: int, *, values: bool) -> float:
    """Seconds for packing LENGTH keys, and values: what is left as the rows go to none."""
    work, taken = _output if values else _normaliser, []
    for rows in (96, 192):
        inputs = _bound(LENGTH, WIDTH, rows=rows)
        taken.append(statistics.median(_seconds(lambda x=inputs: work(*x)) for _ in range(4 * rounds)))
    few, more = taken
    return max(2 * few - more, 0.0)


def _median(work: Callable[[Bound, Tensor], None], rounds: int, width: int, dv: int) -> float:
    inputs = _bound(LENGTH, width, dv=dv)
    work(*inputs)
    return statistics.median(_seconds(lambda: work(*inputs)) for _ in range(2 * rounds))


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun
