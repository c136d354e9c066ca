"""The validation loss, as one definite number."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnscope.errors import EmptyText
from attnscope.gpt.model import GPT

TOKENS_AT_ONCE = 16384


@torch.no_grad()
def validation_loss(model: GPT, ids: Tensor) -> float:
    """The mean loss in nats of all characters of `ids` (n,) but the first, given those before in their block.

    Blocks have the model's context length, do not overlap and start at position 0; the last may be shorter;
    every position counts once. The sum is made in float64.
    """
    if len(ids) < 2:
        raise EmptyText("A text of fewer than two characters", wanted="One to read and one to predict")
    given, wanted = ids[:-1], ids[1:]
    whole = len(given) // model.context * model.context
    at_once = max(1, TOKENS_AT_ONCE // model.context)
    pieces = list(
        zip(
            torch.split(given[:whole].view(-1, model.context), at_once),
            torch.split(wanted[:whole].view(-1, model.context), at_once),
            strict=True,
        )
    )
    if whole < len(given):
        pieces.append((given[None, whole:], wanted[None, whole:]))
    total = 0.0
    for block, after in pieces:
        if block.numel():
            losses = cross_entropy(model(block).flatten(0, 1), after.flatten(), reduction="none")
            total += losses.double().sum().item()
    return total / len(given)
