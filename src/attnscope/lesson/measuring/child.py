"""The process of one measurement: one way at one length, run as often as its parent asks on stdin.

`python -m attnscope.lesson.measuring.child '{"way": "tiles", "tokens": 4096, ...}'` answers in JSON, a line
each: {"ready": bytes held before}, and for every line "run" {"seconds": s, "peak": bytes past the baseline}.
A line {"problem": "..."} says why it cannot. When stdin ends, its parent is gone or done, and so is it.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnscope.lesson.drawn import normal
from attnscope.lesson.measuring.meter import Meter, refuse_beyond
from attnscope.lesson.measuring.ways import WAYS

_WARM = 64  # tokens of a first call, which brings what PyTorch makes once and keeps


def main(wish: dict[str, Any]) -> None:
    """Make the inputs, say so, and run the way at each line of stdin."""
    asked = _lines()
    torch.set_num_threads(wish["threads"])
    way, d, window = WAYS[wish["way"]], wish["d"], wish["window"]
    with torch.inference_mode():
        try:
            way.run(*_inputs(_WARM, d, wish["seed"]), window)
            inputs = _inputs(wish["tokens"], d, wish["seed"])
        except (RuntimeError, MemoryError) as error:
            return _say({"problem": _sentence(error)})
        meter = Meter()
        refuse_beyond(way.need(wish["tokens"], d))
        _say({"ready": meter.baseline})
        while asked.get():
            begun = time.perf_counter()
            try:
                out = way.run(*inputs, window)
            except (RuntimeError, MemoryError) as error:
                return _say({"problem": _sentence(error)})
            seconds, peak = time.perf_counter() - begun, meter.peak()
            if not Path(wish["out"]).exists():
                out.numpy().tofile(wish["out"])
            del out
            _say({"seconds": seconds, "peak": peak})
    return None


def _lines() -> queue.Queue[str]:
    """The lines of stdin as they come; the end of stdin ends the process, even in the middle of a run."""
    held: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            held.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    return held


def _inputs(tokens: int, d: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v (1 1 t d): the same in every process of a seed."""
    q, k, v = (normal(1, 1, tokens, d, seed=seed + at) for at in range(3))
    return q, k, v


def _sentence(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__)[:200]


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
