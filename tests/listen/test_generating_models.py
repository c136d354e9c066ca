"""What generate() joins of models with ALiBi, masks of bits, some heads alone, and unequal texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from attnscope.listen import record
from attnscope.recording import Site, load
from tests.listen.generations import (
    NEW,
    Inputs,
    T,
    Tiny,
    at_once,
    generated,
    options,
    pairs,
    prompt,
    same_weights,
)

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bloom": ("Bloom", {"hidden_size": 48, "n_layer": 2, "n_head": 6}),
    "mpt": ("Mpt", {"d_model": 48, "n_layers": 2, "n_heads": 6, "max_seq_len": 64, "expansion_ratio": 2}),
    "falcon": (
        "Falcon",
        {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 6, "alibi": True,
         "multi_query": False, "new_decoder_architecture": False},
    ),
}  # fmt: skip


def slopes(family: str, attention: str = "sdpa") -> Any:
    """A small model with ALiBi whose heads attend sharply."""
    import transformers as hf

    torch.manual_seed(11)
    name, sizes = FAMILIES[family]
    common = {"vocab_size": 101, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None}
    config = getattr(hf, f"{name}Config")(**common, **sizes)
    model = getattr(hf, f"{name}ForCausalLM")._from_config(config, attn_implementation=attention)
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if weight.dim() == 2 and ("query_key_value" in key or "Wqkv" in key):
                weight.mul_(8)
    return model.eval()


@pytest.mark.parametrize(
    "family,attention", [("bloom", "eager"), ("mpt", "eager"), ("falcon", "sdpa"), ("falcon", "eager")]
)
@pytest.mark.parametrize("pad", [None, "left"])
def test_alibi_over_steps_is_that_of_one_forward(
    family: str, attention: str, pad: str | None, inputs: Inputs
) -> None:
    model, given = slopes(family, attention), prompt("llama", inputs, pad)
    ids, recording = generated(model, given, keep="summary")
    assert recording.missing == []
    whole = at_once(model, family, given, ids)
    for joined, one in pairs(recording, whole):
        same_sums(joined, one)
    if (family, attention) == ("falcon", "sdpa"):
        _, kept = generated(model, given)
        for joined, one in pairs(kept, whole):
            same_weights(joined, one)


def same_sums(joined: Site, whole: Site) -> None:
    assert (joined.tq, joined.tk, joined.offset, joined.segment) == (whole.tq, whole.tk, whole.offset, 0)
    assert joined.certificate is not None and whole.certificate is not None
    assert joined.certificate.verdict == whole.certificate.verdict
    for batch in range(whole.batch):
        some = whole.visible(0, batch=batch).any(dim=-1)
        for head in range(whole.heads if whole.heard_scores_alone else 0):
            assert torch.equal(
                joined.visible(head, batch=batch)[some], whole.visible(head, batch=batch)[some]
            )
        ours, theirs = joined.summary(batch), whole.summary(batch)
        for name in ("entropy", "largest", "first", "received", "received_mean", "distance"):
            torch.testing.assert_close(
                getattr(ours, name), getattr(theirs, name), rtol=1e-4, atol=2e-5, equal_nan=True
            )
        assert torch.equal(ours.largest_key, theirs.largest_key)
        for name in ("peak", "logsum"):
            one, two = (getattr(site.normaliser, name)[batch][:, some] for site in (joined, whole))
            torch.testing.assert_close(one, two, rtol=1e-4, atol=2e-5)


def test_sums_of_a_model_of_its_own_code_come_back_from_disk(inputs: Inputs, tmp_path: Path) -> None:
    model, given = slopes("bloom", "eager"), prompt("llama", inputs)
    with record(model, path=tmp_path / "look") as recording:
        model.generate(**given, **options())
    back = load(tmp_path / "look", verify=True)
    for ours, theirs in zip(back.sites, recording.sites, strict=True):
        assert (ours.tq, ours.tk, ours.d) == (T + NEW - 1, T + NEW - 1, None)
        assert torch.equal(ours.summary(1).received, theirs.summary(1).received)
        assert bool(torch.isfinite(ours.summary(1).first).all())


def spotted(model: Any) -> None:
    """Gives each attention a mask that no small number of spans can say."""

    def masked(module: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        rows = kwargs["hidden_states"].shape[1]
        held = kwargs["cache"].get_seq_length(module.layer_idx) if kwargs.get("cache") is not None else 0
        i, j = torch.arange(held, held + rows)[:, None], torch.arange(held + rows)
        seen = (j <= i) & (((i * 3 + j) % 2 == 0) | (j == i))
        return args, kwargs | {"attention_mask": seen[None, None]}

    for layer in model.model.layers:
        layer.self_attn.register_forward_pre_hook(masked, with_kwargs=True)


def test_a_mask_of_bits_over_steps_is_that_of_one_forward(tiny: Tiny, inputs: Inputs) -> None:
    model: Any = tiny("llama")
    spotted(model)
    given = {"input_ids": torch.cat([inputs("llama", t=80)["input_ids"]] * 2, dim=1)}
    ids, recording = generated(model, given, max_new_tokens=4, min_new_tokens=4)
    for joined, whole in pairs(recording, at_once(model, "llama", given, ids)):
        assert joined.seen.rule is not None
        assert torch.equal(joined.visible(2, batch=1), whole.visible(2, batch=1))
        same = whole.weights(2, batch=1)
        torch.testing.assert_close(joined.weights(2, batch=1), same, rtol=0, atol=1e-5)


def test_bits_have_an_end_and_what_comes_after_it_is_said(
    tiny: Tiny, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    from attnscope.recording import edges

    monkeypatch.setattr(edges, "LARGEST", 160 * 160 + 4 * 168)
    model: Any = tiny("llama")
    spotted(model)
    given = {"input_ids": torch.cat([inputs("llama", t=80)["input_ids"]] * 2, dim=1)}
    _, recording = generated(model, given)
    assert [site.segment for site in recording.sites] == [0, 0]
    assert all(160 < site.tq < 160 + NEW - 1 for site in recording.sites)
    assert all(site.certificate is not None and site.certificate.passed(1, 2) for site in recording.sites)
    reason = "its mask needs a bit for each cell, and there are too many: later rows are not shown"
    assert [one.reason for one in recording.missing] == [reason] * 2


@pytest.mark.parametrize("family,attention", [("llama", "sdpa"), ("gpt2", "eager"), ("bloom", "eager")])
def test_some_heads_and_layers_alone_are_those_of_the_whole(
    family: str, attention: str, tiny: Tiny, inputs: Inputs
) -> None:
    model: Any = slopes(family, attention) if family == "bloom" else tiny(family, attention)
    given = prompt(family, inputs)
    torch.manual_seed(3)
    with record(model, keep="all", layers=1, heads=[1, 4]) as recording:
        model.generate(**given, **options())
    _, whole = generated(model, given)
    (some,), every = recording.sites, whole.site(1)
    assert (some.layer, some.kept, some.heads, some.tq) == (1, (1, 4), every.heads, every.tq)
    for name in ("peak", "logsum"):
        mine, theirs = getattr(some.normaliser, name), getattr(every.normaliser, name)[:, [1, 4]]
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)
    if family != "bloom":
        for head in (1, 4):
            torch.testing.assert_close(
                some.weights(head, batch=1), every.weights(head, batch=1), rtol=0, atol=1e-5
            )


def test_sampled_sequences_of_one_prompt_are_batches_of_one_grid(tiny: Tiny, inputs: Inputs) -> None:
    model, given = tiny("llama"), prompt("llama", inputs)
    ids, recording = generated(model, given, do_sample=True, temperature=1.5, num_return_sequences=3)
    spread = {name: x.repeat_interleave(3, dim=0) for name, x in given.items()}
    assert ids.shape[0] == 6 and not torch.equal(ids[0], ids[1])
    for joined, whole in pairs(recording, at_once(model, "llama", spread, ids)):
        same_weights(joined, whole)


def test_texts_of_unequal_length_are_joined_past_their_padding(tiny: Tiny, inputs: Inputs) -> None:
    for family in ("mistral", "gemma3"):
        model, given = tiny(family), prompt(family, inputs)
        lengths = torch.tensor([T, T - 5, T - 11, 1])
        given = {"input_ids": given["input_ids"].repeat(2, 1)}
        given["attention_mask"] = (torch.arange(T) >= T - lengths[:, None]).long()
        ids, recording = generated(model, given)
        for joined, whole in pairs(recording, at_once(model, family, given, ids)):
            same_weights(joined, whole)
