"""How far a summary goes: its memory at 100,000 tokens, and the mistakes that it names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from attnscope.core import masks
from attnscope.core.fold import summarize
from attnscope.core.tile import Normaliser
from attnscope.errors import ScoringError, ShapeError, TooLarge

pytestmark = pytest.mark.usefixtures("each_engine")

LONG = """
import torch
from pathlib import Path
from attnscope.core.fold import summarize
from attnscope.core.masks import window

def most():  # KB held at most; ru_maxrss would begin with what the parent held
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

torch.set_num_threads(1)
q, k, v = (torch.randn(1, 1, 100_000, 8) for _ in range(3))
before = most()
summary = summarize(q, k, window(15), v=v, out=v, block=1000)
print(most() - before, float(summary.received.sum()))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's account of memory")
def test_a_summary_of_100_000_tokens_stays_under_a_memory_limit() -> None:
    found = subprocess.run(
        [sys.executable, "-c", LONG], capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(found[0]) < 400_000, f"{found[0]} KB past the inputs; a grid would be 40 GB"
    assert float(found[1]) == pytest.approx(100_000, rel=1e-5)


def test_mistakes_are_named() -> None:
    q, k = torch.randn(1, 2, 9, 4), torch.randn(1, 2, 9, 4)
    with pytest.raises(ShapeError, match=r"out came alone\. v and out together"):
        summarize(q, k, out=q)
    with pytest.raises(ScoringError, match=r"block=0\. A number of rows and keys, 1 or more"):
        summarize(q, k, block=0)
    with pytest.raises(ScoringError, match="top=-1"):
        summarize(q, k, top=-1)
    with pytest.raises(ShapeError, match=r"A slice with step 1"):
        summarize(q, k, rows=slice(0, 9, 2))
    with pytest.raises(ShapeError, match=r"normaliser is \(1, 2, 5\)"):
        summarize(q, k, normaliser=Normaliser(torch.zeros(1, 2, 5), torch.zeros(1, 2, 5)))


def test_a_block_that_would_make_a_grid_is_refused_with_one_that_fits() -> None:
    q, k = torch.randn(1, 1, 40_000, 1), torch.randn(1, 1, 40_000, 1)
    with pytest.raises(TooLarge, match=r"block=1 makes 40,000 x 40,000 blocks .* block=8 fits"):
        summarize(q, k, masks.window(1), block=1)
