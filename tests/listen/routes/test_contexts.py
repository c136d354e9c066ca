"""Where and how a model is run: each way on two families, nothing changed and every head certified."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnscope.listen import record
from attnscope.recording import Recording

FAMILIES = ["llama", "bert"]
both = pytest.mark.parametrize("family", FAMILIES)
attentions = pytest.mark.parametrize("attention", ["sdpa", "eager"])
Tiny = Callable[..., nn.Module]
Inputs = Callable[..., dict[str, Tensor]]


def verdicts(recording: Recording) -> set[str]:
    return {one for site in recording.sites for row in site.certificate.verdict for one in row}


@both
@attentions
@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_with_and_without_gradients(
    family: str, attention: str, context: Callable[[], Any], tiny: Tiny, inputs: Inputs
) -> None:
    model, given = tiny(family, attention), inputs(family, "left", t=19)
    with context():
        alone = model(**given)[0]
        with record(model) as recording:
            assert torch.equal(model(**given)[0], alone)
    assert verdicts(recording) == {"passed"} and len(recording.sites) == 2
    if context is not torch.inference_mode:
        assert not any(site.q.is_inference() for site in recording.sites)


@both
@attentions
@pytest.mark.parametrize("checkpointing", [False, True])
def test_training_gives_the_same_gradients_and_each_layer_once(
    family: str, attention: str, checkpointing: bool, tiny: Tiny, inputs: Inputs
) -> None:
    model: Any = tiny(family, attention)
    given = inputs(family, "left", t=19)
    model.config.attention_probs_dropout_prob = model.config.hidden_dropout_prob = 0.0
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    if checkpointing:
        model.activation_checkpointing_enable()
    model.train()

    def step() -> list[Tensor]:
        model.zero_grad()
        model(**given)[0].square().mean().backward()
        return [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]

    alone = step()
    with record(model) as recording:
        together = step()
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))
    assert [site.layer for site in recording.sites] == [0, 1] and len(recording.runs) == 1
    assert verdicts(recording) == {"passed"}


@both
@attentions
def test_attention_dropout_is_not_certifiable(
    family: str, attention: str, tiny: Tiny, inputs: Inputs
) -> None:
    model: Any = tiny(family, attention).train()
    for part in model.modules():
        for name in ("attention_dropout", "dropout_prob"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, 0.25)
        if isinstance(part, nn.Dropout):
            part.p = 0.25
    given = inputs(family, t=19)
    torch.manual_seed(3)
    alone = model(**given)[0]
    torch.manual_seed(3)
    with record(model) as recording:
        assert torch.equal(model(**given)[0], alone)
    assert verdicts(recording) == {"not certifiable"}


@both
@attentions
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bits(family: str, attention: str, dtype: torch.dtype, tiny: Tiny, inputs: Inputs) -> None:
    model, given = tiny(family, attention, dtype), inputs(family, "left", t=19)
    with torch.no_grad():
        alone = model(**given)[0]
        with record(model) as recording:
            assert torch.equal(model(**given)[0], alone)
    assert verdicts(recording) == {"passed"}
    assert all(site.dtype == dtype and site.bit_exact in (None, True) for site in recording.sites)


@both
@attentions
@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor, torch.quantize_per_channel:UserWarning")
def test_weights_of_8_bits(family: str, attention: str, tiny: Tiny, inputs: Inputs) -> None:
    whole = tiny(family, attention)
    model: Any = torch.ao.quantization.quantize_dynamic(whole, {nn.Linear}, dtype=torch.qint8)
    given = inputs(family, "left", t=19)
    with torch.no_grad():
        alone = model(**given)[0]
        with record(model) as recording:
            assert torch.equal(model(**given)[0], alone)
    assert verdicts(recording) == {"passed"} and len(recording.sites) == 2


def test_a_boolean_mask_of_four_axes_is_read_as_the_model_uses_it(tiny: Tiny, inputs: Inputs) -> None:
    ids = inputs("llama", t=19)["input_ids"]
    mask = torch.ones(2, 1, 19, 19, dtype=torch.bool).tril()
    mask[1, :, :, :4] = False
    hides, adds = tiny("llama", "sdpa"), tiny("llama", "eager")
    for model, hidden in ((hides, True), (adds, False)):
        with torch.no_grad(), record(model) as recording:
            model(input_ids=ids, attention_mask=mask)
        assert verdicts(recording) == {"passed"}
        site = recording.site(0)
        for batch in (0, 1):
            told = mask[batch, 0] if hidden else torch.ones(19, 19, dtype=torch.bool)
            assert torch.equal(site.visible(2, batch=batch), told)
        assert (site.scoring.bias is None) == hidden  # the eager function adds 1 where it is True
