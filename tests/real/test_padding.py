"""Batches of unequal lengths: a padded text shows what the same text shows alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from .loaders import installed
from .runs import BATCHES, Recorded, grid, record_texts, sees

Measure = Callable[[str, str, str], None]
LARGE = pytest.mark.real
MODELS = [pytest.param("smollm2", marks=LARGE), pytest.param("minilm", marks=LARGE), "rxnmapper"]
each_model = pytest.mark.parametrize("name", MODELS)
each_attention = pytest.mark.parametrize("attention", ["sdpa", "eager"])
each_dtype = pytest.mark.parametrize("dtype", ["float32", "bfloat16"])


@pytest.fixture
def batch(request: pytest.FixtureRequest, name: str, attention: str, dtype: str) -> Recorded:
    if not installed(name) and not request.config.getoption("--real"):
        pytest.skip(f"the package with {name} is not installed")
    return record_texts(name, attention, dtype, BATCHES[name])


@each_model
@each_attention
@pytest.mark.parametrize("dtype", ["float32"])
def test_a_padded_text_shows_what_it_shows_alone(
    name: str, attention: str, dtype: str, batch: Recorded, measure: Measure
) -> None:
    furthest = 0.0
    for entry, text in enumerate(BATCHES[name]):
        alone = record_texts(name, attention, dtype, (text,))
        real = batch.inputs["attention_mask"][entry].bool()
        for site, single in zip(batch.recording.sites, alone.recording.sites, strict=True):
            padded = grid(site, entry)[:, real][:, :, real]
            furthest = max(furthest, float((padded - grid(single)).abs().max()))
    measure(f"{name} {attention} {dtype}", "padded from alone by", f"{furthest:.1e}")
    assert furthest < 2e-5


@each_model
@each_attention
@each_dtype
def test_a_padded_batch_is_unchanged_and_certified(
    name: str, attention: str, dtype: str, batch: Recorded, measure: Measure
) -> None:
    for what, plain in batch.plain.items():
        assert torch.equal(plain, batch.heard[what]), what
    verdicts = {v for site in batch.recording.sites for entry in site.certificate.verdict for v in entry}
    z = max(float(site.certificate.z.nan_to_num(0.0).max()) for site in batch.recording.sites)
    measure(f"{name} {attention} {dtype} padded", "largest z", f"{z:.1f}")
    assert verdicts == {"passed"}


@each_model
@each_attention
@each_dtype
def test_no_text_sees_padding_and_only_left_padding_sees_nothing(
    name: str, attention: str, dtype: str, batch: Recorded
) -> None:
    for site in batch.recording.sites:
        for entry in range(site.batch):
            real = batch.inputs["attention_mask"][entry].bool()
            weights = grid(site, entry)
            assert (weights[:, :, ~real] == 0).all()
            left = ~real if name == "smollm2" else torch.zeros_like(real)
            assert torch.equal(~sees(site, entry), left.expand(site.heads, -1))
            assert (weights[:, left] == 0).all()
            assert (site.normaliser.peak[entry][:, left] == -torch.inf).all()


@each_model
@each_dtype
def test_rows_that_see_a_key_are_the_bits_that_the_eager_model_returned(
    name: str, dtype: str, request: pytest.FixtureRequest
) -> None:
    if not installed(name) and not request.config.getoption("--real"):
        pytest.skip(f"the package with {name} is not installed")
    run = record_texts(name, "eager", dtype, BATCHES[name])
    assert run.returned is not None
    for site, returned in zip(run.recording.sites, run.returned, strict=True):
        assert site.bit_exact is True, site.name
        for entry in range(site.batch):
            rows = sees(site, entry)
            ours, theirs = grid(site, entry)[rows], returned[entry].float()[rows]
            assert torch.equal(ours, theirs), f"layer {site.layer}, text {entry}"


@pytest.mark.real
@each_attention
@pytest.mark.parametrize("name", ["smollm2"])
@pytest.mark.parametrize("dtype", ["float32"])
def test_rows_that_see_no_key_are_counted_and_stay_out_of_the_summary(
    name: str, attention: str, dtype: str, batch: Recorded
) -> None:
    pads = (batch.inputs["attention_mask"] == 0).sum(-1)
    site = batch.recording.site(3)
    for entry in range(site.batch):
        summary = site.summary(entry)
        assert summary.empty_rows.flatten().tolist() == [int(pads[entry])] * site.heads
        empty = slice(0, int(pads[entry]))
        assert (summary.largest[0, :, empty] == 0).all()
        assert (summary.top_keys[0, :, empty] == -1).all()
        seen = site.tq - int(pads[entry])
        assert summary.received[0].sum(-1).tolist() == pytest.approx([seen] * site.heads, rel=1e-5)
