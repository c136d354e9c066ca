"""Every family of the zoo: nothing is changed, and what is shown is what its config says and it computed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from attnscope.core.bias import KeyBias
from attnscope.core.engine import engine_of, normaliser_of
from attnscope.errors import NotKept
from attnscope.listen import record
from tests.zoo.animals import given, grids, heard, model_of, seen
from tests.zoo.table import CASES, TABLE, Row, Stack

SHOWN = [(row, attention) for row, attention in CASES if row.stacks]
OPEN = [(row, attention) for row, attention in SHOWN if row.route != "softmax"]
GRIDS = [(row, attention) for row, attention in OPEN if attention != "torch" and row.alike]
SUMMED = [(row, attention) for row, attention in SHOWN if row.route == "softmax" and attention != "torch"]


def cases(which: list[tuple[Row, str]]) -> pytest.MarkDecorator:
    names = [f"{row.family} {attention}" for row, attention in which]
    return pytest.mark.parametrize(("row", "attention"), which, ids=names)


def stacks_of(row: Row) -> list[tuple[Stack, int]]:
    return [(stack, layer) for stack in row.stacks for layer in stack.layers]


def site_of(row: Row, attention: str, stack: Stack, layer: int) -> Any:
    (site,) = (
        site
        for site in heard(row, attention).sites
        if (site.layer, site.kind, site.stack) == (layer, stack.kind, stack.stack)
    )
    return site


@cases(CASES)
def test_a_recording_changes_no_bit_of_what_the_model_gives(row: Row, attention: str) -> None:
    run = heard(row, attention)
    assert torch.equal(run.alone, run.heard)


@cases(CASES)
def test_sites_are_those_that_the_config_says(row: Row, attention: str) -> None:
    run = heard(row, attention)
    told = sorted(
        (layer, stack.kind, stack.stack, stack.heads, stack.key_heads, stack.rows, stack.keys)
        for stack, layer in stacks_of(row)
    )
    came = sorted(
        (site.layer, site.kind, site.stack, site.heads, site.key_heads, site.tq, site.tk)
        for site in run.sites
    )
    assert came == told
    assert {site.route for site in run.sites} == set(row.routes(attention))


@cases(CASES)
def test_layers_without_a_picture_are_listed_with_number_name_and_reason(row: Row, attention: str) -> None:
    run = heard(row, attention)
    if not row.stacks:
        assert "no attention call was heard" in run.said
        assert row.silent[0][1] in run.said and row.why in run.said
    assert [(one.layer, one.name) for one in run.missing] == list(row.silent)
    assert all(row.why in one.reason for one in run.missing)


@cases(SHOWN)
def test_attention_is_far_from_flat(row: Row, attention: str) -> None:
    for stack, layer in stacks_of(row):
        site = site_of(row, attention, stack, layer)
        several = seen(row, stack, layer).sum(dim=-1) >= 5
        peak = site.normaliser.peak.amax(dim=1)[several]
        largest = torch.exp(-site.normaliser.logsum).amax(dim=1)[several]
        assert float(peak.max()) > 5 and float(largest.max()) > 0.3


@cases(OPEN)
def test_rows_see_the_keys_that_the_config_lets_them_see_and_no_weight_is_elsewhere(
    row: Row, attention: str
) -> None:
    for stack, layer in stacks_of(row):
        site, told = site_of(row, attention, stack, layer), seen(row, stack, layer)
        for batch in (0, 1):
            for head in range(site.heads):
                assert torch.equal(site.visible(head, batch=batch), told[batch])
                assert not site.weights(head, batch=batch)[~told[batch]].any()


@cases(SUMMED)
def test_a_summary_is_that_of_the_grid_which_the_eager_model_returns_of_itself(
    row: Row, attention: str
) -> None:
    for stack, layer in stacks_of(row):
        site, told = site_of(row, attention, stack, layer), seen(row, stack, layer)
        theirs = grids(row)[stack.kind, stack.stack][layer]
        for batch in (0, 1):
            rows, summary = told[batch].any(dim=-1), site.summary(batch)
            largest, key = theirs[batch, :, rows].max(dim=-1)
            torch.testing.assert_close(summary.largest[0, :, rows], largest, rtol=0, atol=1e-5)
            assert torch.equal(summary.largest_key[0, :, rows], key)
            entropy = torch.special.entr(theirs[batch, :, rows]).sum(dim=-1)
            torch.testing.assert_close(summary.entropy[0, :, rows], entropy, rtol=0, atol=1e-4)
        with pytest.raises(NotKept):
            site.weights(0)


@cases(GRIDS)
def test_weights_are_those_that_the_eager_model_returns_of_itself(row: Row, attention: str) -> None:
    for stack in row.stacks:
        for layer in stack.layers if not stack.route else ():  # transformers returns no grids of torch's own
            site, told = site_of(row, attention, stack, layer), seen(row, stack, layer)
            same = [
                one
                for one in heard(row, attention).sites
                if (one.kind, one.stack) == (stack.kind, stack.stack)
            ]
            theirs = grids(row)[stack.kind, stack.stack][same.index(site)]
            for batch in (0, 1):
                rows = told[batch].any(dim=-1)
                for head in range(site.heads):
                    ours = site.weights(head, batch=batch)[rows]
                    if attention == "eager":
                        assert torch.equal(ours, theirs[batch, head][rows])
                    torch.testing.assert_close(ours, theirs[batch, head][rows], rtol=0, atol=1e-5)


@cases(SHOWN)
def test_every_head_is_certified(row: Row, attention: str) -> None:
    for site in heard(row, attention).sites:
        assert {verdict for batch in site.certificate.verdict for verdict in batch} == {"passed"}


@cases(OPEN)
def test_cap_sinks_and_bias_are_read(row: Row, attention: str) -> None:
    scorings = [site.scoring for site in heard(row, attention).sites]
    assert {scoring.softcap for scoring in scorings} == {row.softcap}
    assert {scoring.sinks is not None for scoring in scorings} == {row.sinks}
    kinds = {type(scoring.bias).__name__ for scoring in scorings if scoring.bias is not None}
    assert kinds == set(row.bias)


@pytest.mark.parametrize(
    "row", [row for row in TABLE if row.generates and row.stacks], ids=lambda row: row.family
)
def test_generate_gives_the_same_tokens_and_all_its_sites(row: Row) -> None:
    new, attention = 3, row.attention[0]
    model, inputs = model_of(row, attention), given(row)
    inputs.pop("decoder_input_ids", None)
    options = {"max_new_tokens": new, "min_new_tokens": new, "do_sample": False, "pad_token_id": 0}
    alone = model.generate(**inputs, **options)
    with record(model) as recording:
        assert torch.equal(model.generate(**inputs, **options), alone)
    sites = [site for run in recording.runs for site in run.sites]
    for stack, layer in stacks_of(row):
        mine = [one for one in sites if (one.layer, one.kind, one.stack) == (layer, stack.kind, stack.stack)]
        begun = 1 if row.given in ("pair", "audio") and stack.stack == "decoder" else stack.rows
        steps = 0 if stack.stack == "encoder" else new - 1
        assert sum(site.tq for site in mine) == begun + steps
    told = {(layer, stack.kind, stack.stack) for stack, layer in stacks_of(row)}
    assert {(site.layer, site.kind, site.stack) for site in sites} == told


def test_the_eager_falcon_of_this_version_adds_alibi_twice() -> None:
    once, twice = (row for row in TABLE if row.family == "Falcon, ALiBi")
    site = heard(once, "sdpa").sites[0]
    told, theirs = seen(twice, twice.stacks[0], 0), grids(twice)["self", "decoder"][0]
    bias = KeyBias(2 * site.scoring.bias.values)
    bound = replace(site.scoring, bias=bias).bind(site.q, site.k)
    whole = (slice(0, site.tq), slice(0, site.tk))
    ours = engine_of(bound).weights(bound, *whole, normaliser_of(bound))
    rows = told.any(dim=-1)[:, None].expand(-1, site.heads, -1)
    torch.testing.assert_close(ours[rows], theirs[rows], rtol=0, atol=1e-5)
    assert float((site.weights(5, batch=0) - theirs[0, 5]).abs().max()) > 0.01
