"""What recording a generation to disk costs: memory and time of two processes, one with and one without.

SmolLM2-135M generates 200 tokens from a prompt of 500, greedily, in the Python that has the model.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.bounds import hold, not_measured
from benchmarks.smollm2 import MISSING, child, ids, opened, python

PROMPT, NEW = 500, 200
TIMES = 1.5  # the time without a recording
SHARE, MORE = 1.2, 64  # the peak may be 1.2 times that without a recording, and 64 MB more
NAMES = "a recorded generation, to the same without", f"its peak, less {MORE} MB, to the peak without"


def run(rounds: int) -> None:
    """Prints peak memory, seconds and whether the tokens were the same; `rounds` is not used."""
    if python() is None:
        for name, most in zip(NAMES, (TIMES, SHARE), strict=True):
            not_measured(name, most, why=MISSING)
        return
    program = "from benchmarks.generate import generated; generated({!r})".format
    with tempfile.TemporaryDirectory() as folder:
        alone, heard = child(program("")), child(program(str(Path(folder) / "look")))
    print(f"  without   peak {alone['peak']:6.0f} MB   {alone['seconds']:5.1f} s")
    print(
        f"  recorded  peak {heard['peak']:6.0f} MB   {heard['seconds']:5.1f} s   "
        f"{heard['size']:.1f} MB on disk"
    )
    print(
        f"  tokens {'identical' if heard['tokens'] == alone['tokens'] else 'NOT IDENTICAL'}; {heard['rows']}"
    )
    hold(NAMES[0], heard["seconds"] / alone["seconds"], TIMES)
    hold(NAMES[1], (heard["peak"] - MORE) / alone["peak"], SHARE)


def generated(path: str) -> None:
    """One generation, recorded to `path` where one is given; prints what it took as JSON."""
    model, tokens = opened(), ids(PROMPT)
    options: dict[str, Any] = {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False}
    found: dict[str, Any] = {}
    begun = time.perf_counter()
    if path:
        from attnscope.listen import record

        with record(model, path=path) as recording:
            made = model.generate(tokens, **options)
        found["size"] = sum(one.stat().st_size for one in Path(path).iterdir()) / 2**20
        sizes = {(site.tq, site.tk) for site in recording.sites}
        found["rows"] = f"{len(recording.sites)} sites of rows x keys {sizes}, missing {recording.missing}"
    else:
        made = model.generate(tokens, **options)
    found["seconds"] = time.perf_counter() - begun
    found["tokens"] = made.tolist()
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))
