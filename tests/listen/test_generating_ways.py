"""The ways in which generate() goes on: several texts by turns, guesses, beams, caches that were there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache, LogitsProcessor, StoppingCriteria

from attnscope.core.certificate import certify
from attnscope.core.signs import evening_of
from attnscope.listen import record
from attnscope.listen.reading import read
from attnscope.listen.scored import offset_of
from attnscope.recording import Recording, Site
from tests.listen.generations import (
    NEW,
    Inputs,
    T,
    Tiny,
    at_once,
    generated,
    options,
    pairs,
    precise,
    prompt,
    same_weights,
)  # fmt: skip


def of_text(recording: Recording, segment: int) -> list[Site]:
    return [site for site in recording.sites if site.segment == segment]


def forward(model: Any, ids: Tensor) -> list[Site]:
    with torch.no_grad(), record(model, keep="all") as recording:
        model(input_ids=ids)
    return recording.sites


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("negative", [None, 5, 30])
def test_guidance_goes_on_with_two_texts_by_turns(
    use_cache: bool, negative: int | None, tiny: Tiny, inputs: Inputs
) -> None:
    model: Any = tiny("llama")
    given = prompt("llama", inputs, None)
    more: dict[str, Any] = {"guidance_scale": 1.5, "use_cache": use_cache}
    without = given["input_ids"][:, -1:]
    if negative is not None:
        without = more["negative_prompt_ids"] = inputs("llama", t=40)["input_ids"][:, 10 : 10 + negative]
    ids, recording = generated(model, given, **more)
    other = torch.cat([without, ids[:, T:-1]], dim=1)
    for text, tokens in enumerate((ids[:, :-1], other)):
        for joined, whole in zip(of_text(recording, text), forward(model, tokens), strict=True):
            same_weights(joined, whole)
            assert joined.offset == 0
    assert len(recording.runs) == 1 and len(recording.sites) == 4
    assert {one.reason for one in recording.missing} == {
        "its calls make 2 grids (site.segment), since at row 0 a text begins without the keys before it"
    }


class Looks(LogitsProcessor):
    """Runs the model on a text of its own in the midst of a generation."""

    def __init__(self, model: Any, ids: Tensor) -> None:
        self.model, self.ids, self.steps = model, ids, 0

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        self.steps += 1
        if self.steps == 4:
            self.model(input_ids=self.ids)
        return scores


@pytest.mark.parametrize("length", [T - 3, T, T + NEW + 4])
def test_a_forward_over_another_text_in_between_lets_nothing_vanish(
    length: int, tiny: Tiny, inputs: Inputs
) -> None:
    model, given = tiny("mistral"), prompt("mistral", inputs, None)
    other = inputs("mistral", t=40)["input_ids"][:, -length:]
    other[:, :4] = given["input_ids"][:, :4]  # texts may begin alike
    with record(model) as recording:
        ids = model.generate(**given, **options(logits_processor=[Looks(model, other)]))
    for text, tokens in enumerate((ids[:, :-1], other)):
        for joined, whole in zip(of_text(recording, text), forward(model, tokens), strict=True):
            same_weights(joined, whole)


class Once(StoppingCriteria):
    """Stops after the first forward."""

    def __call__(self, input_ids: Tensor, scores: Any, **_: Any) -> Tensor:
        return torch.ones(len(input_ids), dtype=torch.bool)


@pytest.mark.parametrize("keep", ["all", "summary"])
def test_guesses_that_were_not_taken_are_no_rows_even_where_nothing_came_after_them(
    keep: str, tiny: Tiny
) -> None:
    model: Any = tiny("llama")
    own = torch.Generator().manual_seed(2)
    given = {"input_ids": torch.randint(3, 100, (1, 6), generator=own).repeat(1, 4)}
    with record(model, keep=keep) as recording:
        ids = model.generate(**given, **options(prompt_lookup_num_tokens=5, stopping_criteria=[Once()]))
    for joined, whole in pairs(recording, at_once(model, "llama", given, ids)):
        assert (joined.tq, joined.tk) == (whole.tq, whole.tk) == (ids.shape[1] - 1,) * 2
        torch.testing.assert_close(joined.summary().received, whole.summary().received, rtol=1e-4, atol=2e-5)
        assert joined.certificate is not None and bool((joined.certificate.rows == joined.tq).all())


def test_a_certificate_says_nothing_of_guesses_that_were_taken_back(tiny: Tiny) -> None:
    model: Any = tiny("llama")
    own = torch.Generator().manual_seed(2)
    given = {"input_ids": torch.randint(3, 100, (1, 6), generator=own).repeat(1, 4)}
    ids, recording = generated(model, given, prompt_lookup_num_tokens=3)
    for site in recording.sites:
        assert site.certificate is not None
        assert bool((site.certificate.rows == ids.shape[1] - 1).all())
        assert bool((site.certificate.row < site.tq).all())
        same_certificate(site)


def same_certificate(site: Site) -> None:
    """A site's certificate is that of what it holds, by the same factors: rows and verdicts are the same.

    In 16 bits, where the model's own rounding is all there is to see, its figures are the same within 2%. In
    float32 what is seen is our own rounding as well, which is another one in calls of other shapes: they are
    the same within one such unit.
    """
    assert site.out is not None and site.certificate is not None
    first = next(iter(site.calls or ()))
    even = evening_of(site.out[:, :, : first.rows], site.key_heads)
    scoring = site.scoring
    whole = certify(site.q, site.k, site.v, site.out, scoring, evening=even, route=site.route)
    assert site.certificate.verdict == whole.verdict
    assert torch.equal(site.certificate.rows, whole.rows)
    near = {"rtol": 0.02, "atol": 1e-3} if site.dtype == torch.bfloat16 else {"rtol": 0.0, "atol": 1.0}
    for name in ("z", "rms"):
        torch.testing.assert_close(getattr(site.certificate, name), getattr(whole, name), **near)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("family", ["llama", "mistral", "t5"])
def test_the_certificate_of_a_generation_is_that_of_all_its_rows(
    family: str, dtype: torch.dtype, tiny: Tiny, inputs: Inputs
) -> None:
    model = tiny(family, dtype=precise(family) if dtype == torch.float32 else dtype)
    for more in ({}, {"num_beams": 3}):
        _, recording = generated(model, prompt(family, inputs), **more)
        for site in recording.sites:
            same_certificate(site)


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma3"])
def test_a_cache_that_was_filled_before_leaves_each_key_its_place(
    family: str, tiny: Tiny, inputs: Inputs, tmp_path: Path
) -> None:
    model: Any = tiny(family)
    ids = inputs(family, t=T)["input_ids"]
    with torch.no_grad():
        cache = DynamicCache(config=model.config)
        model(input_ids=ids[:, :-2], cache=cache)
        with record(model, keep="all", path=tmp_path / "look") as recording:
            made = model.generate(input_ids=ids, cache=cache, **options())
    assert recording.missing == []
    for joined, whole in pairs(recording, at_once(model, family, {"input_ids": ids}, made)):
        assert (joined.offset, joined.tk, whole.tk) == (T - 2, T + NEW - 1, T + NEW - 1)
        held = whole.weights(3)[T - 2 :]
        torch.testing.assert_close(joined.weights(3), held, rtol=0, atol=1e-5)
        assert joined.certificate is not None and joined.certificate.passed(0, 3)
        assert joined.cell(1, 4, T + 1).readds


class Turns(LogitsProcessor):
    """Changes the keys in a cache in the midst of a generation, as re-rotated or quantised ones are."""

    def __init__(self, cache: Any) -> None:
        self.cache, self.steps = cache, 0

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        self.steps += 1
        if self.steps == 4:
            for layer in self.cache.layers:
                layer.keys = layer.keys * 1.25
        return scores


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma3"])
def test_a_grid_that_begins_late_has_its_keys_where_they_are_in_the_text(
    family: str, tiny: Tiny, inputs: Inputs
) -> None:
    model: Any = tiny(family, "eager")
    model.config._attn_implementation = "eager"
    given = {"input_ids": inputs(family, t=T)["input_ids"]}
    cache = DynamicCache(config=model.config)
    with record(model, keep="all") as recording:
        answer = model.generate(
            **given, cache=cache, output_attentions=True, return_dict_in_generate=True,
            **options(logits_processor=[Turns(cache)]),
        )  # fmt: skip
    assert [(site.layer, site.segment) for site in recording.sites] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for site in of_text(recording, 1):
        assert (site.offset, site.tq, site.tk) == (T + 3, NEW - 4, T + NEW - 1)
        for row, step in enumerate(answer.attentions[4:]):
            grid = step[site.layer][1, :, 0]  # (h n) over the last n keys
            there = slice(T + 4 + row - grid.shape[1], T + 4 + row)
            for head in range(site.heads):
                ours = site.weights(head, row, None, batch=1)[0]
                assert torch.equal(ours[there], grid[head].float())
                assert float(ours.sum()) == pytest.approx(float(grid[head].sum()), abs=1e-6)
    assert len(recording.missing) == 2
    assert all("compiled" not in one.reason for one in recording.missing)
    assert all("since at row 22 the keys it is handed" in one.reason for one in recording.missing)


@pytest.mark.parametrize("held", [0, 5])
def test_a_prefill_that_looks_ahead_in_a_static_cache_stands_where_its_keys_are(held: int) -> None:
    i, j = torch.arange(6)[:, None] + held, torch.arange(20)
    picture = (i < held + 4) & (j < held + 4)  # the first four rows see one another
    for seen in ((j <= i) | picture, (j < held + 6).expand(6, -1)):
        assert offset_of([read(seen, 6, 20)], 6, 20) == held


@pytest.mark.parametrize("family", ["bart", "whisper"])
def test_beams_of_an_encoder_and_decoder_mix_to_what_the_model_mixed(
    family: str, tiny: Tiny, inputs: Inputs
) -> None:
    _, recording = generated(tiny(family), prompt(family, inputs), num_beams=3)
    assert recording.missing == []
    for site in recording.sites:
        assert site.segment == 0 and site.out is not None
        group = site.heads // site.key_heads
        for batch in range(site.batch):
            some = site.visible(2, batch=batch).any(dim=-1)
            mixed = site.weights(2, batch=batch) @ site.v[batch, 2 // group]
            torch.testing.assert_close(mixed[some], site.out[batch, 2][some], rtol=0, atol=1e-4)
