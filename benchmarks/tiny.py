"""Tiny untrained models of several families, attention far from flat, each recorded once by the listener."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from attnscope.listen import record
from attnscope.recording import Recording

SIZES: dict[str, Any] = {
    "vocab_size": 101, "hidden_size": 96, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 6, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None,
    "max_position_embeddings": 2048,
}  # fmt: skip
GROUPED: dict[str, Any] = {**SIZES, "num_key_value_heads": 2, "head_dim": 16}
CAPPED = {"sliding_window": 7, "query_pre_attn_scalar": 16, "attn_logit_softcapping": 6.0}
EXPERTS = {"sliding_window": 7, "num_local_experts": 2, "num_experts_per_tok": 1}
GPT = {"vocab_size": 101, "n_embd": 96, "n_layer": 2, "n_head": 6, "n_positions": 2048}
T5 = {"vocab_size": 101, "d_model": 96, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 6}
BOTH, EAGER = ("sdpa", "eager"), ("eager",)

FAMILIES: dict[str, tuple[str, str, dict[str, Any], tuple[str, ...]]] = {
    "GPT-2": ("GPT2LMHeadModel", "GPT2Config", GPT, BOTH),
    "GPT-NeoX": ("GPTNeoXForCausalLM", "GPTNeoXConfig", SIZES, BOTH),
    "Llama": ("LlamaForCausalLM", "LlamaConfig", GROUPED, BOTH),
    "Mistral": ("MistralForCausalLM", "MistralConfig", {**GROUPED, "sliding_window": 7}, BOTH),
    "Qwen3": ("Qwen3ForCausalLM", "Qwen3Config", GROUPED, BOTH),
    "Gemma2": ("Gemma2ForCausalLM", "Gemma2Config", {**GROUPED, **CAPPED}, EAGER),
    "gpt-oss": ("GptOssForCausalLM", "GptOssConfig", {**GROUPED, **EXPERTS}, EAGER),
    "BERT": ("BertModel", "BertConfig", SIZES, BOTH),
    "T5": ("T5ForConditionalGeneration", "T5Config", {**T5, "decoder_start_token_id": 0}, BOTH),
}  # fmt: skip
"""By family: the model's class, its config's class, its options, and the attentions it has."""

SHARP = ("q_proj", "k_proj", "query", "c_attn", ".q.", ".k.", "key.", "q_norm", "k_norm", "query_key_value")
SHARPNESS = {"T5": 2.5, "Qwen3": 2.5, "BERT": 9}
"""By how much q and k are multiplied, where it is not 7: the largest score is to pass 5, and a weight .3."""

PADDED = 9


@dataclass(frozen=True, eq=False)
class Run:
    """One family's forward over two texts."""

    family: str
    attention: str
    dtype: torch.dtype
    recording: Recording


def build(family: str, attention: str, dtype: torch.dtype, *, seed: int = 11, **options: Any) -> nn.Module:
    """The model, with q and k so large that its heads attend sharply; sinks and biases drawn at random."""
    import transformers as hf

    kind, config, sizes, _ = FAMILIES[family]
    torch.manual_seed(seed)
    model: nn.Module = getattr(hf, kind)._from_config(
        getattr(hf, config)(**sizes, **options), attn_implementation=attention
    )
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if any(part in name for part in SHARP) and (weight.dim() == 2 or "norm" in name):
                weight.mul_(2.5 if "norm" in name else SHARPNESS.get(family, 7))
            if "sinks" in name or "relative_attention_bias" in name:
                weight.normal_()
    return model.to(dtype).eval()


def runs(
    dtype: torch.dtype,
    *,
    lengths: tuple[int, ...],
    families: tuple[str, ...] = tuple(FAMILIES),
    padded: bool = False,
    seed: int = 11,
) -> Iterator[Run]:
    """Each family, by each of its attentions, over texts of these lengths."""
    for family in families:
        if dtype == torch.float64 and family == "gpt-oss":
            continue  # torch has no grouped product of experts in float64
        for attention in FAMILIES[family][3]:
            model = build(family, attention, dtype, seed=seed)
            for length in lengths:
                recording = recorded(model, length, padded=padded, seed=seed)
                yield Run(family, attention, dtype, recording)


def recorded(model: nn.Module, length: int, *, padded: bool = False, seed: int = 11) -> Recording:
    """A forward over two random texts, recorded with everything kept.

    padded: the second is shorter by PADDED, on the left where the model writes on, else on the right.
    """
    own = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, 100, (2, length), generator=own)
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    pair = model.config.is_encoder_decoder  # type: ignore[union-attr]
    if padded:
        writes = "Head" in type(model).__name__ or "CausalLM" in type(model).__name__
        given["attention_mask"][1, slice(0, PADDED) if writes else slice(length - PADDED, length)] = 0
    if pair:
        given["decoder_input_ids"] = ids[:, : max(length // 2, 1)]
    with torch.no_grad(), record(model, keep="all") as recording:
        model(**given)
    return recording
