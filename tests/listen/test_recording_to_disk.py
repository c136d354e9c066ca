"""record(path=): each site is written as it comes, and the folder is whole or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnscope.core.fold import summarize
from attnscope.core.scoring import Bound
from attnscope.errors import NothingRecorded, RecordingError
from attnscope.listen import record
from attnscope.recording import load
from attnscope.recording.ondisk import OnDisk
from attnscope.recording.overview import block_of
from attnscope.recording.strips import FileStrip

Inputs = Callable[..., dict[str, Tensor]]
Tiny = Callable[..., nn.Module]
OPTIONS: dict[str, Any] = {"max_new_tokens": 7, "min_new_tokens": 7, "do_sample": False, "pad_token_id": 0}


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("keep", ["all", "summary"])
def test_what_is_written_while_a_model_generates_is_what_is_held_in_memory(
    attention: str, keep: str, tiny: Tiny, inputs: Inputs, tmp_path: Path
) -> None:
    model: Any = tiny("mistral", attention, torch.bfloat16)
    given = inputs("mistral", "left", t=19)
    with record(model, keep=keep) as held:
        model(**given)
        model.generate(**given, **OPTIONS)
    with record(model, keep=keep, path=tmp_path / "look") as written:
        model(**given)
        model.generate(**given, **OPTIONS)
        assert [path.name for path in tmp_path.iterdir()] != ["look"]
        assert (
            isinstance(written.sites[0].shelf, OnDisk) and written.sites[0].summary(0).entropy.shape[2] == 25
        )
    assert [path.name for path in tmp_path.iterdir()] == ["look"]
    assert not list((tmp_path / "look").glob("*.growing"))
    for recording in (written, load(tmp_path / "look", verify=True)):
        for run, other in zip(recording.runs, held.runs, strict=True):
            for ours, theirs in zip(run.sites, other.sites, strict=True):
                assert torch.equal(ours.normaliser.peak, theirs.normaliser.peak)
                assert torch.equal(ours.summary(1).received, theirs.summary(1).received)
                assert ours.certificate is not None and theirs.certificate is not None
                assert ours.certificate.verdict == theirs.certificate.verdict
                if keep == "all":
                    for name in ("q", "k", "v", "out"):
                        assert torch.equal(getattr(ours, name), getattr(theirs, name))
                    for head in (0, 5):
                        assert torch.equal(ours.weights(head, batch=1), theirs.weights(head, batch=1))


def test_an_exception_leaves_the_old_recording_and_nothing_beside_it(
    tiny: Tiny, inputs: Inputs, tmp_path: Path
) -> None:
    model: Any = tiny("llama")
    with record(model, path=tmp_path / "look", tokens=["old"]):
        model(**inputs("llama"))
    for fault in (ValueError, KeyboardInterrupt):
        with pytest.raises(fault), record(model, path=tmp_path / "look", tokens=["new"]):
            model.generate(**inputs("llama", "left"), **OPTIONS)
            raise fault
        assert [path.name for path in tmp_path.iterdir()] == ["look"]
        assert load(tmp_path / "look", verify=True).tokens == ["old"]
    with pytest.raises(NothingRecorded), record(model, path=tmp_path / "look"):
        pass
    with record(model, path=tmp_path / "look", tokens=["new"]) as recording:
        model(**inputs("llama"))
    assert load(tmp_path / "look").tokens == ["new"] and recording.site(1).weights(0).shape == (37, 37)


def test_a_place_that_is_taken_is_refused_before_the_model_runs(
    plain: Callable[..., nn.Module], tmp_path: Path
) -> None:
    (tmp_path / "thesis").write_text("years of work")
    with pytest.raises(RecordingError, match="is not a recording"), record(plain(), path=tmp_path / "thesis"):
        raise AssertionError("the block was entered")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis"]


def test_a_full_disk_does_not_disturb_the_model_and_is_said_at_the_end(
    tiny: Tiny, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Any = tiny("llama")
    given = inputs("llama", "left", t=11)
    alone = model.generate(**given, **OPTIONS)
    append, count = FileStrip.append, 0

    def full(self: FileStrip, x: Tensor) -> None:
        nonlocal count
        count += 1
        if count > 30:
            raise OSError(28, "No space left on device")
        append(self, x)

    monkeypatch.setattr(FileStrip, "append", full)
    heard = []
    with pytest.raises(RecordingError, match="No space left"), record(model, path=tmp_path / "look"):
        heard.append(model.generate(**given, **OPTIONS))
    assert torch.equal(heard[0], alone) and list(tmp_path.iterdir()) == []


RECORDER = """
import sys, torch
sys.path[:0] = [{source!r}]
import transformers as hf
from attnscope.listen import record
config = hf.LlamaConfig(vocab_size=101, hidden_size=48, intermediate_size=64, num_hidden_layers=2,
                        num_attention_heads=6, eos_token_id=None)
model = hf.LlamaForCausalLM(config).eval()
ids = torch.arange(3, 23)[None]
while True:
    with record(model, path=sys.argv[1], tokens=["whole"]):
        model.generate(ids, max_new_tokens=30, do_sample=False, pad_token_id=0)
    print("written", flush=True)
"""


def test_a_kill_while_a_model_generates_leaves_the_old_recording(tmp_path: Path) -> None:
    import attnscope

    source = str(Path(attnscope.__file__).parents[1])
    target = tmp_path / "look"
    child = subprocess.Popen(
        [sys.executable, "-c", RECORDER.format(source=source), str(target)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == "written\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    recording = load(target, verify=True)
    assert recording.tokens == ["whole"]
    assert [site.weights(0).shape for site in recording.sites] == [(49, 49), (49, 49)]


@pytest.mark.parametrize("keep", ["qkv", "summary"])
def test_normaliser_certificate_and_sums_of_a_call_come_from_one_walk(
    keep: str, tiny: Tiny, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Any = tiny("llama")
    given, cells, plain = inputs("llama", t=150), 0, Bound.tile

    def counting(self: Bound, rows: slice, cols: slice, **more: slice | None) -> object:
        nonlocal cells
        cells += (rows.stop - rows.start) * (cols.stop - cols.start)
        return plain(self, rows, cols, **more)

    with record(model, keep="qkv") as held:
        model(**given)
    monkeypatch.setattr(Bound, "tile", counting)
    with record(model, keep=keep, path=tmp_path / "look"):
        model(**given)
    asked, cells = cells, 0
    site = held.site(0)
    whole = summarize(site.q, site.k, site.scoring, block=block_of(150, 150) if keep == "qkv" else None)
    assert asked == 2 * cells  # of two layers: each tile once for the normaliser, once for all the rest
    kept = load(tmp_path / "look").site(0)
    assert kept.shelf.summary is not None and kept.shelf.summary.certificate is None
    for name in ("entropy", "received", "block_max"):
        ours, theirs = getattr(kept.shelf.summary, name), getattr(whole, name)
        assert ours is theirs is None or torch.equal(ours, theirs)
    assert kept.certificate is not None and held.site(0).certificate is not None
    assert kept.certificate.verdict == held.site(0).certificate.verdict
    assert torch.equal(kept.certificate.z, held.site(0).certificate.z)
    assert torch.equal(kept.normaliser.logsum, site.normaliser.logsum)
