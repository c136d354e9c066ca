"""knockout(model, inputs, site, head): the model run without something of one head, and how its answer
moves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnscope.errors import ModelError
from attnscope.knocking.bench import Bench, Progress, Text
from attnscope.knocking.cut import Cut, How
from attnscope.knocking.result import Knockout, Name
from attnscope.recording import Site
from attnscope.recording.asked import Where

CACHES = ("past_key_values", "cache_params", "past_key_value")
"""What a forward takes keys of earlier calls by, and adds to."""


def knockout(
    model: nn.Module,
    inputs: Mapping[str, Any] | Tensor | Sequence[Any],
    site: Site | str | int,
    head: int | Sequence[int],
    rows: Where = None,
    cols: Where = None,
    *,
    how: How = "renormalise",
    batch: int | None = None,
    order: int = 0,
    name: Name | None = None,
    progress: Progress | None = None,
) -> Knockout:
    """Runs `model` on `inputs` without something of one head, and tells how far its answer moves.

    inputs: keyword arguments of the forward, its one argument, or several in order.   site: the call of
    attention: a recorded site, its module's dotted name, or its number in the forward.   head: the query
    head, or several.   rows, cols: an index or a slice; None is all. A row and a column are one edge; rows
    alone the whole output of these rows; neither, the whole head.   batch: the text, None for all.   order:
    of a module that is called several times in a forward, which call.   name: gives the text of a token by
    its id.

    how: "zero" sets the weights of the cells to 0 and leaves the others as they were; "renormalise" gives
    their part to the row's other weights (a learned sink's too), as the softmax does where a mask hides the
    cells; both give an output of 0 where a row loses every key. "mean", for whole rows, puts the head's
    mean output in their place: of the same text in the same call, over all its rows, later ones too, that
    see a key and stand for no padding.

    The cells are taken out at the call itself. Rows that lose a weight above 0 are computed anew, in float32
    (float64 for float64) and with the roundings of an eager model; everything else of the call's output stays
    the kernel's own, bit for bit. The model runs three times: as it is, with nothing taken out, and without;
    the second run is to give the first one's bits, and `nothing` says whether it does.

    Raises ModelError for a model in training or a cache among the inputs, RecordingError for a call that is
    not there, ShapeError for a head, row or column that is not, Uncertified for cells of a head whose rows do
    not re-add to the model's output, NothingRecorded for a model in which no call can be changed.
    """
    heads = [head] if isinstance(head, int) else list(head)
    cuts = [Cut(site, one, rows, cols, how, batch, order) for one in heads]
    bench = Bench(model, _forward(model, inputs), text_of(inputs), progress=progress)
    found = bench.without(*cuts)
    return found if name is None else found.named(name)


def _forward(model: nn.Module, inputs: Any) -> Callable[[], Any]:
    if isinstance(inputs, Mapping):
        given = dict(inputs)
        held = [name for name in CACHES if given.get(name) is not None]
        if held:
            raise ModelError(
                f"The inputs hold a cache ({held[0]}), which each run would add to",
                wanted="The whole text in one forward",
            )
        forward = getattr(model, "_orig_mod", model).forward if isinstance(model, nn.Module) else None
        if forward is not None and "use_cache" in inspect.signature(forward).parameters:
            given.setdefault("use_cache", False)
        return lambda: model(**given)
    if isinstance(inputs, Tensor):
        return lambda: model(inputs)
    if isinstance(inputs, Sequence) and not isinstance(inputs, str):
        return lambda: model(*inputs)
    raise ModelError(
        f"The inputs are {type(inputs).__name__}",
        wanted="Keyword arguments as a mapping, a tensor, or several arguments in order",
        hint='A text goes through its tokeniser first: tokenizer(text, return_tensors="pt")',
    )


def text_of(inputs: Any) -> Text | None:
    """What stands at the positions of a model's answer: the decoder's ids where it has its own."""
    given = inputs if isinstance(inputs, Mapping) else {"input_ids": inputs}
    for ids_name, mask_name in (
        ("decoder_input_ids", "decoder_attention_mask"),
        ("input_ids", "attention_mask"),
    ):
        ids, mask = given.get(ids_name), given.get(mask_name)
        if isinstance(ids, Tensor) and ids.dim() == 2 and not ids.is_floating_point():
            real = torch.ones_like(ids, dtype=torch.bool)
            return Text(ids, mask.bool() if isinstance(mask, Tensor) and mask.shape == ids.shape else real)
    return None
