"""What recording every head of SmolLM2 to disk costs, beside the model's own forward.

Certificates, summaries and small pictures are made at the call; q, k and v are written. Each measurement is a
process of its own, of the Python that has the model.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.bounds import hold, not_measured
from benchmarks.limits import limit
from benchmarks.pairs import Timed, head, in_pairs, most_held, row
from benchmarks.smollm2 import MISSING, child, ids, opened, python

SHORT, LONG = 2_048, 8_192
MEMORY = 4_096.0  # MB of a process that records LONG tokens, model and all
NAMES = f"recording SmolLM2, {SHORT:,} tokens, to its forward", f"recording SmolLM2, {LONG:,} tokens, peak"


def run(rounds: int) -> None:
    """Times SHORT tokens in pairs, takes the memory of LONG ones, and holds both to their bounds."""
    if python() is None:
        not_measured(NAMES[0], limit("record"), why=MISSING)
        not_measured(NAMES[1], MEMORY, "MB", why=MISSING)
        return
    program = "from benchmarks.record import {0}; {0}({1})".format
    timed = Timed(**child(program("pairs", min(rounds, 3))))
    head("recorded", "alone")
    row(f"{SHORT:,} tokens", timed)
    hold(NAMES[0], timed.ratio, limit("record"))
    hold(NAMES[1], child(program("held", LONG)), MEMORY, "MB")


def alone(model: Any, tokens: torch.Tensor) -> None:
    """The forward."""
    with torch.no_grad():
        model(input_ids=tokens)


def recorded(model: Any, tokens: torch.Tensor) -> None:
    """The same, recorded to a folder that is thrown away."""
    from attnscope.listen import record

    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        with record(model, path=Path(folder) / "look") as recording:
            model(input_ids=tokens)
        verdicts = {
            word for site in recording.sites if site.certificate is not None
            for words in site.certificate.verdict for word in words
        }  # fmt: skip
        if verdicts != {"passed"} or not all(site.shelf.summary for site in recording.sites):
            raise AssertionError(f"verdicts {verdicts}; every head is to pass and to have its summary")


def pairs(rounds: int) -> None:
    """Prints both ways timed in turn over SHORT tokens."""
    model, tokens = opened(), ids(SHORT)
    timed = in_pairs(lambda: recorded(model, tokens), lambda: alone(model, tokens), rounds=rounds)
    print(json.dumps(asdict(timed)))


def held(length: int) -> None:
    """Records so many tokens, and prints the MB that this process has held at most."""
    recorded(opened(), ids(length))
    print(most_held())
