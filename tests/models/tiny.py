"""Tiny models with real tokenisers, written as Hugging Face folders: no weight of them means anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BloomConfig,
    BloomForCausalLM,
    CLIPConfig,
    CLIPModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTModel,
    WhisperConfig,
    WhisperForConditionalGeneration,
)

WORDS = [
    "the cat sat on the mat and the light broke through the window",
    "what light is it now",
    "lighter, light",
]
CONTEXT = 48


def byte_level(texts: Sequence[str] = WORDS * 3, pieces: int = 330, **kwargs: Any) -> PreTrainedTokenizerFast:
    """Spells as GPT-2, Llama 3 and SmolLM2 do, in so many pieces taken from these texts."""
    built = Tokenizer(models.BPE())
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=pieces, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False
    )
    built.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=built, eos_token="<|endoftext|>", **kwargs)


def word_piece() -> PreTrainedTokenizerFast:
    """Spells as BERT does: lower case, "##" inside a word, [CLS] and [SEP] round the text."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*names, *"abcdefghijklmnopqrstuvwxyz,.!?", "the", "cat", "light", "##er", "##s", "##ing", "sat"]
    built = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    built.normalizer = normalizers.BertNormalizer(lowercase=True)
    built.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    built.decoder = decoders.WordPiece()
    built.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=built,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def sentence_piece() -> PreTrainedTokenizerFast:
    """Spells as Llama 2 does: "▁" for a space, one put before the text, "<0xE2>" for a byte, <s> first."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    pieces += ["▁", *"abcdefghijklmnopqrstuvwxyz,", "▁t", "▁th", "▁the", "▁c", "▁ca", "▁cat"]
    merges = [("▁", "t"), ("▁t", "h"), ("▁th", "e"), ("▁", "c"), ("▁c", "a"), ("▁ca", "t")]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    built = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    built.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    built.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    built.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=built, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def written(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> Path:
    """The folder, with a model and its tokenizer in it."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def llama_folder(
    folder: Path, tokenizer: PreTrainedTokenizerFast | None = None, *, context: int = CONTEXT
) -> Path:
    """Write a causal model: 2 layers, 4 query heads on 2 key heads, byte-level by default."""
    tokenizer = byte_level() if tokenizer is None else tokenizer
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.4,
        bos_token_id=None,
        eos_token_id=0,
    )
    return written(folder, LlamaForCausalLM(config), tokenizer)


def bloom_folder(folder: Path) -> Path:
    """Write a causal model that computes attention in code of its own: 2 layers of 4 heads."""
    tokenizer = byte_level()
    torch.manual_seed(4)
    config = BloomConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        n_layer=2,
        n_head=4,
        initializer_range=0.4,
        bos_token_id=None,
        eos_token_id=0,
    )
    return written(folder, BloomForCausalLM(config), tokenizer)


def bert_folder(folder: Path) -> Path:
    """Write a bidirectional model: 2 layers of 2 heads, WordPiece."""
    tokenizer = word_piece()
    torch.manual_seed(2)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=32,
        initializer_range=0.4,
    )
    return written(folder, BertForMaskedLM(config), tokenizer)


def t5_folder(folder: Path) -> Path:
    """Write an encoder and decoder: 2 layers of 2 heads each, with T5's position bias."""
    tokenizer = sentence_piece()
    torch.manual_seed(3)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=24,
        num_layers=2,
        num_heads=2,
        initializer_factor=1.0,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=2,
    )
    return written(folder, T5ForConditionalGeneration(config), tokenizer)


def vit_folder(folder: Path) -> Path:
    """Write a model that reads a picture, with a tokeniser that means nothing to it."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    return written(folder, ViTModel(ViTConfig(**sizes, image_size=32, patch_size=16)), byte_level())


def clip_folder(folder: Path) -> Path:
    """Write a model that reads a text and a picture, both at once."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    text = {**sizes, "vocab_size": 330, "max_position_embeddings": 16}
    seen = {**sizes, "image_size": 32, "patch_size": 16}
    return written(folder, CLIPModel(CLIPConfig(text_config=text, vision_config=seen)), byte_level())


def whisper_folder(folder: Path) -> Path:
    """Write a model that reads sound."""
    sizes = {f"{side}_{what}": 2 for side in ("encoder", "decoder") for what in ("attention_heads", "layers")}
    more = {"encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "d_model": 16, "num_mel_bins": 8, "vocab_size": 330}
    special = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0, "decoder_start_token_id": 0}
    config = WhisperConfig(**sizes, **more, **special, max_source_positions=8, max_target_positions=8)
    return written(folder, WhisperForConditionalGeneration(config), byte_level())
