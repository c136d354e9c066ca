"""What the sums say: which axis was normalised, what a mask took away afterwards, what a sink keeps."""

from __future__ import annotations

import torch
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.core.masks import from_tensor
from attnscope.core.scoring import Scoring
from attnscope.lesson.checks.finding import Finding, Place
from attnscope.lesson.checks.reading import Given, Head
from attnscope.looks.numbers import count, number

AXIS = "Take softmax over the keys, the last axis: scores.softmax(dim=-1)"
BEFORE = "Put the mask on the scores, as -inf, before softmax"
_CLEAR = 10.0  # times what a whole row may miss 1 by
SINK = "Hand over sinks (a logit for each head), or q and k: then the two can be told apart"


def off_rows(head: Head) -> Tensor:
    """The rows (tq) that do not sum to 1, those aside that see nothing and hold nothing."""
    sums = head.weights.sum(dim=1)
    nothing = sums == 0
    if head.visible is not None:
        nothing &= ~head.visible.any(dim=1)
    return ((sums - 1).abs() > head.allowed()) & ~nothing


def across(given: Given, places: list[Place]) -> Finding | None:
    """Whether weights in which no head has right rows sum to 1 over another axis, or over all cells."""
    for name, axis in (("heads", 1), ("batch", 0)):
        cells = _cells_of_one(given.weights, axis)
        if cells:
            return Finding(
                "wrong_axis",
                f"At each of {count(cells)} cells the weights sum to 1 over the {name}, and the rows do not: "
                "softmax was taken over the wrong axis",
                AXIS,
                True,
                {"cells": float(cells), "axis": float(axis)},
                tuple(places),
            )
    rows = torch.stack([one.sum(dim=-1, dtype=torch.float64) for one in given.weights.flatten(0, 1)])
    several = bool(((rows > 0).sum(dim=-1) > 1).all())  # one row alone that sums to 1 is a right one
    if several and given.weights.shape[-1] > 1 and bool(((rows.sum(dim=-1) - 1).abs() < 1e-4).all()):
        return Finding(
            "wrong_axis",
            "The weights of a whole grid sum to 1, not those of a row: softmax was taken over all cells",
            AXIS,
            True,
            {"largest_row": float(rows.max())},
            tuple(places),
        )
    return None


def _cells_of_one(weights: Tensor, axis: int) -> int:
    """How many cells hold weight where all sums over that axis are 1, or 0; a grid at a time.

    A cell that one weight of 1 fills tells nothing: some cells have to be shared.
    """
    allowed = 1e-5 + (0.01 if weights.element_size() < 4 else 0.0)
    cells, shared = 0, False
    for grids in weights.unbind(1 - axis):
        sums = grids.new_zeros(grids.shape[1:], dtype=torch.float64)
        filled = grids.new_zeros(grids.shape[1:], dtype=torch.int32)
        for grid in grids:
            sums += grid
            filled += grid > 0
        if not bool(((sums - 1).abs() <= allowed)[filled > 0].all()):
            return 0
        cells += int((filled > 0).sum())
        shared |= bool((filled > 1).any())
    return cells if shared else 0


def sums(head: Head) -> Finding | None:
    """What the sums of one head's rows look like; None where every row sums to 1 or a given sink says why."""
    off, rows = off_rows(head), head.weights.sum(dim=1)
    if head.sink is not None and head.q is not None and head.k is not None:
        expected = _with_sink(head, head.q, head.k)
        if expected is not None:
            return _against_sink(head, rows, expected)
    if not bool(off.any()):
        return None
    columns = head.weights.sum(dim=0)
    used = columns > 0
    seen = {"smallest_row": float(rows.min()), "largest_row": float(rows.max()), "rows_off": float(off.sum())}
    if bool(((columns - 1).abs() <= head.allowed(0))[used].all()) and bool(
        ((head.weights > 0).sum(dim=0) > 1).any()
    ):
        return Finding(
            "wrong_axis",
            f"Rows sum to {_span(rows)} and every column sums to 1: softmax was taken over queries, not keys",
            AXIS,
            True,
            seen
            | {"smallest_column": float(columns[used].min()), "largest_column": float(columns[used].max())},
        )
    if bool((rows[off] < 1).all()):
        return _under_one(head, off, rows, seen)
    return Finding(
        "not_normalised",
        f"Rows sum to {_span(rows)}: these are no shares of 1",
        "Take softmax over the keys; with dropout, look in eval mode",
        True,
        seen,
    )


