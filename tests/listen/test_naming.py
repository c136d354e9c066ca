"""self or cross, by the names that models give their modules: the nearest word decides."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnscope.listen import record
from attnscope.listen.naming import is_cross

SPELLINGS = [
    # family, the module's name, its class, cross
    ("BART", "model.decoder.layers.0.encoder_attn", "BartAttention", True),
    ("BART", "model.decoder.layers.0.self_attn", "BartAttention", False),
    ("BART", "model.encoder.layers.11.self_attn", "BartAttention", False),
    ("Marian", "model.decoder.layers.5.encoder_attn", "MarianAttention", True),
    ("Whisper", "model.decoder.layers.3.encoder_attn", "WhisperAttention", True),
    ("Whisper", "model.encoder.layers.3.self_attn", "WhisperAttention", False),
    ("T5", "decoder.block.1.layer.1.EncDecAttention", "T5Attention", True),
    ("T5", "decoder.block.1.layer.0.SelfAttention", "T5Attention", False),
    ("LongT5", "encoder.block.1.layer.0.LocalSelfAttention", "LongT5LocalAttention", False),
    ("Switch", "decoder.block.3.layer.1.EncDecAttention", "SwitchTransformersAttention", True),
    ("UDOP", "decoder.block.0.layer.1.EncDecAttention", "UdopAttention", True),
    ("Pix2Struct", "decoder.layer.0.encoder_decoder_attention.attention", "Pix2StructTextAttention", True),
    ("Pix2Struct", "decoder.layer.0.self_attention.attention", "Pix2StructTextAttention", False),
    ("ProphetNet", "decoder.layers.0.cross_attn", "ProphetNetAttention", True),
    ("ProphetNet", "decoder.layers.0.self_attn", "ProphetNetNgramSelfAttention", False),
    ("NLLB-MoE", "decoder.layers.0.cross_attention", "NllbMoeAttention", True),
    ("BERT 5", "encoder.layer.0.crossattention.self", "BertCrossAttention", True),
    ("BERT 4", "encoder.layer.0.crossattention.self", "BertSelfAttention", True),
    ("BERT", "encoder.layer.0.attention.self", "BertSelfAttention", False),
    ("BLIP", "text_decoder.bert.encoder.layer.0.crossattention.self", "BlipTextSelfAttention", True),
    ("Q-Former", "qformer.encoder.layer.0.crossattention.attention", "Blip2QFormerMultiHeadAttention", True),
    ("Q-Former", "qformer.encoder.layer.0.attention.attention", "Blip2QFormerMultiHeadAttention", False),
    ("BridgeTower", "cross_modal_text_layers.0.attention.self", "BridgeTowerSelfAttention", False),
    ("BridgeTower", "cross_modal_text_layers.0.crossattention.self", "BridgeTowerCrossAttention", True),
    ("GPT-2", "transformer.h.0.crossattention", "GPT2Attention", True),
    ("GPT-2", "transformer.h.0.attn", "GPT2Attention", False),
    ("Perceiver", "encoder.cross_attention.attention.self", "PerceiverSelfAttention", True),
    ("Perceiver", "encoder.self_attends.0.attention.self", "PerceiverSelfAttention", False),
    ("Mllama", "model.language_model.layers.3.cross_attn", "MllamaTextCrossAttention", True),
    ("Mllama", "model.language_model.layers.4.self_attn", "MllamaTextSelfAttention", False),
    ("Mllama", "model.vision_model.transformer.layers.0.self_attn", "MllamaVisionAttention", False),
    ("Idefics", "model.gated_cross_attn_layers.0.cross_attn", "IdeficsAttention", True),
    ("Flamingo", "gated_cross_attn_layers.0.self_attn", "Attention", False),
    ("made up", "cross_attn_layers.3.self_attn", "Attention", False),
    ("made up", "cross_attn_layers.3.attn", "Attention", True),
    ("made up", "self_attn_layers.3.cross_attn", "Attention", True),
    ("Kosmos-2", "image_to_text_projection.x_attn", "KosmosTextAttention", True),
    ("SAM", "mask_decoder.transformer.layers.0.cross_attn_token_to_image", "SamAttention", True),
    ("SAM", "mask_decoder.transformer.layers.0.cross_attn_image_to_token", "SamAttention", True),
    ("SAM", "mask_decoder.transformer.layers.0.self_attn", "SamAttention", False),
    ("SAM", "mask_decoder.transformer.final_attn_token_to_image", "SamAttention", True),
    ("SAM 2", "memory_attention.layers.0.self_attn", "Sam2VideoRoPEAttention", False),
    ("SAM 2", "memory_attention.layers.0.cross_attn_image", "Sam2VideoRoPEAttention", True),
    ("DETR", "decoder.layers.0.encoder_attn", "DetrCrossAttention", True),
    ("DETR", "decoder.layers.0.self_attn", "DetrSelfAttention", False),
    ("Grounding DINO", "decoder.layers.0.encoder_attn_text", "GroundingDinoMultiheadAttention", True),
    ("LXMERT", "encoder.x_layers.0.lang_self_att.self", "LxmertAttention", False),
    ("Evolla", "llm.layers.0.adapter", "EvollaSequenceAlignerCrossAttention", True),
    ("CLIP", "text_model.encoder.layers.0.self_attn", "CLIPAttention", False),
    ("ViT", "encoder.layer.0.attention.attention", "ViTSelfAttention", False),
    ("Llama", "model.layers.0.self_attn", "LlamaAttention", False),
    ("Falcon", "transformer.h.0.self_attention", "FalconAttention", False),
    ("torch", "decoder.layers.0.self_attn", "MultiheadAttention", False),
    ("the model itself", "", "LlamaAttention", False),
    ("the model itself", "", "DiaCrossAttention", True),
]  # fmt: skip


@pytest.mark.parametrize(("family", "name", "kind", "cross"), SPELLINGS)
def test_self_is_told_from_cross_by_the_nearest_word(family: str, name: str, kind: str, cross: bool) -> None:
    assert is_cross(name, type(kind, (nn.Module,), {})()) == cross, family


def test_what_a_module_says_of_itself_stands_before_its_name() -> None:
    module = nn.Module()
    for flag in (True, False):
        module.is_cross_attention = flag  # type: ignore[assignment]
        assert is_cross("decoder.self_attn", module) == is_cross("decoder.encoder_attn", module) == flag


class Mix(nn.Module):
    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(x[:, None], memory[:, None], memory[:, None])[:, 0]


class PairCrossAttentionLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.att, self.self_att = Mix(), Mix()

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        mixed: Tensor = self.att(x, memory)
        alone: Tensor = self.self_att(mixed, mixed)
        return alone


class Pair(nn.Module):
    """As LXMERT names them: the layer's class alone says what its attention is."""

    def __init__(self) -> None:
        super().__init__()
        self.visual = PairCrossAttentionLayer()

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        mixed: Tensor = self.visual(x, memory)
        return mixed


def test_the_class_of_the_layer_that_holds_it_speaks_too() -> None:
    model = Pair()
    with record(model) as recording:
        model(torch.randn(1, 5, 8), torch.randn(1, 7, 8))
    assert [(site.name, site.kind) for site in recording.sites] == [
        ("visual.att", "cross"), ("visual.self_att", "self")
    ]  # fmt: skip
