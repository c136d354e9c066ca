"""Small untrained models of several families, attention far from flat, and plain ones in torch alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

SIZES: dict[str, Any] = {
    "vocab_size": 101, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 6, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None,
}  # fmt: skip
GROUPED: dict[str, Any] = {**SIZES, "num_key_value_heads": 2, "head_dim": 8}
SHARP = ("q_proj", "k_proj", "query", "key", "c_attn", ".q.", ".k.")

Tiny = Callable[..., nn.Module]


def _build(family: str, attention: str) -> nn.Module:
    import transformers as hf

    t5 = {"vocab_size": 101, "d_model": 48, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 6}
    whisper = {
        "vocab_size": 101, "d_model": 48, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 6,
        "decoder_attention_heads": 6, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_mel_bins": 8,
        "max_source_positions": 20, "max_target_positions": 40, "pad_token_id": 0, "bos_token_id": 1,
        "eos_token_id": 2, "decoder_start_token_id": 1, "suppress_tokens": None,
        "begin_suppress_tokens": None,
    }  # fmt: skip
    bart = {
        "vocab_size": 101, "d_model": 48, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 6,
        "decoder_attention_heads": 6, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
        "max_position_embeddings": 64, "forced_eos_token_id": None,
    }  # fmt: skip
    gpt2 = {"vocab_size": 101, "n_embd": 48, "n_layer": 2, "n_head": 6, "bos_token_id": 1, "eos_token_id": 2}
    experts = {"sliding_window": 7, "num_local_experts": 2, "num_experts_per_tok": 1}
    experts_of = {"num_local_experts": 2, "num_experts_per_tok": 1, "intermediate_size_mlp": 64}
    latent = {
        "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6,
        "num_key_value_heads": 6, "first_k_dense_replace": 2,
    }  # fmt: skip
    chunks = {"attention_chunk_size": 8, "no_rope_layers": [1, 0], "use_qk_norm": False}
    families: dict[str, tuple[type, Any]] = {
        "llama": (hf.LlamaForCausalLM, hf.LlamaConfig(**GROUPED)),
        "mistral": (hf.MistralForCausalLM, hf.MistralConfig(**GROUPED, sliding_window=7)),
        "gemma2": (
            hf.Gemma2ForCausalLM,
            hf.Gemma2Config(**GROUPED, sliding_window=7, query_pre_attn_scalar=8, attn_logit_softcapping=3.0),
        ),
        "gemma3": (
            hf.Gemma3ForCausalLM,
            hf.Gemma3TextConfig(
                **GROUPED,
                sliding_window=7,
                query_pre_attn_scalar=8,
                layer_types=["sliding_attention", "full_attention"],
            ),
        ),
        "llama4": (hf.Llama4ForCausalLM, hf.Llama4TextConfig(**GROUPED, **experts_of, **chunks)),
        "gpt-oss": (hf.GptOssForCausalLM, hf.GptOssConfig(**GROUPED, **experts)),
        "deepseek": (hf.DeepseekV3ForCausalLM, hf.DeepseekV3Config(**SIZES, **latent)),
        "gpt2": (hf.GPT2LMHeadModel, hf.GPT2Config(**gpt2)),
        "bart": (hf.BartForConditionalGeneration, hf.BartConfig(**bart)),
        "bert": (hf.BertModel, hf.BertConfig(**SIZES)),
        "albert": (hf.AlbertModel, hf.AlbertConfig(**SIZES, embedding_size=16)),
        "t5": (hf.T5ForConditionalGeneration, hf.T5Config(**t5, decoder_start_token_id=0)),
        "whisper": (hf.WhisperForConditionalGeneration, hf.WhisperConfig(**whisper)),
    }
    kind, config = families[family]
    model: nn.Module = kind._from_config(config, attn_implementation=attention)
    return model


@pytest.fixture
def tiny() -> Tiny:
    """tiny(family, attention="sdpa", dtype=float32): weights drawn anew, heads that attend sharply."""

    def make(family: str, attention: str = "sdpa", dtype: torch.dtype = torch.float32) -> nn.Module:
        torch.manual_seed(11)
        model = _build(family, attention)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if weight.dim() == 2 and any(part in name for part in SHARP):
                    weight.mul_(8)
                if "sinks" in name:
                    weight.normal_()
        return model.to(dtype).eval()

    return make


@pytest.fixture
def inputs() -> Callable[..., dict[str, Tensor]]:
    """inputs(family, pad=None | "left" | "right", t=37): two texts of unequal length, as the model's
    keyword arguments.
    """

    def make(family: str, pad: str | None = None, t: int = 37) -> dict[str, Tensor]:
        own = torch.Generator().manual_seed(5)
        ids = torch.randint(3, 100, (2, t), generator=own)
        if family == "whisper":
            return {"input_features": torch.randn(2, 8, 40, generator=own), "decoder_input_ids": ids[:, :13]}
        given = {"input_ids": ids}
        if pad is not None:
            mask = torch.ones(2, t, dtype=torch.long)
            mask[1, slice(0, 7) if pad == "left" else slice(t - 7, t)] = 0
            given["attention_mask"] = mask
        if family in ("t5", "bart"):
            given["decoder_input_ids"] = ids[:, :13]
        return given

    return make


class Block(nn.Module):
    """Attention by F.scaled_dot_product_attention, as much code in the world has it."""

    def __init__(self, width: int, heads: int, *, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        with torch.no_grad():
            self.qkv.weight[: 2 * width].mul_(4)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        b, t, width = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=self.causal and mask is None, dropout_p=0.0
        )
        return x + self.proj(mixed.transpose(1, 2).reshape(b, t, width))


class Plain(nn.Module):
    """A stack of blocks."""

    def __init__(self, layers: int = 2, width: int = 40, heads: int = 5, *, causal: bool = True) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, heads, causal=causal) for _ in range(layers))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        for block in self.blocks:
            x = block(x, mask)
        return x


@pytest.fixture
def plain() -> Callable[..., Plain]:
    """plain(layers=2, width=40, heads=5, causal=True)."""

    def make(**options: Any) -> Plain:
        torch.manual_seed(7)
        return Plain(**options).eval()

    return make
