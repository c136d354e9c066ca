"""What a recording will take: told beforehand, refused where the disk cannot hold it. A disk that fills up in
the middle changes nothing but the recording.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import attnscope
from attnscope.errors import NoRoom
from attnscope.gpt import GPT, CharacterTokenizer, GPTConfig
from attnscope.listen import record
from attnscope.listen.expected import expected_bytes
from attnscope.listen.wanted import Wanted
from attnscope.recording import room
from attnscope.recording.footprint import Extent, bytes_of_site

Tiny = Callable[..., nn.Module]
Inputs = Callable[..., dict[str, Tensor]]

WANTS = [
    Wanted("qkv"), Wanted("all"), Wanted("qk", frozenset({1})), Wanted("qkv", None, [0, 3]),
    Wanted("summary"),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("batch", "tokens"), [(1, 9), (2, 60), (1, 300)])
@pytest.mark.parametrize("family", ["llama", "mistral", "deepseek", "gpt2", "bert", "albert"])
def test_what_was_expected_is_what_was_written(
    family: str, batch: int, tokens: int, dtype: torch.dtype, tiny: Tiny, tmp_path: Path
) -> None:
    """Grouped heads, windows, values narrower than keys, layers that share a module; texts whose grid is its
    own picture, and one that is long enough for sums of blocks.
    """
    model = tiny(family, dtype=dtype)
    ids = torch.arange(batch * tokens).view(batch, tokens) % 90 + 3
    for number, wanted in enumerate(WANTS):
        about = expected_bytes(model, batch, tokens, wanted)
        where = tmp_path / str(number)
        with torch.no_grad(), record(
            model, path=where, keep=wanted.keep, layers=wanted.layers, heads=wanted.heads
        ):  # fmt: skip
            model(input_ids=ids)
        assert about == pytest.approx(room.taken(where), rel=0.01 if tokens > 60 else 0.05)


def test_heads_that_share_one_key_head_are_told_by_the_config() -> None:
    import transformers as hf

    sizes: dict[str, Any] = {
        "vocab_size": 31,
        "hidden_size": 48,
        "num_hidden_layers": 1,
        "num_attention_heads": 6,
    }
    one, each = (hf.FalconForCausalLM(hf.FalconConfig(**sizes, multi_query=given)) for given in (True, False))
    less = (6 - 1) * 2 * 8 * 4 * 1000  # five heads of keys and of values, 8 numbers of 4 bytes a token
    assert expected_bytes(each, 1, 1000, Wanted()) - expected_bytes(one, 1, 1000, Wanted()) == less


def test_a_model_of_ours_says_it_and_one_that_cannot_be_known_does_not(tiny: Tiny) -> None:
    ours = GPT(GPTConfig(9, 40, 2, 3, 24), CharacterTokenizer("abcdefgh "), seed=4)
    extent = Extent(batch=1, heads=3, key_heads=3, tq=10, tk=10, d=8, dv=8, item=4)
    assert expected_bytes(ours, 1, 10, Wanted("qk")) == 2 * bytes_of_site(extent, ("q", "k"))
    assert expected_bytes(tiny("t5"), 1, 10, Wanted()) is None
    assert expected_bytes(nn.Linear(2, 2), 1, 10, Wanted()) is None


def test_more_than_the_disk_holds_is_refused_before_the_model_runs(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "free_at", lambda path: 50_000)
    said = (
        r"look is to take about 3[89][0-9]\.. KB, and the disk has 48\.8 KB left.*keep=\"qk\" or \"summary\""
    )
    with pytest.raises(NoRoom, match=said), record(tiny("llama"), [[1] * 81], tmp_path / "look"):
        raise AssertionError("the block was entered")
    assert list(tmp_path.iterdir()) == []


CHILD = """
import json, sys
sys.path[:0] = [{source!r}]
from pathlib import Path
import torch
from attnscope.errors import NoRoom
from attnscope.gpt import GPT, CharacterTokenizer, GPTConfig
from attnscope.listen import record
from attnscope.recording import load, verify
letters = CharacterTokenizer("".join(map(chr, range(97, 127))))
model = GPT(GPTConfig(30, 400, 5, 3, 24), letters, seed=4).eval()
ids = torch.arange(300)[None] % 30
where, told = Path(sys.argv[1]) / "look", {{}}

def heard(name, given, times=1, tokens=None):
    with torch.no_grad():
        alone, found = model(given), []
    try:
        with torch.no_grad(), record(model, tokens, where) as recording:
            found = [model(given) for _ in range(times)]
        told[name] = "written"
    except NoRoom as error:
        told[name] = str(error)
    told[name + " runs"] = [torch.equal(one, alone) for one in found]
    told[name + " left"] = sorted(path.name for path in where.parent.iterdir())

{story}
print(json.dumps(told))
"""

ON_A_SMALL_DISK = """
heard("small", ids[:, :20], tokens=["old"] * 20)
heard("known", ids, tokens=["x"] * 300)
heard("unknown", ids)
heard("many", ids[:, :60], times=20)
told["tokens"], told["whole"] = load(where).tokens == ["old"] * 20, verify(where).whole
"""

WITH_SMALL_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
heard("small", ids[:, :20], tokens=["old"] * 20)
heard("large", ids)
told["tokens"], told["whole"] = load(where).tokens == ["old"] * 20, verify(where).whole
"""


def told(program: list[str], story: str, where: Path) -> dict[str, Any]:
    code = CHILD.format(source=str(Path(attnscope.__file__).parents[1]), story=story)
    done = subprocess.run(
        [*program, sys.executable, "-c", code, str(where)],
        capture_output=True, text=True, timeout=240, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def in_a_small_disk(where: Path) -> list[str]:
    """The program that runs another in a file system of 500 kB of its own, which goes with it."""
    mount = f'mount -t tmpfs -o size=500k tmpfs {where} && exec "$@"'
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]


def may_mount(where: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*in_a_small_disk(where), "true"], capture_output=True, check=False).returncode == 0


def test_a_disk_that_is_too_small_leaves_the_old_recording_and_the_model_as_it_was(tmp_path: Path) -> None:
    if not may_mount(tmp_path):
        pytest.skip("no file system of its own can be mounted here")
    found = told(in_a_small_disk(tmp_path), ON_A_SMALL_DISK, tmp_path)
    assert found["small"] == "written" and found["tokens"] and found["whole"]
    assert "look is to take about 1.7 MB" in found["known"] and found["known runs"] == []
    assert "look cannot be written: the other 4 layers take about" in found["unknown"]
    assert found["unknown runs"] == [True]
    assert "No space left on device" in found["many"] or "the other 4 layers take" in found["many"]
    assert found["many runs"] == [True] * 20
    assert all(found[f"{name} left"] == ["look"] for name in ("small", "known", "unknown", "many"))


def test_a_file_that_finds_no_room_is_said_at_the_end_of_the_block(tmp_path: Path) -> None:
    found = told([], WITH_SMALL_FILES, tmp_path)
    assert found["small"] == "written" and found["tokens"] and found["whole"]
    assert "cannot be written: File too large" in found["large"]
    assert found["large runs"] == [True] and found["large left"] == ["look"]
