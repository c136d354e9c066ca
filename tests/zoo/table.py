"""The zoo: one row a family, and in it what its config says: sites, kinds, stacks, and which keys a row sees.

Nothing here is worked out from what was heard; the tests hold one against the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.zoo.configs import FRAMES, PATCHES, T

SHORT = 13
"""Tokens that a decoder with an encoder is given."""

BOTH = ("sdpa", "eager")
TORCH = ("torch",)


@dataclass(frozen=True)
class Stack:
    """Attention of one kind in one stack. sees: a word a layer, or one for all of them (see `grids`).

    padded: whether the padding of the batch's second text hides keys.   route: where it is not the row's.
    """

    sees: tuple[str, ...]
    stack: str = "decoder"
    kind: str = "self"
    layers: tuple[int, ...] = (0, 1)
    heads: int = 6
    key_heads: int = 6
    rows: int = T
    keys: int = T
    padded: bool = True
    route: str = ""

    def word(self, layer: int) -> str:
        """What rows of a layer see."""
        return self.sees[self.layers.index(layer) % len(self.sees)]


@dataclass(frozen=True)
class Row:
    """A family. sharp: the factor on its weights of q and k.   given: the kind of its inputs.

    route: how its calls are heard; {} is the attention's name.   silent: layers without a picture, by name.
    why: words of the reason.   no: what the page says is not shown.   yes: what it says is shown beside.
    alike: whether eager and sdpa compute the same (Falcon's eager attention adds ALiBi twice, its sdpa once).
    """

    family: str
    stacks: tuple[Stack, ...] = ()
    attention: tuple[str, ...] = BOTH
    given: str = "text"
    pad: str = "left"
    sharp: float = 12.0
    route: str = "huggingface/{}"
    generates: bool = True
    silent: tuple[tuple[int | None, str], ...] = ()
    why: str = ""
    yes: str = ""
    no: str = ""
    softcap: float | None = None
    sinks: bool = False
    bias: tuple[str, ...] = ()
    alike: bool = True

    def routes(self, attention: str) -> list[str]:
        """How its calls are heard, each route once."""
        return list(dict.fromkeys((one.route or self.route).format(attention) for one in self.stacks))


def causal(*sees: str, key_heads: int = 2, layers: tuple[int, ...] = (0, 1)) -> tuple[Stack, ...]:
    """One decoder."""
    return (Stack(sees or ("causal",), key_heads=key_heads, layers=layers),)


def both_ways(*sees: str, rows: int = T, padded: bool = True) -> tuple[Stack, ...]:
    """One encoder."""
    return (Stack(sees or ("all",), "encoder", rows=rows, keys=rows, padded=padded),)


def pair(keys: int = T, *, padded: bool = True) -> tuple[Stack, ...]:
    """Encoder, decoder, and the decoder's look at the encoder."""
    return (
        Stack(("all",), "encoder", rows=keys, keys=keys, padded=padded),
        Stack(("causal",), rows=SHORT, keys=SHORT, padded=False),
        Stack(("all",), kind="cross", rows=SHORT, keys=keys, padded=padded),
    )


PLAIN_DECODER = (Stack(("causal",), padded=False),)
SUMMARY = "single weights and cells: its own code makes the grid, and a summary is kept"
RECURRENT = "no softmax attention"

TABLE: tuple[Row, ...] = (
    Row("GPT-2", causal(key_heads=6)),
    Row("GPT-NeoX", causal(key_heads=6)),
    Row("GPT-J", causal(key_heads=6)),
    Row("Llama", causal(), yes="grouped heads"),
    Row("Llama4", causal("chunks 8", "causal"), yes="chunks of 8 in one layer, grouped heads"),
    Row("Mistral", causal("window 7"), yes="a window of 7, grouped heads"),
    Row("Mixtral", causal(), yes="grouped heads"),
    Row("Qwen2", causal(), yes="grouped heads"),
    Row("Qwen3", causal(), sharp=3, yes="grouped heads"),
    Row("Gemma", causal(), yes="grouped heads"),
    Row("Gemma2", causal("window 7", "causal"), ("eager",), softcap=12.0,
        yes="a window of 7 in one layer, a softcap, grouped heads"),
    Row("Gemma3", causal("window 7", "causal"), sharp=3, yes="a window of 7 in one layer, grouped heads"),
    Row("Phi3", causal(), yes="grouped heads"),
    Row("OLMo2", causal(), sharp=3, yes="grouped heads"),
    Row("Cohere", causal(), yes="grouped heads"),
    Row("StableLM", causal(), yes="grouped heads"),
    Row("Falcon", causal(key_heads=1), ("sdpa",), route="sdpa", yes="one key head for all"),
    Row("Falcon, ALiBi", causal(key_heads=6), ("sdpa",), route="sdpa", bias=("KeyBias",),
        yes="ALiBi", alike=False),
    Row("Falcon", causal(key_heads=1), ("eager",), route="softmax", yes="one key head for all", no=SUMMARY),
    Row("Falcon, ALiBi", causal(key_heads=6), ("eager",), route="softmax", yes="ALiBi, added twice",
        no=SUMMARY),
    Row("Bloom", causal(key_heads=6), ("eager",), route="softmax", yes="ALiBi", no=SUMMARY),
    Row("MPT", causal(key_heads=6), ("eager",), route="softmax", yes="ALiBi", no=SUMMARY),
    Row("gpt-oss", causal("window 7", "causal"), ("eager",), sinks=True,
        yes="a window of 7 in one layer, learned sinks, grouped heads"),
    Row("DeepSeek-V3", causal(key_heads=6), sharp=24, yes="values narrower than keys"),
    Row("BERT", both_ways(), pad="right", generates=False),
    Row("RoBERTa", both_ways(), pad="right", generates=False),
    Row("DistilBERT", both_ways(), pad="right", generates=False),
    Row("ALBERT", both_ways(), pad="right", generates=False, yes="its one module, called once a layer"),
    Row("ELECTRA", both_ways(), pad="right", generates=False),
    Row("ModernBERT", both_ways("all", "band 4"), pad="right", generates=False,
        yes="a window of 4 either way in one layer"),
    Row("DeBERTa-v2", both_ways("pairs"), ("eager",), pad="right", route="softmax", generates=False,
        no=SUMMARY),
    Row("T5", pair(), given="pair", pad="right", sharp=1.5, bias=("RelativeBias",),
        yes="a bias by distance"),
    Row("BART", pair(), given="pair", pad="right"),
    Row("Marian", pair(), given="pair", pad="right", sharp=24),
    Row("Whisper", pair(FRAMES, padded=False), given="audio", yes="frames of audio"),
    Row("ViT", both_ways(rows=PATCHES, padded=False), given="image", generates=False, yes="image patches"),
    Row("DINOv2", both_ways(rows=PATCHES, padded=False), given="image", generates=False,
        yes="image patches"),
    Row("CLIP", (*both_ways(rows=PATCHES, padded=False), Stack(("causal",), "encoder", layers=(2, 3))),
        given="both", pad="right", sharp=3, generates=False,
        yes="image patches (layers 0 and 1) and text (2 and 3), in order of call"),
    Row("SigLIP", (*both_ways(rows=PATCHES - 1, padded=False), Stack(("all",), "encoder", layers=(2, 3)),
        Stack(("all",), kind="cross", layers=(0,), rows=1, keys=PATCHES - 1, padded=False,
        route="multihead/eager")), given="both", pad="right", sharp=1.5, generates=False,
        yes="image patches (layers 0 and 1) and text (2 and 3), in order of call; cross: the pooling head"),
    Row("Longformer", attention=("eager",), pad="right", generates=False,
        silent=((0, "encoder.layer.0.attention.self"), (1, "encoder.layer.1.attention.self")),
        why="a layout of its own", no="everything: it keeps its scores in a layout of its own"),
    Row("Qwen3-Next", causal(layers=(1,)), sharp=3, silent=((0, "model.layers.0.linear_attn"),),
        why=RECURRENT, yes="grouped heads", no="layer 0: a gated delta net has no softmax attention"),
    Row("Jamba", causal(layers=(1,)), silent=((0, "model.layers.0.mamba"),), why=RECURRENT,
        yes="grouped heads", no="layer 0: Mamba has no softmax attention"),
    Row("Mamba", attention=("eager",), silent=((0, "backbone.layers.0.mixer"),
        (1, "backbone.layers.1.mixer")), why=RECURRENT,
        no="everything: its layers have no softmax attention"),
    Row("F.scaled_dot_product_attention", PLAIN_DECODER, TORCH, "vectors", route="sdpa", generates=False),
    Row("softmax written out", PLAIN_DECODER, TORCH, "vectors", route="softmax", generates=False, no=SUMMARY),
    Row("nn.TransformerEncoder", both_ways(), TORCH, "padded vectors", pad="right", generates=False,
        route="multihead/fused", yes="each layer is one fused step"),
    Row("nn.TransformerDecoder", (Stack(("causal",), rows=SHORT, keys=SHORT, padded=False),
        Stack(("all",), kind="cross", rows=SHORT, route="multihead/sdpa")), TORCH, "memory", pad="right",
        generates=False, route="multihead/fused", yes="cross: its memory"),
)  # fmt: skip

CASES = [(row, attention) for row in TABLE for attention in row.attention]
"""Every family in every attention that it has."""
