"""Knock-outs in transformers' own models, through sdpa and eager, held against edited weights and masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import attnscope as ats
from attnscope.errors import ModelError, NothingRecorded
from attnscope.knocking import Bench, Cut
from attnscope.knocking.running import _forward, text_of
from tests.listen.conftest import Tiny

CASES = [
    ("llama", "sdpa", "model.layers.1.self_attn", "o_proj"),
    ("llama", "eager", "model.layers.1.self_attn", "o_proj"),
    ("mistral", "sdpa", "model.layers.0.self_attn", "o_proj"),
    ("gemma2", "eager", "model.layers.0.self_attn", "o_proj"),
    ("gpt-oss", "eager", "model.layers.0.self_attn", "o_proj"),
    ("gpt2", "sdpa", "transformer.h.1.attn", "c_proj"),
    ("gpt2", "eager", "transformer.h.1.attn", "c_proj"),
    ("t5", "sdpa", "decoder.block.1.layer.1.EncDecAttention", "o"),
    ("t5", "eager", "encoder.block.0.layer.0.SelfAttention", "o"),
    ("bart", "sdpa", "model.encoder.layers.1.self_attn", "out_proj"),
    ("bert", "sdpa", "encoder.layer.1.attention.self", "encoder.layer.1.attention.output.dense"),
    ("bert", "eager", "encoder.layer.1.attention.self", "encoder.layer.1.attention.output.dense"),
]
HEAD, WIDTH = 4, 8


@contextmanager
def columns_of_0(model: nn.Module, name: str, head: int) -> Iterator[None]:
    """Inside, the output projection takes nothing from a head."""
    weight = model.get_submodule(name).weight
    cut = slice(head * WIDTH, head * WIDTH + WIDTH)
    where = (cut, slice(None)) if type(model.get_submodule(name)).__name__ == "Conv1D" else (slice(None), cut)
    saved = weight.detach().clone()
    with torch.no_grad():
        weight[where] = 0.0  # type: ignore[index]
        yield
        weight.copy_(saved)


def answer(model: nn.Module, given: dict[str, Tensor]) -> Tensor:
    with torch.no_grad():
        output = model(**given, use_cache=False)
    logits = getattr(output, "logits", None)
    return output.last_hidden_state if logits is None else logits


def without(model: nn.Module, given: dict[str, Tensor], *cuts: Cut) -> tuple[ats.Knockout, Tensor]:
    bench = Bench(model, _forward(model, given), text_of(given))
    kept: list[Tensor] = []
    inner = bench._answer
    bench._answer = lambda: kept.append(inner()) or kept[-1]  # type: ignore[method-assign, func-returns-value]
    found = bench.without(*cuts)
    return found, kept[-1].values


@pytest.mark.parametrize(
    ("family", "attention", "site", "projection", "pad"),
    [(*case, None) for case in CASES] + [(*CASES[0], "left"), (*CASES[1], "left"), (*CASES[-2], "right")],
)
def test_a_head_is_out_as_its_part_of_the_projection_is(
    tiny: Tiny, inputs: Callable[..., dict[str, Tensor]], family: str, attention: str, site: str,
    projection: str, pad: str | None,
) -> None:  # fmt: skip
    # gpt-oss' experts know no float64, and the fill of a padding mask in float64 is -inf in an eager softmax
    wide = family != "gpt-oss" and not (pad and attention == "eager")
    dtype = torch.float64 if wide else torch.float32
    model = tiny(family, attention, dtype)
    given = inputs(family, pad, t=17)
    found, values = without(model, given, Cut(site, HEAD))
    name = projection if "." in projection else f"{site}.{projection}"
    with columns_of_0(model, name, HEAD):
        wanted = answer(model, given)
    allowed = 1e-12 if dtype == torch.float64 else 5e-6
    torch.testing.assert_close(values, wanted, rtol=0, atol=allowed * float(wanted.abs().max()))
    assert found.nothing.bit_equal
    assert not torch.allclose(values, answer(model, given))


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_an_edge_is_out_as_a_mask_of_its_cell_takes_it_out(
    tiny: Tiny, inputs: Callable[..., dict[str, Tensor]], attention: str, dtype: torch.dtype
) -> None:
    """In all heads of all layers, so that the model's own mask says the same."""
    model = tiny("llama", attention, dtype)
    ids = inputs("llama", t=17)["input_ids"]
    seen = torch.ones(17, 17, dtype=torch.bool).tril()
    seen[9, 3] = False
    mask = torch.zeros(2, 1, 17, 17, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)
    wanted = answer(model, {"input_ids": ids, "attention_mask": mask})
    cuts = [Cut(layer, head, 9, 3) for layer in range(2) for head in range(6)]
    _, values = without(model, {"input_ids": ids}, *cuts)
    allowed = {torch.float64: 1e-12, torch.float32: 5e-6, torch.bfloat16: 0.03}[dtype]
    torch.testing.assert_close(values, wanted, rtol=0, atol=allowed * float(wanted.abs().max()))


