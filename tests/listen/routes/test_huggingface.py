"""The attention of Hugging Face models: recorded without a trace, equal to what they themselves return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnscope.listen import record
from attnscope.recording import Recording, Site

FUSED = ["llama", "mistral", "gpt2", "bert", "albert", "t5", "whisper"]
EAGER = [*FUSED, "gemma2", "gpt-oss"]
DTYPES = [torch.float32, torch.bfloat16]


def run(model: nn.Module, given: dict[str, Tensor], **options: Any) -> tuple[Recording, Tensor, Tensor]:
    """The recording, and the first output without and with it."""
    dtype = next(model.parameters()).dtype
    given = {name: x.to(dtype) if x.is_floating_point() else x for name, x in given.items()}
    with torch.no_grad():
        alone = model(**given)[0]
        with record(model, **options) as recording:
            heard = model(**given)[0]
    return recording, alone, heard


def own_attentions(model: nn.Module, given: dict[str, Tensor]) -> dict[tuple[str, str], tuple[Tensor, ...]]:
    """What an eager model itself returns, by kind and stack."""
    dtype = next(model.parameters()).dtype
    given = {name: x.to(dtype) if x.is_floating_point() else x for name, x in given.items()}
    with torch.no_grad():
        out = model(**given, output_attentions=True)
    if "decoder_input_ids" in given:
        return {
            ("self", "encoder"): out.encoder_attentions,
            ("self", "decoder"): out.decoder_attentions,
            ("cross", "decoder"): out.cross_attentions,
        }
    return {("self", "decoder"): out.attentions, ("self", "encoder"): out.attentions}


def every_head(site: Site) -> list[tuple[int, int]]:
    return [(batch, head) for batch in range(site.batch) for head in range(site.heads)]


def certified(recording: Recording) -> bool:
    return all(
        site.certificate is not None and site.certificate.passed(batch, head)
        for site in recording.sites
        for batch, head in every_head(site)
    )


@pytest.mark.parametrize("pad", [None, "left", "right"])
@pytest.mark.parametrize("family", FUSED)
def test_sdpa_outputs_are_bit_equal_and_every_head_is_certified(
    family: str, pad: str | None, tiny: Callable[..., nn.Module], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    for dtype in DTYPES:
        recording, alone, heard = run(tiny(family, dtype=dtype), inputs(family, pad))
        assert torch.equal(alone, heard)
        assert recording.sites and certified(recording)
        assert {site.route for site in recording.sites} == {"huggingface/sdpa"}
        assert recording.missing == []


@pytest.mark.parametrize(
    ("dtype", "pad"),
    [(torch.float32, None), (torch.float32, "right"), (torch.float32, "left"), (torch.bfloat16, "left")],
)
@pytest.mark.parametrize("family", EAGER)
def test_eager_weights_are_the_bits_that_the_model_itself_returns(
    family: str, dtype: torch.dtype, pad: str | None, tiny: Callable[..., nn.Module],
    inputs: Callable[..., dict[str, Tensor]],
) -> None:  # fmt: skip
    model, given = tiny(family, "eager", dtype), inputs(family, pad)
    recording, alone, heard = run(model, given)
    own = own_attentions(model, given)
    assert torch.equal(alone, heard)
    assert certified(recording)
    assert {site.route for site in recording.sites} == {"huggingface/eager"}
    for site in recording.sites:
        assert site.bit_exact is True
        theirs = own[site.kind, site.stack][site.layer]
        for batch, head in every_head(site):
            sees_some = site.visible(head, batch=batch).any(dim=-1)
            ours = site.weights(head, batch=batch)
            assert torch.equal(ours[sees_some], theirs[batch, head][sees_some].float())
            assert not ours[~sees_some].any()


def test_float16_is_bit_equal_too(
    tiny: Callable[..., nn.Module], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    for family in ("llama", "bert"):
        model, given = tiny(family, "eager", torch.float16), inputs(family, "left")
        recording, alone, heard = run(model, given)
        assert torch.equal(alone, heard) and certified(recording)
        assert all(site.bit_exact for site in recording.sites)


@pytest.mark.parametrize("family", ["llama", "mistral", "bert"])
def test_sdpa_weights_are_close_to_those_of_an_eager_run(
    family: str, tiny: Callable[..., nn.Module], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    given = inputs(family, "left")
    recording, _, _ = run(tiny(family), given)
    own = own_attentions(tiny(family, "eager"), given)
    for site in recording.sites:
        for batch, head in every_head(site):
            sees_some = site.visible(head, batch=batch).any(dim=-1)
            theirs = own[site.kind, site.stack][site.layer][batch, head]
            off = (site.weights(head, batch=batch) - theirs)[sees_some].abs().max()
            assert off < (2e-5 if site.layer == 0 else 1e-4)  # the other run's q and k drift apart with depth


def test_grouped_heads_keep_their_keys_once(
    tiny: Callable[..., nn.Module], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    for attention in ("sdpa", "eager"):
        for pad in (None, "left"):
            recording, _, _ = run(tiny("llama", attention), inputs("llama", pad))
            site = recording.site(1)
            assert (site.heads, site.key_heads) == (6, 2)
            assert site.q.shape == (2, 6, 37, 8) and site.k.shape == site.v.shape == (2, 2, 37, 8)


def test_a_window_of_seven_lets_seven_keys_be_seen(
    tiny: Callable[..., nn.Module], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    recording, _, _ = run(tiny("mistral"), inputs("mistral"))
    seen = recording.site(0).visible(3)
    assert seen.sum(dim=-1).tolist() == [min(i + 1, 7) for i in range(37)]


def test_softcap_and_sinks_are_read(
    tiny: Callable[..., nn.Module], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    capped, _, _ = run(tiny("gemma2", "eager"), inputs("gemma2"))
    assert capped.site(0).scoring.softcap == 3.0
    sunk, _, _ = run(tiny("gpt-oss", "eager"), inputs("gpt-oss"))
    site = sunk.site(0)
    cell = site.cell(2, 9, 5)
    assert cell.sink is not None and cell.sink > 0 and cell.readds
    row = site.weights(2, 9)
    assert float(row.sum()) == pytest.approx(1 - cell.sink, abs=1e-6)


def test_t5_bias_is_stored_by_distance(
    tiny: Callable[..., nn.Module], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    from attnscope.core.bias import RelativeBias

    for attention in ("sdpa", "eager"):
        recording, _, _ = run(tiny("t5", attention), inputs("t5", "left"))
        for stack in ("encoder", "decoder"):
            assert isinstance(recording.site(1, stack=stack).scoring.bias, RelativeBias)


def test_albert_calls_one_module_again_and_again_and_each_call_is_a_layer(
    tiny: Callable[..., nn.Module], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    recording, _, _ = run(tiny("albert"), inputs("albert"))
    assert [(site.layer, site.order) for site in recording.sites] == [(0, 0), (1, 1)]
    assert len({site.name for site in recording.sites}) == 1


def test_an_encoder_decoder_has_three_kinds_of_site(
    tiny: Callable[..., nn.Module], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    for family in ("t5", "whisper"):
        recording, _, _ = run(tiny(family), inputs(family))
        kinds = [(site.kind, site.stack, site.layer) for site in recording.sites]
        assert sorted(kinds) == sorted(
            (kind, stack, layer)
            for kind, stack in (("self", "encoder"), ("self", "decoder"), ("cross", "decoder"))
            for layer in (0, 1)
        )
        cross = recording.site(1, kind="cross")
        assert cross.tq == 13 and cross.tk != 13 and cross.offset is None


def test_autocast_casts_what_is_compared(
    tiny: Callable[..., nn.Module], inputs: Callable[..., dict[str, Tensor]]
) -> None:
    for family in ("llama", "bert"):
        for attention in ("sdpa", "eager"):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                recording, alone, heard = run(tiny(family, attention), inputs(family, "left"))
            assert torch.equal(alone, heard)
            assert {site.dtype for site in recording.sites} == {torch.bfloat16}
            assert certified(recording)
            assert all(site.bit_exact in (None, True) for site in recording.sites)


@pytest.mark.parametrize("alibi", [False, True])
def test_a_family_that_calls_the_kernel_itself_is_heard_by_the_plain_route(
    alibi: bool, inputs: Callable[..., dict[str, Tensor]]
) -> None:
    import transformers as hf

    sizes: dict[str, Any] = {"vocab_size": 101, "hidden_size": 48, "num_hidden_layers": 2}
    config = hf.FalconConfig(**sizes, num_attention_heads=6, multi_query=not alibi, alibi=alibi)
    model = hf.FalconForCausalLM._from_config(config, attn_implementation="sdpa").eval()
    recording, alone, heard = run(model, inputs("falcon", "left"))
    assert torch.equal(alone, heard) and certified(recording)
    assert [(site.name, site.route) for site in recording.sites] == [
        (f"transformer.h.{i}.self_attention", "sdpa") for i in (0, 1)
    ]
    assert recording.site(0).key_heads == (6 if alibi else 1)
    assert (recording.site(0).scoring.bias is not None) == alibi


class Fetches(nn.Module):
    """One call of transformers' own sdpa function, as a model with grouped heads makes it."""

    num_key_value_groups = 3
    is_causal = True

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        attend = ALL_ATTENTION_FUNCTIONS.get_interface("sdpa", None)
        mixed: Tensor = attend(self, q, k, v, mask, scaling=0.4)[0]
        return mixed


def test_a_decoded_row_packed_by_heads_is_unpacked_with_its_mask() -> None:
    q, k, v = 2 * torch.randn(2, 6, 1, 8), torch.randn(2, 2, 19, 8), torch.randn(2, 2, 19, 8)
    mask = torch.rand(2, 6, 1, 19) < 0.6
    model = Fetches()
    alone = model(q, k, v, mask)
    with record(model) as recording:
        assert torch.equal(model(q, k, v, mask), alone)
    site = recording.sites[0]
    assert (site.heads, site.key_heads, site.tq, site.tk) == (6, 2, 1, 19)
    assert certified(recording)
    for batch, head in every_head(site):
        assert torch.equal(site.visible(head, batch=batch), mask[batch, head])
        scores = 0.4 * k[batch, head // 3] @ q[batch, head, 0]
        expected = torch.softmax(scores.masked_fill(~mask[batch, head, 0], -torch.inf), dim=-1)
        torch.testing.assert_close(site.weights(head, 0, batch=batch)[0], expected, rtol=0, atol=1e-6)
