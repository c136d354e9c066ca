"""Masks from ids: documents packed into one sequence, and blocks (an image's tokens) that see each other."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from attnscope.core.mask import Mask
from attnscope.core.spans import tidy
from attnscope.core.visible import Rule, Visible
from attnscope.errors import MaskError


@dataclass(frozen=True, eq=False)
class SameId(Mask):
    """A row sees the keys whose id is its own; with `signed`, a negative id belongs to nobody."""

    query_ids: Tensor = field(repr=False)  # (b|1 tq)
    key_ids: Tensor = field(repr=False)  # (b|1 tk)
    signed: bool = False

    def bind(
        self, b: int, h: int, tq: int, tk: int, offset: int, device: torch.device | str = "cpu"
    ) -> Visible:
        queries, keys = self.query_ids.to(device), self.key_ids.to(device)
        _check(queries, "query_ids", b, tq, "rows")
        _check(keys, "key_ids", b, tk, "keys")
        lead = len(keys) if len(queries) == 1 else len(queries)
        queries, keys = queries.expand(lead, -1), keys.expand(lead, -1)
        pairs = [_outer_spans(one, other) for one, other in zip(queries, keys, strict=True)]
        lo, hi = torch.stack([lo for lo, _, _ in pairs]), torch.stack([hi for _, hi, _ in pairs])
        if self.signed:
            hi = torch.where(queries < 0, lo, hi)
        rule = None if all(solid for _, _, solid in pairs) else _same(queries, keys)
        spans = tidy(lo[:, None, :, None], hi[:, None, :, None], tk)
        return Visible(spans.lo, spans.hi, b=b, h=h, tk=tk, rule=rule)


def documents(query_ids: Tensor, key_ids: Tensor | None = None) -> Mask:
    """Packed documents: a row sees the keys of its own document. Usually & causal().

    ids: integers (b, tq) or (tq,), and (b, tk) or (tk,) for the keys where they differ (a cache). Ids that
    come back later ([0, 1, 0]) are allowed. Raises MaskError for other dtypes and, when bound, for lengths
    that do not fit.
    """
    return SameId(_ids(query_ids, "query_ids"), _ids(query_ids if key_ids is None else key_ids, "key_ids"))


def blocks(query_ids: Tensor, key_ids: Tensor | None = None) -> Mask:
    """Blocks that see each other in both directions (the tokens of an image): usually causal() | blocks(ids).

    ids as in `documents`, and a negative id belongs to no block and sees nothing here.
    """
    return SameId(
        _ids(query_ids, "query_ids"), _ids(query_ids if key_ids is None else key_ids, "key_ids"), signed=True
    )


def _outer_spans(query_ids: Tensor, key_ids: Tensor) -> tuple[Tensor, Tensor, bool]:
    """First and one past the last key of each row's id, (tq) each, and whether no other id lies between."""
    tk, tq = len(key_ids), len(query_ids)
    if tk == 0:
        none = torch.zeros(tq, dtype=torch.int64, device=key_ids.device)
        return none, none, True
    ids, which = _distinct(key_ids)
    place = torch.arange(tk, device=key_ids.device)
    first = torch.full_like(ids, tk, dtype=torch.int64).scatter_reduce(0, which, place, "amin")
    last = torch.zeros_like(ids, dtype=torch.int64).scatter_reduce(0, which, place, "amax") + 1
    solid = bool((last - first == which.bincount(minlength=len(ids))).all())
    slot = torch.searchsorted(ids, query_ids.contiguous()).clamp(max=len(ids) - 1)
    known = ids[slot] == query_ids
    return torch.where(known, first[slot], tk), torch.where(known, last[slot], tk), solid


def _distinct(ids: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct ids in order, and which of them stands at each place."""
    order = ids.argsort()
    new = torch.ones_like(ids, dtype=torch.bool)
    new[1:] = ids[order][1:] != ids[order][:-1]
    which = torch.empty_like(ids)
    which[order] = new.cumsum(0) - 1
    return ids[order][new], which


def _same(queries: Tensor, keys: Tensor) -> Rule:
    def rule(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        which = b if len(queries) != 1 else torch.zeros_like(b)[:1]
        return queries[which, i] == keys[which, j]

    return rule


def _ids(ids: Tensor, name: str) -> Tensor:
    if not isinstance(ids, Tensor) or ids.is_floating_point() or ids.is_complex() or ids.dim() not in (1, 2):
        came = f"{tuple(ids.shape)} of {ids.dtype}" if isinstance(ids, Tensor) else type(ids).__name__
        raise MaskError(f"{name} is {came}", wanted="A tensor of whole numbers, (b, t) or (t,)")
    return (ids if ids.dim() == 2 else ids[None]).to(torch.int64)


def _check(ids: Tensor, name: str, b: int, t: int, what: str) -> None:
    if ids.shape[0] not in (1, b) or ids.shape[1] != t:
        raise MaskError(
            f"{name} is {tuple(ids.shape)}, and the call has {b} batches and {t} {what}",
            wanted=f"({b}, {t}) or ({t},)",
            hint="Give query_ids and key_ids apart where rows and keys differ in number",
        )
