"""What recording a generation to disk costs: memory and time of two processes, one with and one without.

SmolLM2-135M generates 200 tokens from a prompt of 500, greedily. Run it where the packages of
`make test-real` are installed.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from benchmarks.bounds import hold

PROMPT, NEW = 500, 200
SHARE, MORE = 1.2, 64  # the peak may be 1.2 times that without a recording, and 64 MB more
TEXT = "The tea was cold, and the fox that had come back for it sat down by the river to think. "


def run(rounds: int) -> None:
    """Prints peak memory, seconds and whether the tokens were the same; `rounds` is not used."""
    if smollm2() is None:
        print("  SmolLM2 is not installed here: run it with the Python of `make test-real`")
        return
    with tempfile.TemporaryDirectory() as folder:
        alone, heard = _child(""), _child(str(Path(folder) / "look"))
    print(f"  without   peak {alone['peak']:6.0f} MB   {alone['seconds']:5.1f} s")
    print(
        f"  recorded  peak {heard['peak']:6.0f} MB   {heard['seconds']:5.1f} s   "
        f"{heard['size']:.1f} MB on disk"
    )
    hold(f"peak of the recording, past {MORE} MB", (heard["peak"] - MORE) / alone["peak"], SHARE)
    print(
        f"  tokens {'identical' if heard['tokens'] == alone['tokens'] else 'NOT IDENTICAL'}; {heard['rows']}"
    )


def child(path: str) -> None:
    """One generation, recorded to `path` where one is given; prints what it took as JSON."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = smollm2()
    model: Any = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = AutoTokenizer.from_pretrained(folder)(TEXT * 40, return_tensors="pt").input_ids[:, :PROMPT]
    options: dict[str, Any] = {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False}
    found: dict[str, Any] = {}
    begun = time.perf_counter()
    if path:
        from attnscope.listen import record

        with record(model, path=path) as recording:
            tokens = model.generate(ids, **options)
        found["size"] = sum(one.stat().st_size for one in Path(path).iterdir()) / 2**20
        sizes = {(site.tq, site.tk) for site in recording.sites}
        found["rows"] = f"{len(recording.sites)} sites of rows x keys {sizes}, missing {recording.missing}"
    else:
        tokens = model.generate(ids, **options)
    found["seconds"] = time.perf_counter() - begun
    found["tokens"] = tokens.tolist()
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


def _child(path: str) -> dict[str, Any]:
    program = f"from benchmarks.generate import child; child({path!r})"
    threads = str(torch.get_num_threads())
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": threads},
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def smollm2() -> str | None:
    """SmolLM2 as an ordinary folder, made by the tests of real models; None where it is not at hand."""
    tests = str(Path(__file__).parents[1] / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    loaders = import_module("real.loaders")
    return str(loaders.smollm2_folder()) if loaders.installed("smollm2") else None
