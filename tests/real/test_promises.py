"""Real models, recorded: nothing changes, every weight is the model's own, every head is certified."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from .runs import DTYPES, Recorded, grid

Record = Callable[[str, str, str], Recorded]
Measure = Callable[[str, str, str], None]

LARGE = pytest.mark.real
MODELS = [pytest.param("smollm2", marks=LARGE), pytest.param("minilm", marks=LARGE), "rxnmapper"]
SIZES = {"smollm2": (30, 9, 3, 64), "minilm": (6, 12, 12, 32), "rxnmapper": (12, 8, 8, 32)}
NAMES = {
    "smollm2": "model.layers.{layer}.self_attn",
    "minilm": "encoder.layer.{layer}.attention.self",
    "rxnmapper": "albert.encoder.albert_layer_groups.0.albert_layers.0.attention",
}
STACKS = {"smollm2": "decoder", "minilm": "encoder", "rxnmapper": "encoder"}

each_model = pytest.mark.parametrize("name", MODELS)
each_attention = pytest.mark.parametrize("attention", ["sdpa", "eager"])
each_dtype = pytest.mark.parametrize("dtype", ["float32", "bfloat16"])


@each_model
@each_attention
@each_dtype
def test_what_the_model_gives_is_the_same_bits_with_and_without_a_recording(
    name: str, attention: str, dtype: str, recorded: Record, measure: Measure
) -> None:
    run = recorded(name, attention, dtype)
    assert set(run.plain) == set(run.heard)
    assert run.plain
    for what, plain in run.plain.items():
        assert plain.isfinite().all()
        assert torch.equal(plain, run.heard[what]), what
    plain_s, recorded_s = run.seconds
    measure(f"{name} {attention} {dtype}", "seconds", f"{plain_s:.2f} alone, {recorded_s:.2f} recorded")


@each_model
@each_attention
@each_dtype
def test_every_layer_is_a_site_with_the_model_s_own_numbers(
    name: str, attention: str, dtype: str, recorded: Record
) -> None:
    run = recorded(name, attention, dtype)
    layers, heads, key_heads, d = SIZES[name]
    length = run.inputs["input_ids"].shape[1]
    sites = run.recording.sites
    assert len(run.recording.runs) == 1
    assert run.recording.missing == []
    assert [site.layer for site in sites] == list(range(layers))
    assert [site.index for site in sites] == list(range(layers))
    assert [site.name for site in sites] == [NAMES[name].format(layer=layer) for layer in range(layers)]
    assert [site.order for site in sites] == (list(range(12)) if name == "rxnmapper" else [0] * layers)
    assert {(site.kind, site.stack, site.route) for site in sites} == {
        ("self", STACKS[name], f"huggingface/{attention}")
    }
    assert {
        (site.batch, site.heads, site.key_heads, site.tq, site.tk, site.d, site.dv) for site in sites
    } == {(1, heads, key_heads, length, length, d, d)}
    assert {site.dtype for site in sites} == {DTYPES[dtype]}
    assert run.recording.site(layers - 1) is sites[-1]


@each_model
@each_dtype
def test_the_weights_of_an_eager_model_are_the_bits_that_the_model_returned(
    name: str, dtype: str, recorded: Record, measure: Measure
) -> None:
    run = recorded(name, "eager", dtype)
    assert run.returned is not None
    assert len(run.returned) == len(run.recording.sites)
    equal = 0
    for site, returned in zip(run.recording.sites, run.returned, strict=True):
        assert returned.dtype == DTYPES[dtype]
        assert site.bit_exact is True, site.name
        for head, (ours, theirs) in enumerate(zip(grid(site), returned[0].float(), strict=True)):
            assert torch.equal(ours, theirs), (
                f"layer {site.layer} head {head}: {(ours - theirs).abs().max():.2g}"
            )
            equal += 1
    measure(f"{name} eager {dtype}", "bit-equal heads", f"{equal} of {equal}")


@each_model
def test_the_weights_of_an_sdpa_model_are_within_2e_5_of_a_separate_eager_run(
    name: str, recorded: Record, measure: Measure
) -> None:
    fused, eager = recorded(name, "sdpa", "float32"), recorded(name, "eager", "float32")
    assert eager.returned is not None
    furthest = max(
        float((grid(site) - returned[0]).abs().max())
        for site, returned in zip(fused.recording.sites, eager.returned, strict=True)
    )
    measure(f"{name} sdpa float32", "furthest from eager", f"{furthest:.1e}")
    assert furthest < 2e-5


@each_model
@each_attention
@each_dtype
def test_every_head_is_certified(
    name: str, attention: str, dtype: str, recorded: Record, measure: Measure
) -> None:
    sites = recorded(name, attention, dtype).recording.sites
    verdicts = {verdict for site in sites for entry in site.certificate.verdict for verdict in entry}
    z = max(float(site.certificate.z.max()) for site in sites)
    rms = max(float(site.certificate.rms.max()) for site in sites)
    t = max(float(site.certificate.t.nan_to_num(0.0).abs().max()) for site in sites)
    measure(f"{name} {attention} {dtype}", "largest", f"z {z:.1f}, rms {rms:.2f}, |t| {t:.1f}")
    assert verdicts == {"passed"}


@each_model
@each_attention
@each_dtype
def test_every_row_of_weights_sums_to_one_and_nothing_hidden_has_weight(
    name: str, attention: str, dtype: str, recorded: Record
) -> None:
    rounding = {"float32": 2e-6, "bfloat16": 2e-2}[dtype]
    for site in recorded(name, attention, dtype).recording.sites:
        weights = grid(site)
        hidden = torch.stack([~site.visible(head) for head in range(site.heads)])
        assert (weights.sum(-1) - 1).abs().max() < rounding
        assert (weights[hidden] == 0).all()
        causal = torch.ones(site.tq, site.tk, dtype=torch.bool).triu(1)
        assert torch.equal(hidden, causal.expand_as(hidden) if STACKS[name] == "decoder" else hidden & False)


@each_model
@each_attention
@each_dtype
def test_the_terms_of_a_cell_add_up_to_the_weight_that_is_shown(
    name: str, attention: str, dtype: str, recorded: Record, measure: Measure
) -> None:
    apart = 0.0
    for site in recorded(name, attention, dtype).recording.sites:
        for head in range(site.heads):
            i, j = site.tq - 1 - head, (7 * site.layer + 3 * head) % (site.tq - site.heads)
            cell = site.cell(head, i, j)
            assert (cell.layer, cell.head, cell.i, cell.j) == (site.layer, head, i, j)
            assert cell.visible
            assert cell.shown == float(site.weights(head, i, j))
            assert cell.products == pytest.approx(sum(cell.terms), rel=1e-12, abs=1e-12)
            assert cell.readds, cell
            apart = max(apart, cell.difference)
    measure(f"{name} {attention} {dtype}", "cells from float64 by", f"{apart:.1e}")
