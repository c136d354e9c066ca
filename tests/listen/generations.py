"""What tests of generate() share: a generation beside its recording, and one forward over the whole text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnscope.listen import record
from attnscope.recording import Recording, Site

Inputs = Callable[..., dict[str, Tensor]]
Tiny = Callable[..., nn.Module]

T, NEW = 19, 9
ENCODERS = ("t5", "bart", "whisper")


def prompt(family: str, inputs: Inputs, pad: str | None = "left") -> dict[str, Tensor]:
    given = inputs(family, None if family == "whisper" else pad, t=T)
    return {name: x for name, x in given.items() if name != "decoder_input_ids"}


def precise(family: str) -> torch.dtype:
    """T5 has no scale: its scores are so large that float32 differs from step to step by 3e-5 of a weight."""
    return torch.float64 if family == "t5" else torch.float32


def options(**more: Any) -> dict[str, Any]:
    return {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False, "pad_token_id": 0, **more}


def generated(
    model: Any, given: dict[str, Tensor], *, seed: int = 3, keep: str = "all", **more: Any
) -> tuple[Tensor, Recording]:
    """The tokens, which are those without a recording, and the recording."""
    torch.manual_seed(seed)
    alone = model.generate(**given, **options(**more))
    torch.manual_seed(seed)
    with record(model, keep=keep) as recording:
        heard = model.generate(**given, **options(**more))
    alone, heard = (getattr(ids, "sequences", ids) for ids in (alone, heard))
    assert torch.equal(alone, heard)
    return heard, recording


def at_once(model: Any, family: str, given: dict[str, Tensor], ids: Tensor) -> Recording:
    """One forward over all tokens that a generation processed."""
    mask = given.get("attention_mask")
    processed = ids[:, :-1]
    if family == "whisper":  # its generate() leaves the first token out
        processed = torch.cat([torch.ones_like(ids[:, :1]), processed], dim=1)
    if family in ENCODERS:
        given = {**given, "decoder_input_ids": processed}
    else:
        given = {"input_ids": processed}
        if mask is not None:
            longer = torch.ones(len(mask), processed.shape[1] - mask.shape[1], dtype=mask.dtype)
            mask = torch.cat([mask, longer], dim=1)
            given |= {"attention_mask": mask, "position_ids": (mask.cumsum(-1) - 1).clamp(min=0)}
    with torch.no_grad(), record(model, keep="all") as recording:
        model(**given)
    return recording


def same_weights(joined: Site, whole: Site, *, atol: float = 1e-5) -> None:
    """Every weight of every head, and masked cells exactly 0."""
    assert (joined.tq, joined.tk) == (whole.tq, whole.tk)
    for batch in range(whole.batch):
        for head in range(whole.heads):
            seen = whole.visible(head, batch=batch)
            some = seen.any(dim=-1)
            ours = joined.weights(head, batch=batch)[some]
            assert torch.equal(joined.visible(head, batch=batch)[some], seen[some]), (joined.name, batch)
            torch.testing.assert_close(ours, whole.weights(head, batch=batch)[some], rtol=0, atol=atol)
            assert bool((ours[~seen[some]] == 0).all())


def pairs(joined: Recording, whole: Recording) -> list[tuple[Site, Site]]:
    """Sites of a generation, each beside that of one forward."""
    assert [(s.name, s.kind, s.stack, s.layer) for s in joined.sites] == [
        (s.name, s.kind, s.stack, s.layer) for s in whole.sites
    ]
    return list(zip(joined.sites, whole.sites, strict=True))
