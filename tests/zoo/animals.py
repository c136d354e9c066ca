"""Builds the models of the table, runs each once, and keeps what it gave."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attnscope.errors import NothingRecorded
from attnscope.listen import record
from attnscope.recording import NotShown, Recording
from tests.zoo.configs import CONFIGS, PADDED, T
from tests.zoo.plain import PLAIN, WIDTH
from tests.zoo.table import SHORT, Row, Stack

QUERIES_AND_KEYS = (
    "q_proj", "k_proj", "query", "key", "c_attn", "qkv", ".q.", ".k.", "q_lin", "k_lin", "in_proj", "Wqkv",
    "q_b_proj", "kv_b_proj", "embedding_hidden_mapping_in", "embeddings_project", "q_norm", "k_norm",
)  # fmt: skip
"""Weights that scores grow with; packed ones hold v as well."""


@dataclass(frozen=True, eq=False)
class Heard:
    """One forward of a family, without and with a recording. recording: None where nothing was recorded.

    grids: what an eager model itself returned, in the order of calls of each kind and stack.
    """

    alone: Tensor
    heard: Tensor
    recording: Recording | None
    missing: list[NotShown]
    said: str

    @property
    def sites(self) -> list[Any]:
        """Its sites, none where nothing was recorded."""
        return [] if self.recording is None else self.recording.sites

    @property
    def largest(self) -> float:
        """The largest z of any head."""
        return max((float(site.certificate.z.max()) for site in self.sites), default=float("nan"))


@functools.cache
def model_of(row: Row, attention: str) -> Any:
    """The model: the same weights whatever the attention, heads that attend sharply."""
    torch.manual_seed(11)
    model = PLAIN[row.family]() if row.family in PLAIN else _from_config(row.family, attention)
    _sharpen(model, row.sharp)
    return model.eval()


def _from_config(family: str, attention: str) -> nn.Module:
    import transformers as hf

    kind, config, options = CONFIGS[family]
    made: nn.Module = getattr(hf, kind)._from_config(
        getattr(hf, config)(**options), attn_implementation=attention
    )
    return made


def _sharpen(model: nn.Module, factor: float) -> None:
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if any(part in name for part in QUERIES_AND_KEYS) and (weight.dim() == 2 or "norm" in name):
                # Gemma's norms multiply by 1 + weight
                weight.add_(factor - 1) if not weight.any() else weight.mul_(factor)
            if "sinks" in name or "relative_attention_bias" in name:
                weight.normal_()
            if name.endswith(".probe"):  # SigLIP's pooling head asks with it
                weight.mul_(60)


def given(row: Row) -> dict[str, Tensor]:
    """Two texts, the second one padded; with them or instead of them audio or an image."""
    own = torch.Generator().manual_seed(5)
    ids = torch.randint(3, 100, (2, T), generator=own)
    image = {"pixel_values": torch.randn(2, 3, 32, 32, generator=own)}
    text = {"input_ids": ids, "attention_mask": real(row).long()}
    if row.given == "audio":
        sound = torch.randn(2, 8, 40, generator=own)
        return {"input_features": sound, "decoder_input_ids": ids[:, :SHORT]}
    x = torch.randn(2, T, WIDTH, generator=own)
    later = torch.ones(SHORT, SHORT, dtype=torch.bool).triu(1)  # torch's own modules: True = hidden
    return {
        "text": text,
        "pair": text | {"decoder_input_ids": ids[:, :SHORT]},
        "image": image,
        "both": text | image,
        "vectors": {"x": x},
        "padded vectors": {"src": x, "src_key_padding_mask": ~real(row)},
        "memory": {
            "tgt": x[:, :SHORT].flip(0),
            "memory": x,
            "tgt_mask": later,
            "memory_key_padding_mask": ~real(row),
        },
    }[row.given]


def real(row: Row) -> Tensor:
    """Which tokens are no padding, (2 T)."""
    mask = torch.ones(2, T, dtype=torch.bool)
    mask[1, slice(0, PADDED) if row.pad == "left" else slice(T - PADDED, T)] = False
    return mask


@functools.cache
def heard(row: Row, attention: str) -> Heard:
    """What one forward gave, alone and recorded."""
    model, inputs = model_of(row, attention), given(row)
    with torch.no_grad():
        alone = _first(model(**inputs))
        recording, said, outputs = None, "", []
        try:
            with record(model, keep="all") as opened:
                outputs.append(_first(model(**inputs)))
            recording = opened
        except NothingRecorded as nothing:
            said = str(nothing)
    return Heard(alone, outputs[0], recording, opened.missing, said)


def _first(out: Any) -> Tensor:
    result: Tensor = out if isinstance(out, Tensor) else out[0]
    return result


@functools.cache
def grids(row: Row) -> dict[tuple[str, str], list[Tensor]]:
    """The weights (b h rows keys) that the eager model returns of itself, in order, by kind and stack."""
    with torch.no_grad():
        out = model_of(row, "eager")(**given(row), output_attentions=True)
    if row.given in ("pair", "audio"):
        return {
            ("self", "encoder"): [*out.encoder_attentions],
            ("self", "decoder"): [*out.decoder_attentions],
            ("cross", "decoder"): [*out.cross_attentions],
        }
    if row.given == "both":
        towers = (out.vision_model_output.attentions, out.text_model_output.attentions)
        return {("self", "encoder"): [grid for tower in towers for grid in tower]}
    (stack,) = row.stacks
    return {("self", stack.stack): [grid for grid in out.attentions if grid is not None]}


def seen(row: Row, stack: Stack, layer: int) -> Tensor:
    """Which cells the config lets be seen, (2 rows keys)."""
    word, _, number = stack.word(layer).partition(" ")
    i, j = torch.arange(stack.rows)[:, None], torch.arange(stack.keys)
    first = torch.tensor([0, PADDED if row.pad == "left" and stack.padded else 0]).view(2, 1, 1)
    chunk = [(place - first) // int(number or 1) for place in (i, j)]  # counted from the first real token
    grid = {
        "all": torch.ones(stack.rows, stack.keys, dtype=torch.bool),
        "pairs": real(row)[:, :, None],  # padded rows see nothing either
        "causal": j <= i,
        "window": (j <= i) & (i - j < int(number or 1)),
        "chunks": (j <= i) & (chunk[0] == chunk[1]),
        "band": (i - j).abs() <= int(number or 1),
    }[word]
    return grid & real(row)[:, None] if stack.padded else grid.expand(2, -1, -1)