@pytest.mark.parametrize(
    ("family", "attention", "dtype"),
    [(*case[:2], torch.float32) for case in CASES]
    + [("llama", one, torch.bfloat16) for one in ("sdpa", "eager")],
)
def test_nothing_taken_out_changes_nothing_bit_for_bit(
    tiny: Tiny, inputs: Callable[..., dict[str, Tensor]], family: str, attention: str, dtype: torch.dtype
) -> None:
    model, given = tiny(family, attention, dtype), inputs(family, "left", t=17)
    untouched = answer(model, given)
    found, values = without(model, given, Cut(0, 1, slice(0, 0)), Cut(1, 2, 5, slice(3, 3)))
    assert found.nothing.bit_equal
    assert found.nothing.largest == 0
    assert torch.equal(values, untouched)
    assert torch.equal(answer(model, given), untouched)


def test_a_sink_takes_its_share_of_what_was_taken_out(tiny: Tiny, inputs: Callable[..., Any]) -> None:
    """gpt-oss: the cell is masked in the model, and its learned sinks are in the softmax."""
    model = tiny("gpt-oss", "eager")
    ids = inputs("gpt-oss", t=13)["input_ids"]
    found, values = without(model, {"input_ids": ids}, *[Cut(1, head, 9, 6) for head in range(6)])
    attention = model.model.layers[1].self_attn

    def masked(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        mask = kwargs["attention_mask"].clone()
        mask[:, :, 9, 6] = torch.finfo(mask.dtype).min
        return args, {**kwargs, "attention_mask": mask}

    hook = attention.register_forward_pre_hook(masked, with_kwargs=True)
    wanted = answer(model, {"input_ids": ids})
    hook.remove()
    torch.testing.assert_close(values, wanted, rtol=0, atol=5e-6 * float(wanted.abs().max()))
    assert found.taken_out[0].weights is not None


def test_a_key_out_of_the_window_changes_nothing(tiny: Tiny, inputs: Callable[..., Any]) -> None:
    model, given = tiny("mistral"), inputs("mistral", t=17)
    untouched = answer(model, given)
    assert torch.equal(without(model, given, Cut(0, 1, 12, 5))[1], untouched)
    assert not torch.equal(without(model, given, Cut(0, 1, 12, 6))[1], untouched)


def test_the_next_tokens_are_told_with_both_probabilities(tiny: Tiny, inputs: Callable[..., Any]) -> None:
    model, given = tiny("llama", dtype=torch.float64), inputs("llama", "left", t=17)
    found = ats.knockout(model, given, "model.layers.0.self_attn", 2, name=lambda one: f"<{one}>")
    _, values = without(model, given, Cut(0, 2))
    p, q = (x.log_softmax(dim=-1) for x in (answer(model, given), values))
    kl = (p.exp() * (p - q)).sum(dim=-1)
    assert found.moved is not None
    torch.testing.assert_close(found.moved.kl, kl, rtol=0, atol=1e-12)
    torch.testing.assert_close(found.moved.variation, (p.exp() - q.exp()).abs().sum(dim=-1) / 2)
    ids = given["input_ids"]
    change = (q - p)[:, :-1].gather(-1, ids[:, 1:, None])[..., 0]
    assert found.moved.realised is not None
    assert found.moved.realised[:, -1].isnan().all()
    assert found.moved.realised[1, :7].isnan().all()  # padding
    torch.testing.assert_close(found.moved.realised[0, :-1], change[0])
    torch.testing.assert_close(found.moved.realised[1, 7:-1], change[1, 7:])
    told = found.at(5, batch=1, top=3)
    assert [token.id for token in told.before] == p[1, 5].topk(3).indices.tolist()
    assert [token.after for token in told.before] == pytest.approx(
        q[1, 5].exp()[p[1, 5].topk(3).indices].tolist()
    )
    assert [token.id for token in told.after] == q[1, 5].topk(3).indices.tolist()
    assert told.before[0].text == f"<{told.before[0].id}>"
    assert found.position() == 16
    assert f"{told.kl:.4g}" in str(found.at(5, batch=1)) or "nats (KL)" in str(found)
    assert "<table>" in found._repr_html_()
    assert "&lt;" in found._repr_html_()


def test_an_edge_is_told_of_at_its_own_row(tiny: Tiny, inputs: Callable[..., Any]) -> None:
    found = ats.knockout(tiny("llama"), inputs("llama", t=17), 0, 2, rows=9, cols=3)
    assert found.position() == 9
    assert "Layer 0, head 2 of model.layers.0.self_attn, query 9, key 3: as if masked" in str(found)
    assert found.moved is not None
    assert found.moved.kl[:, :9].abs().max() == 0


def test_masked_predictions_are_about_no_next_token(tiny: Tiny, inputs: Callable[..., Any]) -> None:
    import transformers as hf

    from tests.listen.conftest import SIZES

    torch.manual_seed(3)
    model = hf.BertForMaskedLM(hf.BertConfig(**SIZES)).eval()
    found = ats.knockout(model, inputs("bert", t=17), 0, 2)
    assert found.moved is not None
    assert found.moved.realised is None
    assert found.at(3).realised is None


def test_an_encoder_gives_the_change_of_its_states(tiny: Tiny, inputs: Callable[..., Any]) -> None:
    model, given = tiny("bert"), inputs("bert", "right", t=17)
    found = ats.knockout(model, given, 1, 2, cols=3)
    assert found.states is not None
    _, values = without(model, given, Cut(1, 2, cols=3))
    wanted = (values - answer(model, given)).double().norm(dim=-1)
    torch.testing.assert_close(found.states.length, wanted)
    assert found.position(0) == 16
    assert found.position(1) == 9


def test_a_decoder_tells_of_its_own_next_tokens(tiny: Tiny, inputs: Callable[..., Any]) -> None:
    model, given = tiny("t5"), inputs("t5", t=17)
    found = ats.knockout(model, given, "decoder.block.1.layer.1.EncDecAttention", 2)
    assert found.moved is not None
    assert found.moved.realised is not None
    assert found.moved.realised.shape == (2, 13)


def test_a_cache_among_the_inputs_is_refused(tiny: Tiny, inputs: Callable[..., Any]) -> None:
    model, given = tiny("llama"), inputs("llama", t=17)
    with torch.no_grad():
        cache = model(**given, use_cache=True).past_key_values
    with pytest.raises(ModelError, match=r"hold a cache \(past_key_values\), which each run would add to"):
        ats.knockout(model, {**given, "past_key_values": cache}, 0, 0)


def test_attention_in_a_models_own_code_is_refused_with_the_reason() -> None:
    import transformers as hf

    model = hf.BloomForCausalLM(hf.BloomConfig(vocab_size=101, hidden_size=48, n_layer=2, n_head=6)).eval()
    said = r"attention is in code of its own.* code calls .*attnscope\.attention instead.* it can be\."
    with pytest.raises(NothingRecorded, match=said):
        ats.knockout(model, {"input_ids": torch.arange(3, 12)[None]}, 0, 0)


def test_what_is_no_input_is_refused(tiny: Tiny) -> None:
    with pytest.raises(ModelError, match=r"The inputs are str\. Keyword arguments.*through its tokeniser"):
        ats.knockout(tiny("llama"), "a text", 0, 0)
