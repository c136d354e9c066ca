"""Models that compute attention in their own code: a certified summary of their own grid, and no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnscope.errors import NotKept
from attnscope.listen import record
from attnscope.recording import Recording, Site, load

SIZES: dict[str, Any] = {
    "vocab_size": 101, "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 6,
    "intermediate_size": 64,
}  # fmt: skip
SHARP = ("query", "key", "q_proj", "k_proj", "Wqkv", "rel_attn.q", "rel_attn.k", "in_proj")


def build(family: str) -> nn.Module:
    import transformers as hf

    disentangled = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
    local = {"attention_types": [[["global", "local"], 1]], "window_size": 7, "max_position_embeddings": 64}
    special = {"bos_token_id": 1, "eos_token_id": 2}
    made: dict[str, tuple[type, Any]] = {
        "bloom": (hf.BloomForCausalLM, hf.BloomConfig(vocab_size=101, hidden_size=48, n_layer=2, n_head=6)),
        "mpt": (
            hf.MptForCausalLM,
            hf.MptConfig(d_model=48, n_heads=6, n_layers=2, vocab_size=101, max_seq_len=64),
        ),
        "deberta": (hf.DebertaModel, hf.DebertaConfig(**SIZES, **disentangled)),
        "deberta-v2": (hf.DebertaV2Model, hf.DebertaV2Config(**SIZES, **disentangled)),
        "gpt-neo": (
            hf.GPTNeoForCausalLM,
            hf.GPTNeoConfig(vocab_size=101, hidden_size=48, num_layers=2, num_heads=6, **local, **special),
        ),
        "xlnet": (hf.XLNetModel, hf.XLNetConfig(vocab_size=101, d_model=48, n_layer=2, n_head=6, d_inner=64)),
        "roformer": (hf.RoFormerModel, hf.RoFormerConfig(**SIZES, embedding_size=48)),
        "falcon": (
            hf.FalconForCausalLM,
            hf.FalconConfig(
                **{k: v for k, v in SIZES.items() if k != "intermediate_size"}, alibi=True, **special
            ),
        ),
    }
    kind, config = made[family]
    config._attn_implementation = "eager"
    return kind(config)


@pytest.fixture
def own_code() -> Callable[..., nn.Module]:
    """own_code(family, dtype=float32): a model of a family that computes attention itself, sharply."""

    def make(family: str, dtype: torch.dtype = torch.float32) -> nn.Module:
        torch.manual_seed(11)
        model = build(family)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if weight.dim() > 1 and any(part in name for part in SHARP):
                    weight.mul_(12)
        return model.to(dtype).eval()

    return make


def given(pad: bool = True, t: int = 29) -> dict[str, Tensor]:
    ids = torch.randint(3, 100, (2, t), generator=torch.Generator().manual_seed(5))
    mask = torch.ones_like(ids)
    mask[1, :6] = 0
    return {"input_ids": ids, "attention_mask": mask} if pad else {"input_ids": ids}


def verdicts(site: Site) -> set[str]:
    assert site.certificate is not None
    return {word for row in site.certificate.verdict for word in row}


FAMILIES = ("bloom", "mpt", "deberta", "deberta-v2", "gpt-neo", "xlnet", "roformer", "falcon")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_summary_is_that_of_the_grid_which_the_model_itself_made(
    family: str, own_code: Callable[..., nn.Module]
) -> None:
    model: Any = own_code(family)
    with torch.no_grad():
        shown = model(**given(), output_attentions=True)
        alone = model(**given())[0]
        with record(model) as recording:
            heard = model(**given())[0]
    assert torch.equal(alone, heard)
    assert [(site.layer, site.route, site.keep, site.d) for site in recording.sites] == [
        (layer, "softmax", "summary", None) for layer in (0, 1)
    ]
    assert recording.missing == []
    largest = 0.0
    for site, grid in zip(recording.sites, shown["attentions"], strict=True):
        assert (site.batch, site.heads, site.tq, site.tk) == tuple(grid.shape)
        assert verdicts(site) == {"passed"}
        seen = torch.stack([torch.stack([site.visible(h, batch=b) for h in range(6)]) for b in (0, 1)])
        some = seen.any(dim=-1, keepdim=True)
        model_grid = grid.masked_fill(~some, 0).double()
        assert float(model_grid.masked_fill(seen, 0).abs().max()) == 0.0  # what is hidden weighs nothing
        for b in (0, 1):
            summary = site.summary(b)
            assert torch.equal(summary.empty_rows[0], (~some[b, ..., 0]).sum(dim=-1))
            close(summary.received[0], model_grid[b].sum(dim=-2))
            close(summary.largest[0], model_grid[b].amax(dim=-1))
            close(summary.entropy[0], -torch.special.xlogy(model_grid[b], model_grid[b]).sum(dim=-1))
            assert summary.block == 1 and summary.block_max is not None
            close(summary.block_max[0], model_grid[b])
        largest = max(largest, float(model_grid.max()))
    assert largest > 0.3  # a flat model would hide faults


def close(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours.double(), theirs.double(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", ["bloom", "mpt", "gpt-neo"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_in_16_bits_the_outputs_are_the_same_and_the_certificate_passes(
    family: str, dtype: torch.dtype, own_code: Callable[..., nn.Module]
) -> None:
    model = own_code(family, dtype)
    with torch.no_grad():
        alone = model(**given())[0]
        with record(model) as recording:
            heard = model(**given())[0]
    assert torch.equal(alone.view(torch.int16), heard.view(torch.int16))
    for site in recording.sites:
        assert verdicts(site) == {"passed"} and site.dtype == dtype
        assert not bool(site.visible(0).triu(1).any()) and not bool(site.visible(0, batch=1)[:, :6].any())


def test_the_steps_of_generate_are_one_grid_with_the_keys_of_the_cache(
    own_code: Callable[..., nn.Module],
) -> None:
    model: Any = own_code("bloom")
    wanted = {"max_new_tokens": 3, "do_sample": False, "pad_token_id": 0}
    alone = model.generate(**given(), **wanted)
    with record(model) as recording:
        heard = model.generate(**given(), **wanted)
    assert torch.equal(alone, heard)
    steps = [(site.tq, site.tk, site.offset) for run in recording.runs for site in run.sites]
    assert steps == [(31, 31, 0)] * len(recording.sites)
    assert all(verdicts(site) == {"passed"} for run in recording.runs for site in run.sites)


def test_heads_and_layers_are_kept_as_asked(own_code: Callable[..., nn.Module]) -> None:
    model = own_code("bloom")
    with torch.no_grad(), record(model) as whole:
        model(**given())
    with torch.no_grad(), record(model, layers=[1], heads=[4, 2]) as part:
        model(**given())
    (site,) = part.sites
    assert site.kept == (2, 4) and site.heads == 6
    for name in ("entropy", "received", "top_keys", "block_max"):
        both = getattr(whole.site(1).summary(1), name)
        assert torch.equal(getattr(site.summary(1), name), both[:, [2, 4]])
    assert site.certificate is not None and site.certificate.z.shape == (2, 2)
    assert torch.equal(site.visible(4, batch=1), whole.site(1).visible(4, batch=1))


def test_what_is_not_kept_is_refused_in_words_and_the_rest_comes_back_from_disk(
    own_code: Callable[..., nn.Module], tmp_path: Any
) -> None:
    model = own_code("bloom")
    with torch.no_grad(), record(model, path=tmp_path / "look") as recording:
        model(**given())
    for site in (recording.site(1), load(tmp_path / "look", verify=True).site(1)):
        message = "has no q and no single weights: the model's own code made the grid of them, and only its"
        with pytest.raises(NotKept, match=message):
            site.weights(0)
        with pytest.raises(NotKept, match="summary\\(\\), normaliser, visible\\(\\) or certificate"):
            site.cell(0, 5, 5)
        assert site.d is None and verdicts(site) == {"passed"}
        assert torch.equal(site.summary(1).received, recording.site(1).summary(1).received)
        assert torch.equal(site.visible(3, batch=1), recording.site(1).visible(3, batch=1))
        assert torch.equal(site.normaliser.peak, recording.site(1).normaliser.peak)


def test_a_model_that_goes_through_the_registry_is_not_tapped_as_well() -> None:
    import transformers as hf

    for attention in ("eager", "sdpa"):
        config = hf.LlamaConfig(**SIZES, num_key_value_heads=2)
        model = hf.LlamaForCausalLM._from_config(config, attn_implementation=attention).eval()
        with torch.no_grad(), record(model) as recording:
            model(**given())
        assert [site.route for site in recording.sites] == [f"huggingface/{attention}"] * 2


def test_attention_dropout_is_not_certifiable(own_code: Callable[..., nn.Module]) -> None:
    for family, dropout in (("roformer", 0.1), ("gpt-neo", 0.25)):
        model = own_code(family)
        for part in model.modules():
            if isinstance(part, nn.Dropout) and "attn" not in family:
                part.p = dropout
        model.train()
        outputs = []
        for listening in (False, True):
            torch.manual_seed(4)
            outputs.append(run(model, listening)[0])
        assert torch.equal(outputs[0], outputs[1])
        recording = run(model, True)[1]
        assert recording is not None
        for site in recording.sites:
            assert verdicts(site) == {"not certifiable"} and site.certificate is not None
            assert f"dropout {dropout}" in str(site.certificate.reason[0][0])


def run(model: nn.Module, listening: bool) -> tuple[Tensor, Recording | None]:
    with torch.no_grad():
        if not listening:
            return model(**given())[0], None
        with record(model) as recording:
            return model(**given())[0], recording


@pytest.mark.parametrize("family", ["longformer", "big-bird", "nystromformer"])
def test_private_layouts_are_not_shown(family: str) -> None:
    import transformers as hf

    made: dict[str, tuple[type, Any, int]] = {
        "longformer": (
            hf.LongformerModel,
            hf.LongformerConfig(**SIZES, attention_window=[8, 8], max_position_embeddings=130),
            24,
        ),
        "big-bird": (hf.BigBirdModel, hf.BigBirdConfig(**SIZES, block_size=8, num_random_blocks=1), 128),
        "nystromformer": (
            hf.NystromformerModel,
            hf.NystromformerConfig(**SIZES, num_landmarks=6, segment_means_seq_len=24),
            24,
        ),
    }
    from attnscope.errors import NothingRecorded

    kind, config, t = made[family]
    model = kind(config).eval()
    ids = torch.randint(3, 100, (6, t), generator=torch.Generator().manual_seed(5))
    with torch.no_grad(), pytest.raises(NothingRecorded, match="in a layout of its own"), record(model):
        model(input_ids=ids)
