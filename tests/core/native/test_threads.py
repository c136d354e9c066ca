"""Work is done by the threads that torch has, says the same on threads of its own, and outlives a fork."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from attnscope.core.engine import normaliser, using
from attnscope.core.masks import causal
from attnscope.core.native.library import Library, library

FOUND = library()
pytestmark = pytest.mark.skipif(not isinstance(FOUND, Library), reason=f"the native engine: {FOUND}")

FORKED = """
import os, sys, torch
from attnscope.core.engine import normaliser, using
from attnscope.core.masks import causal

torch.set_num_threads(2)
q, k = torch.randn(2, 1, 4, 1024, 16)
with using("native"):
    before = normaliser(q, k, causal())
    child = os.fork()
    again = normaliser(q, k, causal())
same = torch.equal(before.peak, again.peak) and torch.equal(before.logsum, again.logsum)
if child == 0:
    os._exit(0 if same else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or not same)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_computes_what_its_parent_did() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_threads_of_torch_and_of_our_own_say_the_same() -> None:
    assert isinstance(FOUND, Library)
    q, k = torch.randn(2, 1, 4, 1024, 16, generator=torch.Generator().manual_seed(0))
    torch.set_num_threads(3)
    try:
        with using("native"):
            by_torch = normaliser(q, k, causal())
            FOUND.pool(None)
            by_own = normaliser(q, k, causal())
    finally:
        FOUND.pool()
        torch.set_num_threads(1)
    assert torch.equal(by_torch.peak, by_own.peak) and torch.equal(by_torch.logsum, by_own.logsum)
