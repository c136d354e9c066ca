"""SmolLM2 on a text of some length, step by step as it writes, and from disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import attnscope as ats

from .runs import BATCHES, PROSE, Recorded, grid, opened, record_texts

pytestmark = pytest.mark.real
NEW = 4  # tokens written


@pytest.mark.parametrize(("dtype", "times", "tokens"), [("float32", 4, 256), ("bfloat16", 2, 128)])
def test_a_text_of_some_length_is_bit_equal_in_every_head(
    dtype: str, times: int, tokens: int, measure: Callable[[str, str, str], None]
) -> None:
    run = record_texts("smollm2", "eager", dtype, (PROSE * times,))
    assert run.returned is not None
    length = run.inputs["input_ids"].shape[1]
    assert length > tokens
    assert all(site.bit_exact for site in run.recording.sites)
    for layer in (0, 13, 29):
        assert torch.equal(grid(run.recording.site(layer)), run.returned[layer][0].float())
    z = max(float(site.certificate.z.max()) for site in run.recording.sites)
    measure(f"smollm2 eager {dtype} of {length} tokens", "largest z", f"{z:.1f}")


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@torch.no_grad()
def test_writing_is_unchanged_and_each_new_row_is_that_of_the_whole_text(attention: str) -> None:
    model, to_inputs = opened("smollm2", "float32")
    model.set_attn_implementation(attention)
    inputs = {name: to_inputs([PROSE])[name] for name in ("input_ids", "attention_mask")}
    options = {"max_new_tokens": NEW, "do_sample": False}
    plain = model.generate(**inputs, **options)
    with ats.record(model) as recording:
        heard = model.generate(**inputs, **options)
    assert torch.equal(plain, heard)
    (run,) = recording.runs
    length = inputs["input_ids"].shape[1] + NEW - 1  # the last one that is written is not read again
    with ats.record(model) as whole:
        model(input_ids=plain[:, :-1])
    for site in run.sites:
        assert (site.tq, site.tk, site.offset) == (length, length, 0)
        assert site.bit_exact is (True if attention == "eager" else None)
        assert (grid(site) - grid(whole.site(site.layer))).abs().max() < 2e-5


@pytest.mark.parametrize(("attention", "dtype"), [("eager", "bfloat16"), ("sdpa", "float32")])
def test_a_recording_read_back_from_disk_shows_the_same_bits(
    attention: str, dtype: str, tmp_path: Path
) -> None:
    run: Recorded = record_texts("smollm2", attention, dtype, BATCHES["smollm2"])
    run.recording.save(tmp_path / "recording")
    again = ats.load(tmp_path / "recording")
    for kept, read in zip(run.recording.sites, again.sites, strict=True):
        assert (kept.name, kept.layer, kept.bit_exact) == (read.name, read.layer, read.bit_exact)
        assert kept.certificate.verdict == read.certificate.verdict
        for entry in range(kept.batch):
            assert torch.equal(grid(kept, entry), grid(read, entry))