def _under_one(head: Head, off: Tensor, rows: Tensor, seen: dict[str, float]) -> Finding | None:
    """Rows that fall short of 1: zeroed after softmax, or a sink that takes the rest."""
    if head.sink is not None and head.sink != -torch.inf:
        return None  # without q and k any share of a sink is possible
    shows = head.visible if head.visible is not None else head.weights > 0
    whole = shows.all(dim=1)
    exact = False if bool((whole & off).any()) else _masked_later(head, shows)
    if exact is None and bool((whole & ~off).any()) and int(off.sum()) > 1:
        exact = True if _no_sink_leaves(head, shows, rows, whole & ~off) else None
    worst = int(torch.where(off, rows, 2.0).argmin())
    least = number(float(rows[worst]), 3)
    short = f"{count(int(off.sum()))} of {count(len(rows))} rows sum to less than 1, row {worst} to {least}"
    seen = seen | {"whole_rows": float(whole.sum()), "whole_rows_off": float((whole & off).sum())}
    if exact:
        return Finding(
            "mask_after_softmax",
            f"{short}, and rows that see every key sum to 1: cells were set to 0 after softmax"
            if bool((whole & ~off).any())
            else f"{short}, as softmax over all keys gives with the hidden ones set to 0 afterwards",
            BEFORE,
            True,
            seen,
        )
    if bool((whole & off).any()) or exact is False:
        return Finding(
            "learned_sink",
            f"{short}, rows that see every key among them: a learned sink may take the rest"
            if bool((whole & off).any())
            else f"{short}, in the proportions that the mask gives: a learned sink may take the rest",
            SINK
            if head.q is None
            else "Hand over sinks, a logit for each head: they are then checked exactly",
            False,
            seen,
        )
    return Finding(
        "mask_after_softmax",
        f"{short}, and each of them has hidden cells: a mask may have been put on after softmax, or a "
        "learned sink may take the rest",
        f"{BEFORE}. {SINK}",
        False,
        seen,
    )


def _no_sink_leaves(head: Head, shows: Tensor, rows: Tensor, whole: Tensor) -> bool:
    """Whether so much is missing that a sink would show in the rows that see every key, by their numbers of
    keys.
    """
    as_whole = (1 - rows) * shows.sum(dim=1) / shows.shape[1]
    return float(as_whole.max()) > _CLEAR * float(head.allowed()[whole].max())


def _masked_later(head: Head, shows: Tensor) -> bool | None:
    """Whether softmax over all keys with cells set to 0 gives these weights; None where q and k do not tell:
    they did not come, or what is set to 0 is no more than they may be off by.
    """
    if head.q is None or head.k is None:
        return None
    close = False
    for scale in (None, 1.0):
        whole = steps(head.q, head.k, head.k, Scoring(scale=scale)).weights[0, 0]
        if float((whole * shows - head.weights).abs().max()) <= head.close:
            close = True
            if float((whole * ~shows).sum(dim=1).max()) > 2 * head.close:
                return True
    return None if close else False


def _with_sink(head: Head, q: Tensor, k: Tensor) -> Tensor | None:
    """The weights that q, k, the mask and the sink give; None where it cannot be told that nothing else has a
    part in them: no row has two keys, or they stand in other proportions, as with a bias, a cap or a scale.
    """
    seen = head.weights > 0 if head.visible is None else head.visible  # 0: a mask not handed over
    if not bool((seen.sum(dim=1) > 1).any()):
        return None
    sink = torch.tensor([head.sink], dtype=torch.float64, device=q.device)
    expected = steps(q, k, k, Scoring(from_tensor(seen), sinks=sink)).weights[0, 0]
    apart = (_shares(expected) - _shares(head.weights)).abs().amax()
    return expected if float(apart) <= head.like else None


def _shares(weights: Tensor) -> Tensor:
    return weights / weights.sum(dim=1, keepdim=True).clamp_min(torch.finfo(torch.float64).tiny)


def _against_sink(head: Head, rows: Tensor, expected: Tensor) -> Finding | None:
    """The sums of rows against those that are expected."""
    wanted = expected.sum(dim=1)
    apart = (rows - wanted).abs()
    if bool((apart <= head.allowed() + head.close).all()):
        return None
    worst = int(apart.argmax())
    return Finding(
        "sinks_do_not_fit",
        f"Row {worst} sums to {number(float(rows[worst]), 3)}, and with the sink it should sum to "
        f"{number(float(wanted[worst]), 3)}",
        "Look whether the sink stood in the softmax, whether its logit is this head's, and whether the "
        "rows were normalised again",
        True,
        {
            "row_sum": float(rows[worst]),
            "expected": float(wanted[worst]),
            "largest_difference": float(apart.max()),
        },
    )


def _span(rows: Tensor) -> str:
    low, high = number(float(rows.min()), 3), number(float(rows.max()), 3)
    return low if low == high else f"{low} to {high}"
