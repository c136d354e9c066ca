"""generate(): one run, whose calls make one grid a layer, that of one forward over the whole text."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attnscope.errors import AttnscopeError
from attnscope.listen import record
from attnscope.recording import Recording, Site, load
from tests.listen.generations import (
    ENCODERS,
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

FAMILIES = ("llama", "mistral", "gemma3", "gpt-oss", "gpt2", "t5", "bart", "whisper")


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_generation_is_one_run_whose_grids_are_those_of_one_forward(
    family: str, attention: str, tiny: Tiny, inputs: Inputs
) -> None:
    if (family, attention) == ("gpt-oss", "sdpa"):
        pytest.skip("gpt-oss has no sdpa")
    model, given = tiny(family, attention, precise(family)), prompt(family, inputs)
    ids, recording = generated(model, given)
    assert len(recording.runs) == 1 and recording.missing == []
    assert recording.runs[0].forwards == NEW + (family in ENCODERS)
    for joined, whole in pairs(recording, at_once(model, family, given, ids)):
        same_weights(joined, whole)
        assert joined.offset == whole.offset and joined.segment == 0
        if joined.stack == "decoder":
            processed = ids.shape[1] - (family != "whisper")
            assert joined.tq == processed
        assert joined.certificate is not None and whole.certificate is not None
        assert joined.certificate.verdict == whole.certificate.verdict
        assert joined.bit_exact is (True if attention == "eager" else None)
        cell = joined.cell(2, joined.tq - 1, joined.tk - 2, allow_uncertified=True)
        assert cell.readds and cell.shown == joined.weights(2, cell.i, cell.j).item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("family", ["llama", "mistral", "gpt-oss", "gpt2", "t5"])
def test_a_row_of_an_eager_model_is_bit_equal_to_what_its_own_step_returned(
    family: str, dtype: torch.dtype, tiny: Tiny, inputs: Inputs
) -> None:
    model: Any = tiny(family, "eager", dtype)
    model.config._attn_implementation = "eager"
    with record(model) as recording:
        answer = model.generate(
            **prompt(family, inputs, None), **options(output_attentions=True, return_dict_in_generate=True)
        )
    grids = answer.decoder_attentions if family == "t5" else answer.attentions
    for site in recording.sites:
        if site.stack != "decoder" or site.kind != "self":
            continue
        assert site.bit_exact is True
        row = 0
        for step in grids:
            grid = step[site.layer]
            rows, last = slice(row, row + grid.shape[2]), row + grid.shape[2]
            cols = slice(last - grid.shape[3], last)
            for head in range(site.heads):
                ours = site.weights(head, rows, cols, batch=1)
                assert torch.equal(ours, grid[1, head, :, : ours.shape[1]].float()), (site.name, rows)
            row = last
        assert row == site.tq


def test_rows_of_several_calls_are_the_same_in_any_block(tiny: Tiny, inputs: Inputs) -> None:
    for attention in ("sdpa", "eager"):
        _, recording = generated(tiny("mistral", attention), prompt("mistral", inputs))
        site = recording.site(1)
        whole = site.weights(4, batch=1)
        for rows, cols in ((slice(3, 23), slice(2, 9)), (slice(18, 20), slice(15, 26)), (26, slice(0, 27))):
            want = whole[rows if isinstance(rows, slice) else slice(rows, rows + 1), cols]
            assert torch.equal(site.weights(4, rows, cols, batch=1), want)


def test_sampling_with_a_seed_gives_the_same_tokens(tiny: Tiny, inputs: Inputs) -> None:
    model, given = tiny("llama"), prompt("llama", inputs)
    ids, recording = generated(model, given, do_sample=True, temperature=1.5)
    for joined, whole in pairs(recording, at_once(model, "llama", given, ids)):
        same_weights(joined, whole)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", ["llama", "mistral", "gemma3", "t5"])
def test_without_a_cache_the_later_rows_stand(
    family: str, attention: str, tiny: Tiny, inputs: Inputs
) -> None:
    model, given = tiny(family, attention, precise(family)), prompt(family, inputs)
    ids, recording = generated(model, given, use_cache=False)
    for joined, whole in pairs(recording, at_once(model, family, given, ids)):
        same_weights(joined, whole)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", ["llama", "mistral", "gemma3"])
def test_a_static_cache_shows_the_keys_that_count(
    family: str, attention: str, tiny: Tiny, inputs: Inputs
) -> None:
    model, given = tiny(family, attention), prompt(family, inputs)
    ids, recording = generated(model, given, cache_implementation="static")
    for joined, whole in pairs(recording, at_once(model, family, given, ids)):
        same_weights(joined, whole)
        assert joined.bit_exact is (True if attention == "eager" else None)


@pytest.mark.parametrize("family", ["llama", "mistral"])
def test_rows_that_prompt_lookup_visits_again_stand_as_they_were_last(
    family: str, tiny: Tiny, inputs: Inputs
) -> None:
    model: Any = tiny(family)
    own = torch.Generator().manual_seed(2)
    given = {"input_ids": torch.randint(3, 100, (1, 6), generator=own).repeat(1, 4)}
    ids, recording = generated(model, given, prompt_lookup_num_tokens=3)
    for joined, whole in pairs(recording, at_once(model, family, given, ids)):
        same_weights(joined, whole)


def test_the_parts_of_a_prompt_that_is_taken_in_chunks_are_one_grid(tiny: Tiny, inputs: Inputs) -> None:
    model, given = tiny("llama"), prompt("llama", inputs, None)
    ids, recording = generated(model, given, prefill_chunk_size=8)
    for joined, whole in pairs(recording, at_once(model, "llama", given, ids)):
        same_weights(joined, whole)


def test_beams_are_followed_to_the_rows_that_they_go_on_with(tiny: Tiny, inputs: Inputs) -> None:
    for family in ("llama", "t5"):
        model, given = tiny(family, dtype=torch.float64), prompt(family, inputs)
        _, recording = generated(model, given, num_beams=3)
        assert recording.missing == []
        for site in recording.sites:
            if site.stack == "encoder":
                continue
            assert (site.batch, site.segment) == (6, 0)
            for batch in range(6):
                weights = site.weights(1, batch=batch)
                own = torch.softmax(scores_of(site, 1, batch), dim=-1).nan_to_num(0.0)
                torch.testing.assert_close(weights, own, rtol=0, atol=1e-5)
                mixed = weights @ site.v[batch, 1 // (site.heads // site.key_heads)]
                assert site.out is not None
                some = site.visible(1, batch=batch).any(dim=-1)
                torch.testing.assert_close(mixed[some], site.out[batch, 1][some], rtol=0, atol=1e-4)


def scores_of(site: Site, head: int, batch: int) -> Tensor:
    bound = site.bound
    everything = (slice(0, site.tq), slice(0, site.tk))
    return bound.tile(*everything, heads=slice(head, head + 1), batch=slice(batch, batch + 1)).scores[0, 0]


@pytest.mark.parametrize("family", ["llama", "mistral", "gpt2"])
def test_sums_without_q_and_k_are_those_of_one_forward(family: str, tiny: Tiny, inputs: Inputs) -> None:
    model, given = tiny(family), prompt(family, inputs)
    for more in ({}, {"use_cache": False}):
        ids, recording = generated(model, given, keep="summary", **more)
        for joined, whole in pairs(recording, at_once(model, family, given, ids)):
            assert joined.shelf.tensor("q") is None
            for batch in (0, 1):
                ours, theirs = joined.summary(batch), whole.summary(batch)
                for name in ("entropy", "largest", "first", "received", "received_mean", "distance"):
                    torch.testing.assert_close(
                        getattr(ours, name), getattr(theirs, name), rtol=1e-4, atol=2e-5, equal_nan=True
                    )
                assert torch.equal(ours.largest_key, theirs.largest_key)
                assert torch.equal(ours.empty_rows, theirs.empty_rows)
                assert torch.equal(*torch.broadcast_tensors(ours.seen, theirs.seen))


def test_generate_in_a_thread_with_a_streamer_is_one_run(tiny: Tiny, inputs: Inputs) -> None:
    model: Any = tiny("llama")
    given = prompt("llama", inputs)
    seen: list[Tensor] = []
    with record(model) as recording:
        thread = threading.Thread(target=lambda: seen.append(model.generate(**given, **options())))
        thread.start()
        thread.join()
    assert torch.equal(seen[0], model.generate(**given, **options()))
    assert len(recording.runs) == 1 and recording.site(1).tq == T + NEW - 1


def test_two_generations_are_two_runs_and_a_forward_between_is_one(tiny: Tiny, inputs: Inputs) -> None:
    model: Any = tiny("llama")
    given = prompt("llama", inputs)
    with record(model) as recording:
        model.generate(**given, **options())
        model(**given)
        model.generate(**given, **options(max_new_tokens=2, min_new_tokens=2))
    assert [run.sites[0].tq for run in recording.runs] == [T + NEW - 1, T, T + 1]
    assert [run.forwards for run in recording.runs] == [NEW, 1, 2]


def test_a_generation_that_is_stopped_keeps_the_rows_it_has(tiny: Tiny, inputs: Inputs) -> None:
    model: Any = tiny("llama")
    given = prompt("llama", inputs)
    for fault in (ValueError, KeyboardInterrupt):
        count = 0

        def fails(*_: object, fault: type[BaseException] = fault) -> None:
            nonlocal count
            count += 1
            if count == 4:
                raise fault

        handle = model.get_submodule("model.layers.1.mlp").register_forward_hook(fails)
        with record(model) as recording:
            with pytest.raises(fault):
                model.generate(**given, **options())
            handle.remove()
            model(**given)
        assert [[site.tq for site in run.sites] for run in recording.runs] == [[T + 3, T + 3], [T, T]]


def test_generate_is_put_back(tiny: Tiny, inputs: Inputs) -> None:
    from transformers import GenerationMixin

    before = GenerationMixin.__dict__["generate"]
    model: Any = tiny("llama")
    with record(model):
        assert GenerationMixin.__dict__["generate"] is not before
        model.generate(**prompt("llama", inputs), **options())
        with record(model):
            model(**prompt("llama", inputs))
        assert GenerationMixin.__dict__["generate"] is not before
    assert GenerationMixin.__dict__["generate"] is before
    with pytest.raises(AttnscopeError), record(model):
        pass
    assert GenerationMixin.__dict__["generate"] is before


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_generation_comes_back_from_disk_bit_for_bit(
    attention: str, tiny: Tiny, inputs: Inputs, tmp_path: Path
) -> None:
    _, recording = generated(tiny("mistral", attention, torch.bfloat16), prompt("mistral", inputs))
    back = load(recording.save(tmp_path / "look"), verify=True)
    assert back.runs[0].forwards == NEW
    for ours, theirs in zip(back.sites, recording.sites, strict=True):
        assert ours.calls is not None and list(ours.calls) == list(theirs.calls or ())
        for head in range(ours.heads):
            assert torch.equal(ours.weights(head, batch=1), theirs.weights(head, batch=1))
        assert ours.cell(3, 24, 20) == theirs.cell(3, 24, 20)


def test_a_quantised_cache_makes_two_grids_and_says_so(tiny: Tiny, inputs: Inputs) -> None:
    for attention in ("sdpa", "eager"):
        _, recording = generated(
            tiny("llama", attention), prompt("llama", inputs),
            cache_implementation="quantized", cache_config={"backend": "fp8"},
        )  # fmt: skip
        found = [(site.layer, site.segment, site.tq, site.tk, site.offset) for site in recording.sites]
        end = T + NEW - 1
        assert found == [(0, 0, T, T, 0), (0, 1, NEW - 1, end, T), (1, 0, T, T, 0), (1, 1, NEW - 1, end, T)]
        for site in recording.sites:
            assert site.certificate is not None and site.certificate.passed(0, 5)
            assert site.weights(3).sum(dim=-1).sub(1).abs().max() < 1e-5
        assert [one.layer for one in recording.missing] == [0, 1]
        reason = "its calls make 2 grids (site.segment), since at row 19 the keys it is handed are not those"
        assert recording.missing[0].reason.startswith(reason)


def test_sums_leave_out_the_rows_that_prompt_lookup_visits_again(tiny: Tiny) -> None:
    model: Any = tiny("llama")
    own = torch.Generator().manual_seed(2)
    given = {"input_ids": torch.randint(3, 100, (1, 6), generator=own).repeat(1, 4)}
    ids, recording = generated(model, given, keep="summary", prompt_lookup_num_tokens=3)
    for joined, whole in pairs(recording, at_once(model, "llama", given, ids)):
        ours, theirs = joined.summary(), whole.summary()
        torch.testing.assert_close(ours.received, theirs.received, rtol=1e-4, atol=2e-5)
        assert torch.equal(*torch.broadcast_tensors(ours.seen, theirs.seen))


def test_two_threads_that_generate_at_once_do_not_mix(tiny: Tiny, inputs: Inputs) -> None:
    shared: Any = tiny("llama")
    models = [shared, shared, tiny("mistral")]
    found: dict[int, tuple[Tensor, Recording]] = {}
    ready = threading.Barrier(3)

    def one(at: int) -> None:
        given = {"input_ids": inputs("llama", t=11 + at)["input_ids"]}
        with record(models[at], keep="all") as recording:
            ready.wait()
            found[at] = models[at].generate(**given, **options()), recording

    threads = [threading.Thread(target=one, args=(at,)) for at in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for at, model in enumerate(models):
        ids, recording = found[at]
        alone, quiet = generated(model, {"input_ids": ids[:, : 11 + at]})
        assert torch.equal(ids, alone) and len(recording.runs) == 1
        for joined, expected in zip(recording.sites, quiet.sites, strict=True):
            assert torch.equal(joined.q, expected.q) and torch.equal(joined.k, expected.k)


def test_tokens_that_compiled_code_processed_are_said_to_be_missing(tiny: Tiny, inputs: Inputs) -> None:
    from transformers import CompileConfig

    model: Any = tiny("llama")
    compiled = CompileConfig(backend="eager", mode=None, fullgraph=False)
    compiled._compile_all_devices = True
    with record(model) as recording:
        model.generate(
            **prompt("llama", inputs), **options(cache_implementation="static", compile_config=compiled)
        )
    torch._dynamo.reset()
    reasons = [one.reason for one in recording.missing]
    assert [site.tq for site in recording.sites] == [T, T]
    lacking = f"the last {NEW - 1} of {T + NEW - 1} tokens were not heard"
    assert len(reasons) == 2 and all(reason.startswith(lacking) for reason in reasons)
