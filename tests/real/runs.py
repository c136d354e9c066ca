"""One text through one real model, once without and once with a recording."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

import attnscope as ats

from .loaders import open_model
from .smiles import without_numbers

PROSE = (
    "The quick brown fox jumps over the lazy dog, and the dog, being lazy, does nothing at all.\n\n"
    "Naïve café owners in Zürich pay 1,234.50 € for 東京 tea; \tthe fox pays nothing. "
    "When the fox comes back, the lazy dog is still there, and the tea is cold."
)

# Both reactions and their numbers are those of RXNMapper's own README, the first in the order in which
# that README gives the reaction to the model.
MAPPED_REACTIONS = (
    "[CH3:1][CH:2]([CH3:3])[SH:4].CN(C)C=O.[F:11][c:10]1[cH:9][cH:8][cH:7][n:6][c:5]1F.O=C([O-])[O-].[K+].[K+]"
    ">>[CH3:1][CH:2]([CH3:3])[S:4][c:5]1[n:6][cH:7][cH:8][cH:9][c:10]1[F:11]",
    "C1COCCO1.CC(C)(C)[O:3][C:2](=[O:1])[CH2:4][O:5][NH:6][C:7](=[O:8])[NH:9][CH2:10][c:11]1[cH:12][cH:13]"
    "[cH:14][c:15]2[cH:16][cH:17][cH:18][cH:19][c:20]12.Cl"
    ">>[O:1]=[C:2]([OH:3])[CH2:4][O:5][NH:6][C:7](=[O:8])[NH:9][CH2:10][c:11]1[cH:12][cH:13]"
    "[cH:14][c:15]2[cH:16][cH:17][cH:18][cH:19][c:20]12",
)
TEXTS = {"smollm2": PROSE, "minilm": PROSE, "rxnmapper": without_numbers(MAPPED_REACTIONS[0])}
BATCHES = {
    "smollm2": (PROSE, "The capital of France is", "Hi"),
    "minilm": (PROSE, "A cat sits on a chair.", "Hi"),
    "rxnmapper": (without_numbers(MAPPED_REACTIONS[1]), without_numbers(MAPPED_REACTIONS[0]), "CO>>C"),
}
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Recorded:
    """What a model gave by itself and what it gave while it was recorded."""

    inputs: dict[str, Tensor]
    plain: dict[str, Tensor]
    returned: tuple[Tensor, ...] | None  # the eager model's own weights by layer, (b h tq tk)
    heard: dict[str, Tensor]
    recording: Any
    seconds: tuple[float, float]  # of processor time: plain, recorded


@cache
def opened(name: str, dtype: str) -> tuple[Any, Any]:
    """The model `name` with its weights in `dtype`, and its function from texts to inputs."""
    model, inputs = open_model(name)
    return model.to(DTYPES[dtype]), inputs


def record_once(name: str, attention: str, dtype: str) -> Recorded:
    """The model's text recorded on its own, without padding."""
    return record_texts(name, attention, dtype, (TEXTS[name],))


@cache
@torch.no_grad()
def record_texts(name: str, attention: str, dtype: str, texts: tuple[str, ...]) -> Recorded:
    """A batch of texts through the model, without and then with a recording."""
    model, to_inputs = opened(name, dtype)
    model.set_attn_implementation(attention)
    inputs = to_inputs(list(texts))
    asked = {"output_attentions": True} if attention == "eager" else {}
    start = time.process_time()
    plain = model(**inputs, **asked)
    middle = time.process_time()
    with ats.record(model) as recording:
        heard = model(**inputs)
    seconds = (middle - start, time.process_time() - middle)
    returned = plain.attentions if asked else None
    return Recorded(inputs, tensors(plain), returned, tensors(heard), recording, seconds)


def tensors(output: Any) -> dict[str, Tensor]:
    """The named tensors of a model's output: logits, or hidden states."""
    return {name: value for name, value in output.items() if isinstance(value, Tensor)}


@cache
def grid(site: Any, batch: int = 0) -> Tensor:
    """All weights of a site as it shows them, (h tq tk) float32."""
    return torch.stack([site.weights(head, batch=batch) for head in range(site.heads)])


@cache
def sees(site: Any, batch: int = 0) -> Tensor:
    """The rows of a site that see at least one key, (h tq)."""
    return torch.stack([site.visible(head, batch=batch).any(-1) for head in range(site.heads)])
