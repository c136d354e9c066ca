"""What attention functions of transformers may be handed besides one mask of four axes and one number."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnscope.errors import NothingRecorded
from attnscope.listen import record
from attnscope.recording import Recording

B, H, T, D = 2, 6, 11, 8


def eager(
    module: nn.Module, q: Tensor, k: Tensor, v: Tensor, attention_mask: Any, scaling: Any = None,
    position_bias: Tensor | None = None, **_: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """As a family writes it: all it is handed is added to the scores."""
    scores = q @ k.mT * (D**-0.5 if scaling is None else scaling)
    scores = scores if position_bias is None else scores + position_bias
    masks = attention_mask if isinstance(attention_mask, tuple) else (attention_mask,)
    for mask in masks:
        hidden = mask is not None and mask.dtype == torch.bool
        scores = (
            scores if mask is None else scores.masked_fill(~mask, -torch.inf) if hidden else scores + mask
        )
    weights = scores.softmax(-1)
    return (weights @ v).transpose(1, 2), weights


class Fetches(nn.Module):
    """One call through transformers' registry."""

    def forward(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        return ALL_ATTENTION_FUNCTIONS.get_interface("eager", eager)(self, *args, **kwargs)  # type: ignore[no-any-return]


def heard(*args: Any, **kwargs: Any) -> tuple[Recording, Tensor]:
    model = Fetches()
    out, weights = model(*args, **kwargs)
    with record(model, keep="all") as recording:
        assert torch.equal(model(*args, **kwargs)[0], out)
    return recording, weights


def qkv(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = (torch.randn(B, H, T, D, dtype=dtype) for _ in range(3))
    return 3 * q, k, v


def check(recording: Recording, weights: Tensor, atol: float = 1e-6) -> None:
    (site,) = recording.sites
    assert {word for row in site.certificate.verdict for word in row} == {"passed"}  # type: ignore[union-attr]
    for b in range(B):
        for h in range(H):
            torch.testing.assert_close(
                site.weights(h, batch=b).to(weights.dtype), weights[b, h], rtol=0, atol=atol
            )


def test_two_biases_of_a_double_model_are_added_in_double() -> None:
    bias, more = torch.randn(1, H, T, T).double() + 1000, torch.randn(B, 1, T, T).double()
    recording, weights = heard(*qkv(torch.float64), more, position_bias=bias)
    check(recording, weights, atol=1e-12)


SEEN = torch.ones(T, T, dtype=torch.bool).tril()
MASKS: dict[str, Tensor] = {
    "booleans of two axes": SEEN,
    "booleans of three axes": SEEN.expand(H, T, T),
    "numbers of two axes": torch.where(SEEN, 0.0, torch.finfo(torch.float32).min),
    "one row of keys": torch.arange(T) < 7,
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_of_fewer_axes_are_read_as_they_broadcast(name: str) -> None:
    recording, weights = heard(*qkv(), MASKS[name])
    check(recording, weights)
    assert torch.equal(recording.sites[0].visible(2, batch=1), weights[1, 2] > 0)


def test_a_scale_that_is_a_tensor_of_one_number_is_that_number() -> None:
    check(*heard(*qkv(), SEEN, scaling=torch.tensor([[0.7]])))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "two masks": ({"attention_mask": (SEEN, SEEN)}, "it was handed 2 masks as a tuple, not one"),
    "a scale for each head": (
        {"attention_mask": None, "scaling": torch.rand(H, 1, 1)},
        r"its scaling is \(6, 1, 1\), and one number was looked for",
    ),
    "five axes": (
        {"attention_mask": SEEN.view(1, 1, 1, T, T)},
        r"its weights are \(1, 2, 6, 11, 11\) for queries",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_reading_is_refused_in_words(name: str) -> None:
    given, reason = REFUSED[name]
    model, tensors = Fetches(), qkv()
    with pytest.raises(NothingRecorded, match=reason), record(model):
        model(*tensors, **given)


def picture(family: str) -> tuple[Any, dict[str, Tensor], Tensor]:
    """A model with pictures, its inputs, and which tokens are of the picture or of the prefix."""
    import transformers as hf

    text: dict[str, Any] = {
        "vocab_size": 101, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8,
    }  # fmt: skip
    vision: dict[str, Any] = {
        "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
        "image_size": 8, "patch_size": 4,
    }  # fmt: skip
    ids = torch.randint(3, 99, (1, 14), generator=torch.Generator().manual_seed(5))
    ids[:, 2:6] = 100
    given = {"input_ids": ids, "pixel_values": torch.randn(1, 3, 8, 8), "token_type_ids": (ids == 100).long()}
    if family == "gemma3":
        config: Any = hf.Gemma3Config(
            text_config={**text, "sliding_window": 7, "query_pre_attn_scalar": 8,
                         "layer_types": ["sliding_attention", "full_attention"]},
            vision_config=vision, mm_tokens_per_image=4, image_token_id=100, image_token_index=100,
        )  # fmt: skip
        model: Any = hf.Gemma3ForConditionalGeneration._from_config(config, attn_implementation="eager")
        return model, given, ids[0] == 100
    config = hf.PaliGemmaConfig(
        text_config={**text, "model_type": "gemma"}, vision_config={**vision, "projection_dim": 48,
        "model_type": "siglip_vision_model"}, image_token_id=100, image_token_index=100, projection_dim=48,
        hidden_size=48,
    )  # fmt: skip
    model = hf.PaliGemmaForConditionalGeneration._from_config(config, attn_implementation="eager")
    prefix = torch.arange(14) < 9
    return model, {**given, "token_type_ids": (~prefix).long()[None]}, prefix


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", ["gemma3", "paligemma"])
def test_tokens_of_a_picture_or_a_prefix_see_each_other(family: str, attention: str) -> None:
    model, given, together = picture(family)
    model.eval()
    with torch.no_grad():
        grids = model(**given, output_attentions=True).attentions
        model.set_attn_implementation(attention)
        alone = model(**given).logits
        with record(model) as recording:
            assert torch.equal(model(**given).logits, alone)
    i, j = torch.arange(14)[:, None], torch.arange(14)
    sites = [site for site in recording.sites if "vision" not in site.name]
    assert len(sites) == 2
    both = together[:, None] & together
    for site, grid in zip(sites, grids, strict=True):
        assert {word for row in site.certificate.verdict for word in row} == {"passed"}
        near = (i - j < 7) if family == "gemma3" and site is sites[0] else torch.ones_like(both)
        for head in range(6):
            assert torch.equal(site.visible(head), grid[0, head] > 0)
            torch.testing.assert_close(site.weights(head), grid[0, head], rtol=0, atol=1e-5)
        assert torch.equal(site.visible(0) & near, ((j <= i) | both) & near)
        assert site.visible(0)[2, 5]  # ahead, and seen
