"""What recording every head of SmolLM2 costs, certificate and summary made at the call, to a plain forward.

Run it where the packages of `make test-real` are installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import torch

from benchmarks.bounds import hold
from benchmarks.generate import smollm2
from benchmarks.pairs import head, in_pairs, most_held, row

SHORT, LONG = 2_048, 8_192
TIMES, MEMORY = 4.0, 4_096.0  # to the forward; MB of a process that records LONG tokens, model and all
TEXT = "The tea was cold, and the fox that had come back for it sat down by the river to think. "


def run(rounds: int) -> None:
    """Times SHORT tokens in pairs, takes the memory of LONG ones, and holds both to their bounds."""
    if smollm2() is None:
        print("  SmolLM2 is not installed here: run it with the Python of `make test-real`")
        return
    model, ids = _model(), _ids(SHORT)
    head("recorded", "alone")
    timed = in_pairs(lambda: recorded(model, ids), lambda: alone(model, ids), rounds=min(rounds, 3))
    row(f"{SHORT:,} tokens", timed)
    hold(f"recording {SHORT:,} tokens, to the forward", timed.ratio, TIMES)
    done = subprocess.run(
        [sys.executable, "-c", "from benchmarks.forward import child; child()"],
        check=True, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    hold(f"recording {LONG:,} tokens, peak of the process", float(done.stdout.splitlines()[-1]), MEMORY, "MB")


def alone(model: Any, ids: torch.Tensor) -> None:
    """The forward."""
    with torch.no_grad():
        model(input_ids=ids)


def recorded(model: Any, ids: torch.Tensor) -> None:
    """The same, recorded."""
    from attnscope.listen import record

    with torch.no_grad(), record(model, keep="summary"):
        model(input_ids=ids)


def child() -> None:
    """Records LONG tokens and prints the MB that this process has held at most."""
    recorded(_model(), _ids(LONG))
    print(most_held())


def _model() -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(smollm2()).eval()


def _ids(length: int) -> torch.Tensor:
    from transformers import AutoTokenizer

    ids = AutoTokenizer.from_pretrained(smollm2())(TEXT * (length // 10), return_tensors="pt").input_ids
    return ids[:, :length]
