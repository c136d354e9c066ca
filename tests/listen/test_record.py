"""record(): looking changes nothing, everything is put back, and what cannot be heard is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnscope.errors import NothingRecorded, NotKept, RecordingError, ShapeError
from attnscope.listen import record
from attnscope.recording import load
from tests.listen.traces import traces

Inputs = Callable[..., dict[str, Tensor]]
Tiny = Callable[..., nn.Module]


def test_everything_is_put_back(tiny: Tiny, inputs: Inputs) -> None:
    before = traces()
    model = tiny("llama")
    with record(model):
        assert traces() != before
        model(**inputs("llama"))
    assert traces() == before


@pytest.mark.parametrize("fault", [ValueError("a fault of the user"), KeyboardInterrupt()])
def test_everything_is_put_back_after_an_exception_anywhere(
    fault: BaseException, tiny: Tiny, inputs: Inputs
) -> None:
    before = traces()
    model = tiny("llama")

    def fails(*_: object) -> None:
        raise fault

    handle = model.get_submodule("model.layers.1.mlp").register_forward_hook(fails)
    with pytest.raises(type(fault)), record(model):
        model(**inputs("llama"))
    handle.remove()
    assert traces() == before
    with record(model) as recording:
        model(**inputs("llama"))
    assert len(recording.sites) == 2


def test_a_run_that_failed_leaves_the_next_one_whole(tiny: Tiny, inputs: Inputs) -> None:
    model = tiny("llama")
    for fault in (ValueError, KeyboardInterrupt):
        with record(model) as recording:

            def fails(*_: object, fault: type[BaseException] = fault) -> None:
                raise fault

            handle = model.get_submodule("model.layers.1").register_forward_pre_hook(fails)
            with pytest.raises(fault):
                model(**inputs("llama"))
            handle.remove()
            model(**inputs("llama"))
        assert [len(run.sites) for run in recording.runs] == [1, 2]


def test_nothing_but_the_recording_is_new(tiny: Tiny, inputs: Inputs) -> None:
    model = tiny("llama").train()
    given = inputs("llama")

    def step() -> tuple[Tensor, list[Tensor], Tensor]:
        torch.manual_seed(3)
        model.zero_grad()
        logits = model(**given)[0]
        logits.float().square().mean().backward()
        grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        return logits.detach(), grads, torch.rand(3)

    alone = step()
    with record(model, keep="all") as recording:
        heard = step()
    assert torch.equal(alone[0], heard[0]) and torch.equal(alone[2], heard[2])
    assert all(torch.equal(a, b) for a, b in zip(alone[1], heard[1], strict=True))
    for site in recording.sites:
        kept = [site.q, site.k, site.v, site.out, site.normaliser.peak]
        assert not any(x is None or x.requires_grad or x.is_inference() for x in kept)


def test_inference_mode_gives_ordinary_tensors(tiny: Tiny, inputs: Inputs) -> None:
    for attention in ("sdpa", "eager"):
        model = tiny("llama", attention)
        with torch.inference_mode():
            alone = model(**inputs("llama", "left"))[0]
            with record(model) as recording:
                heard = model(**inputs("llama", "left"))[0]
        assert torch.equal(alone, heard)
        site = recording.site(1)
        assert not site.q.is_inference() and site.weights(0).shape == (37, 37)


def test_attention_dropout_in_training_is_not_certifiable(inputs: Inputs) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes: dict[str, Any] = {
        "vocab_size": 101,
        "hidden_size": 48,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
    }
    config = LlamaConfig(**sizes, num_attention_heads=6, attention_dropout=0.3)
    for attention in ("sdpa", "eager"):
        model = LlamaForCausalLM._from_config(config, attn_implementation=attention).train()
        torch.manual_seed(1)
        alone = model(**inputs("llama"))[0]
        torch.manual_seed(1)
        with record(model) as recording:
            heard = model(**inputs("llama"))[0]
        assert torch.equal(alone, heard)
        site = recording.site(0)
        assert site.certificate is not None and site.bit_exact is None
        assert site.certificate.verdict[0][0] == "not certifiable"
        assert site.weights(0).sum(dim=-1).sub(1).abs().max() < 1e-5


def test_gradient_checkpointing_does_not_record_a_layer_twice(tiny: Tiny, inputs: Inputs) -> None:
    model: Any = tiny("llama").train()
    model.activation_checkpointing_enable()
    with record(model) as recording:
        model(**inputs("llama"), use_cache=False)[0].sum().backward()
    assert len(recording.runs) == 1
    assert [(site.layer, site.order) for site in recording.sites] == [(0, 0), (1, 0)]


def test_layers_and_heads_are_kept_as_asked(tiny: Tiny, inputs: Inputs) -> None:
    for attention in ("sdpa", "eager"):
        model, given = (
            tiny("gpt-oss" if attention == "eager" else "llama", attention),
            inputs("llama", "left"),
        )
        with record(model) as whole:
            model(**given)
        with record(model, layers=[1], heads=[5, 0]) as part:
            model(**given)
        assert [site.layer for site in part.sites] == [1]
        site, full = part.site(1), whole.site(1)
        assert site.kept == (0, 5) and site.heads == 6 and site.q.shape[1] == site.k.shape[1] == 2
        for head in (0, 5):
            torch.testing.assert_close(
                site.weights(head, batch=1), full.weights(head, batch=1), rtol=0, atol=1e-6
            )
            assert site.cell(head, 9, 8).head == head
        with pytest.raises(
            NotKept, match=r"Head 3 of model.layers.1.self_attn was not kept. One of the heads 0, 5"
        ):
            site.weights(3)
        with record(model, heads={0: [2]}) as one:
            model(**given)
        assert [(site.layer, site.kept) for site in one.sites] == [(0, (2,))]


def test_keep_says_what_is_held(tiny: Tiny, inputs: Inputs) -> None:
    model, given = tiny("llama"), inputs("llama")
    held = {}
    for keep in ("summary", "qk", "qkv", "all"):
        with record(model, keep=keep) as recording:
            model(**given)
        site = recording.site(0)
        held[keep] = [name for name in "qkv" if site.shelf.tensor(name) is not None]
        assert (site.out is not None) == (keep == "all")
        assert site.certificate is not None and site.certificate.passed(1, 5)
        assert site.summary(1).entropy.shape == (1, 6, 37)
        assert site.normaliser.peak.shape == (2, 6, 37)
    assert held == {"summary": [], "qk": ["q", "k"], "qkv": ["q", "k", "v"], "all": ["q", "k", "v"]}
    with record(model, keep="summary") as recording:
        model(**given)
    message = r"q of model.layers.0.self_attn was not kept: .*keep='summary'. keep=.qk. or"
    with pytest.raises(NotKept, match=message):
        recording.site(0).weights(0)


def test_progress_is_told_of_every_call_and_may_stop_the_run(tiny: Tiny, inputs: Inputs) -> None:
    model = tiny("llama")
    told: list[tuple[int, str]] = []
    with record(model, progress=lambda done, name: told.append((done, name))):
        model(**inputs("llama"))
    assert told == [(1, "model.layers.0.self_attn"), (2, "model.layers.1.self_attn")]

    def stop(done: int, name: str) -> None:
        raise InterruptedError(name)

    with pytest.raises(InterruptedError, match=r"layers\.0"), record(model, progress=stop):
        model(**inputs("llama"))


def test_path_saves_at_the_end_of_the_block(tiny: Tiny, inputs: Inputs, tmp_path: Path) -> None:
    model, given = tiny("llama"), inputs("llama")
    with record(model, tokens=given["input_ids"], path=tmp_path / "look") as recording:
        model(**given)
    back = load(tmp_path / "look")
    assert back.tokens == recording.tokens == given["input_ids"].tolist()
    assert torch.equal(back.site(1).weights(4), recording.site(1).weights(4))


def test_a_model_that_makes_no_call_is_an_error_that_says_what_was_looked_for() -> None:
    model = nn.Sequential(nn.Linear(3, 3))
    with pytest.raises(NothingRecorded) as error, record(model):
        model(torch.zeros(2, 3))
    text = str(error.value)
    assert text.startswith("The Sequential ran, and no attention call was heard.")
    assert "F.scaled_dot_product_attention" in text and "softmax over (batch, heads, queries, keys)" in text


def test_a_block_in_which_nothing_ran_is_an_error_and_before_its_end_there_is_nothing_to_ask() -> None:
    never_run = pytest.raises(NothingRecorded, match="The Linear was not run inside the block")
    with never_run, record(nn.Linear(3, 3)) as recording:
        assert recording.runs == [] and recording.sites == []
        with pytest.raises(RecordingError, match="Nothing has been recorded yet"):
            recording.site(0)


def test_of_nested_recordings_of_one_model_the_outer_says_that_it_heard_nothing(
    plain: Callable[..., nn.Module],
) -> None:
    model = plain()
    with pytest.raises(NothingRecorded, match="the innermost hears"), record(model), record(model) as inner:
        model(torch.randn(1, 5, 40))
    assert len(inner.sites) == 2


def test_a_function_compiled_around_the_model_is_an_error_that_says_what_to_do(
    plain: Callable[..., nn.Module],
) -> None:
    model = plain()
    compiled = torch.compile(lambda x: model(x), backend="eager")
    compiled(torch.randn(1, 5, 40))
    with pytest.raises(NothingRecorded, match="force_eager"), record(model):
        compiled(torch.randn(1, 5, 40))


def test_an_exception_in_the_block_is_not_hidden_by_nothing_recorded() -> None:
    model = nn.Linear(3, 3)
    with pytest.raises(ZeroDivisionError), record(model):
        model(torch.zeros(2, 3))
        _ = 1 // 0


def test_layers_that_are_not_there_are_said(tiny: Tiny, inputs: Inputs) -> None:
    model = tiny("llama")
    message = "made 2 attention calls, and layers= and heads= left them all out"
    with pytest.raises(NothingRecorded, match=message), record(model, layers=[9]):
        model(**inputs("llama"))
    with record(model, heads={0: [1], 1: [77]}) as recording:
        model(**inputs("llama"))
    assert [site.layer for site in recording.sites] == [0]
    assert [(one.layer, one.reason) for one in recording.missing] == [
        (1, "heads 77 were asked for, and it has heads 0 to 5")
    ]


def test_options_that_mean_nothing_are_refused() -> None:
    with pytest.raises(RecordingError, match=r"record\(\) got a str. A torch.nn.Module"), record("gpt2"):  # type: ignore[arg-type]
        pass
    message = r"keep='everything'. One of 'summary', 'qk', 'qkv', 'all'"
    with pytest.raises(RecordingError, match=message), record(nn.Linear(1, 1), keep="everything"):
        pass
    with pytest.raises(ShapeError, match="tokens is"), record(nn.Linear(1, 1), tokens=torch.zeros(2, 2)):
        pass


@pytest.mark.filterwarnings("ignore:Using `torch.compile.module.` when there are global hooks")
def test_a_compiled_model_is_said_to_be_compiled(plain: Callable[..., nn.Module]) -> None:
    compiled = torch.compile(plain(), backend="eager")
    x = torch.randn(1, 9, 40)
    message = r"The Plain is compiled.*set_stance\(.force_eager.\)"
    with pytest.raises(NothingRecorded, match=message), record(compiled):  # type: ignore[arg-type]
        pass
    with torch.compiler.set_stance("force_eager"), record(compiled) as recording:  # type: ignore[arg-type]
        compiled(x)
    assert [site.name for site in recording.sites] == ["blocks.0", "blocks.1"]


def test_what_goes_wrong_in_our_reading_ends_no_run_of_the_model(tiny: Tiny) -> None:
    model = tiny("llama", "sdpa").to("meta")
    ids = torch.ones(1, 7, dtype=torch.long, device="meta")
    alone = model(ids).logits.shape
    with pytest.raises(NothingRecorded) as raised, record(model):
        assert model(ids).logits.shape == alone
    assert "its numbers could not be read" in str(raised.value)
