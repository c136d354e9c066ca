"""Tiny models of many families, as the names and options of their config classes."""

from __future__ import annotations

from typing import Any

T = 24
"""Tokens of a text in the zoo; the second text of a batch has PADDED fewer."""

PADDED = 5
FRAMES, PATCHES = 20, 17
"""Places of audio, and of an image: 4 x 4 patches and one more."""

SIZES: dict[str, Any] = {
    "vocab_size": 101, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 6, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "max_position_embeddings": 64,
}  # fmt: skip
GROUPED: dict[str, Any] = {**SIZES, "num_key_value_heads": 2, "head_dim": 8}
SQUARE: dict[str, Any] = {name: x for name, x in GROUPED.items() if name != "head_dim"}
GPT: dict[str, Any] = {
    "vocab_size": 101, "n_embd": 48, "n_layer": 2, "n_head": 6, "n_positions": 64,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
TWO: dict[str, Any] = {
    "vocab_size": 101, "d_model": 48, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 6,
    "decoder_attention_heads": 6, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "max_position_embeddings": 64,
    "forced_eos_token_id": None,
}  # fmt: skip
EYE: dict[str, Any] = {
    "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 6,
    "image_size": 32, "patch_size": 8,
}  # fmt: skip
LATENT: dict[str, Any] = {
    "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6,
    "num_key_value_heads": 6, "first_k_dense_replace": 1, "n_routed_experts": 4, "n_group": 2,
    "topk_group": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
}  # fmt: skip
DELTA: dict[str, Any] = {
    "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2,
    "linear_num_value_heads": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32, "layer_types": ["linear_attention", "full_attention"],
}  # fmt: skip
WHISPER: dict[str, Any] = {
    **{name: x for name, x in TWO.items() if name not in ("max_position_embeddings", "forced_eos_token_id")},
    "num_mel_bins": 8, "max_source_positions": FRAMES, "max_target_positions": 64, "suppress_tokens": None,
    "begin_suppress_tokens": None,
}  # fmt: skip
TEXT_EYE = {
    "text_config": {**SIZES, "max_position_embeddings": 32},
    "vision_config": EYE,
}

CONFIGS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "GPT-2": ("GPT2LMHeadModel", "GPT2Config", GPT),
    "GPT-NeoX": ("GPTNeoXForCausalLM", "GPTNeoXConfig", SIZES),
    "GPT-J": ("GPTJForCausalLM", "GPTJConfig", {**GPT, "rotary_dim": 4}),
    "Llama": ("LlamaForCausalLM", "LlamaConfig", GROUPED),
    "Llama4": (
        "Llama4ForCausalLM", "Llama4TextConfig",
        {**GROUPED, "intermediate_size_mlp": 64, "attention_chunk_size": 8, "no_rope_layers": [1, 0],
         "num_local_experts": 2, "num_experts_per_tok": 1, "use_qk_norm": False},
    ),
    "Mistral": ("MistralForCausalLM", "MistralConfig", {**GROUPED, "sliding_window": 7}),
    "Mixtral": (
        "MixtralForCausalLM", "MixtralConfig",
        {**GROUPED, "sliding_window": None, "num_local_experts": 2, "num_experts_per_tok": 1},
    ),
    "Qwen2": ("Qwen2ForCausalLM", "Qwen2Config", SQUARE),
    "Qwen3": ("Qwen3ForCausalLM", "Qwen3Config", GROUPED),
    "Gemma": ("GemmaForCausalLM", "GemmaConfig", GROUPED),
    "Gemma2": (
        "Gemma2ForCausalLM", "Gemma2Config",
        {**GROUPED, "sliding_window": 7, "query_pre_attn_scalar": 8, "attn_logit_softcapping": 12.0},
    ),
    "Gemma3": (
        "Gemma3ForCausalLM", "Gemma3TextConfig",
        {**GROUPED, "sliding_window": 7, "query_pre_attn_scalar": 8,
         "layer_types": ["sliding_attention", "full_attention"]},
    ),
    "Phi3": ("Phi3ForCausalLM", "Phi3Config", SQUARE),
    "OLMo2": ("Olmo2ForCausalLM", "Olmo2Config", SQUARE),
    "Cohere": ("CohereForCausalLM", "CohereConfig", SQUARE),
    "StableLM": ("StableLmForCausalLM", "StableLmConfig", SQUARE),
    "Falcon": ("FalconForCausalLM", "FalconConfig", {**SIZES, "multi_query": True, "alibi": False}),
    "Falcon, ALiBi": ("FalconForCausalLM", "FalconConfig", {**SIZES, "multi_query": False, "alibi": True}),
    "Bloom": ("BloomForCausalLM", "BloomConfig", {**GPT, "hidden_size": 48}),
    "MPT": ("MptForCausalLM", "MptConfig", {"vocab_size": 101, "d_model": 48, "n_layers": 2, "n_heads": 6,
                                            "max_seq_len": 64, "expansion_ratio": 2, "use_cache": True}),
    "gpt-oss": (
        "GptOssForCausalLM", "GptOssConfig",
        {**GROUPED, "sliding_window": 7, "num_local_experts": 2, "num_experts_per_tok": 1},
    ),
    "DeepSeek-V3": ("DeepseekV3ForCausalLM", "DeepseekV3Config", {**SIZES, **LATENT}),
    "BERT": ("BertModel", "BertConfig", SIZES),
    "RoBERTa": ("RobertaModel", "RobertaConfig", SIZES),
    "DistilBERT": (
        "DistilBertModel", "DistilBertConfig",
        {"vocab_size": 101, "dim": 48, "hidden_dim": 64, "n_layers": 2, "n_heads": 6, "pad_token_id": 0},
    ),
    "ALBERT": ("AlbertModel", "AlbertConfig", {**SIZES, "embedding_size": 16}),
    "ELECTRA": ("ElectraModel", "ElectraConfig", {**SIZES, "embedding_size": 16}),
    "ModernBERT": (
        "ModernBertModel", "ModernBertConfig",
        {**SIZES, "cls_token_id": 1, "sep_token_id": 2, "local_attention": 8,
         "layer_types": ["full_attention", "sliding_attention"]},
    ),
    "DeBERTa-v2": (
        "DebertaV2Model", "DebertaV2Config",
        {**SIZES, "relative_attention": True, "position_buckets": 8, "pos_att_type": ["p2c", "c2p"]},
    ),
    "T5": (
        "T5ForConditionalGeneration", "T5Config",
        {"vocab_size": 101, "d_model": 48, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 6,
         "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 2},
    ),
    "BART": ("BartForConditionalGeneration", "BartConfig", TWO),
    "Marian": ("MarianMTModel", "MarianConfig", TWO),
    "Whisper": ("WhisperForConditionalGeneration", "WhisperConfig", WHISPER),
    "ViT": ("ViTModel", "ViTConfig", EYE),
    "DINOv2": ("Dinov2Model", "Dinov2Config", {**EYE, "mlp_ratio": 2}),
    "CLIP": ("CLIPModel", "CLIPConfig", {**TEXT_EYE, "projection_dim": 16}),
    "SigLIP": ("SiglipModel", "SiglipConfig", TEXT_EYE),
    "Longformer": ("LongformerModel", "LongformerConfig", {**SIZES, "attention_window": 8}),
    "Qwen3-Next": ("Qwen3NextForCausalLM", "Qwen3NextConfig", {**GROUPED, **DELTA}),
    "Jamba": (
        "JambaForCausalLM", "JambaConfig",
        {**SQUARE, "attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False,
         "num_experts": 2, "num_experts_per_tok": 1, "mamba_d_state": 4, "mamba_d_conv": 2},
    ),
    "Mamba": (
        "MambaForCausalLM", "MambaConfig",
        {"vocab_size": 101, "hidden_size": 48, "num_hidden_layers": 2, "state_size": 4, "pad_token_id": 0},
    ),
}  # fmt: skip
