"""What rows see is told as one form, and the form's own numbers rebuild the mask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from attnscope.core.mask import Mask
from attnscope.core.masks import causal, chunks, documents, full, padding, prefix, rule, spans, window
from attnscope.core.scoring import Scoring
from attnscope.core.tile import Normaliser
from attnscope.recording import Site
from attnscope.recording.shelf import InMemory
from attnscope.recording.sight import sight_of

T = 37
Made = Callable[..., Site]


@pytest.fixture
def seen(make_site: Made) -> Made:
    base = make_site()

    def one(
        mask: Mask | None, *, tq: int = T, tk: int = T, offset: int | None = 0, kind: str = "self"
    ) -> Site:
        row = torch.zeros(base.batch, base.heads, tq)
        shelf = InMemory({}, Scoring(mask, offset=offset), Normaliser(row, row))
        return replace(base, tq=tq, tk=tk, offset=offset, kind=kind, shelf=shelf)

    return one


PACKED = torch.tensor([[0] * 9 + [1] * 17 + [2] * 11])
LATE = torch.arange(T)[None] >= torch.tensor([[0], [7]])


@pytest.mark.parametrize(
    ("mask", "form", "width", "sides"),
    [
        (None, "everything", None, (None, None)),
        (full(), "everything", None, (None, None)),
        (causal(), "causal", None, (None, None)),
        (causal() & window(4), "window", 5, (4, 0)),
        (window(3), "window", 4, (3, 0)),
        (window(3, 3), "window", None, (3, 3)),
        (window(5, 2), "window", None, (5, 2)),
        (causal() & chunks(8), "chunks", 8, (None, None)),
        (prefix(6), "prefix", 6, (None, None)),
        (documents(PACKED), "documents", None, (None, None)),
        (causal() & documents(PACKED), "documents", None, (None, 0)),
        (causal() & documents(PACKED) & window(4), "documents", 5, (4, 0)),
        (documents(PACKED) & window(4, 1), "spans", None, (None, None)),
        (causal() & rule(lambda b, h, i, j: (i * j + h) % 3 != 1), "rule", None, (None, None)),
    ],
)
def test_each_kind_of_mask_is_told(
    seen: Made, mask: Mask | None, form: str, width: int | None, sides: tuple[int | None, int | None]
) -> None:
    found = sight_of(seen(mask))
    assert (found.form, found.width, (found.left, found.right)) == (form, width, sides)
    assert found.padding == ()


@pytest.mark.parametrize("rows", [full(), causal(), causal() & window(4)])
def test_packed_documents_are_told_by_their_places(seen: Made, rows: Mask) -> None:
    found = sight_of(seen(rows & documents(PACKED)))
    assert found.documents == ((0, 9), (9, 26), (26, T))
    assert found.words.startswith("3 documents that do not see one another")
    padded = sight_of(seen(rows & documents(PACKED) & padding(LATE)), batch=1)
    assert (padded.documents, padded.padding) == (((7, 9), (9, 26), (26, T)), ((0, 7),))


def test_heads_that_see_differently_are_no_form(seen: Made) -> None:
    heads = seen(None).heads
    lo = torch.zeros(1, heads, T, 1, dtype=torch.long)
    lo[0, -1, :, 0] = torch.arange(T)
    found = sight_of(seen(spans(lo, (torch.arange(T)[:, None] + 1).expand(1, heads, T, 1))))
    assert (found.form, found.words) == ("spans", "spans of keys, head by head")


def test_padding_of_either_side_is_told_beside_the_form(seen: Made) -> None:
    left = seen(causal() & padding(LATE))
    assert sight_of(left).padding == ()
    found = sight_of(left, batch=1)
    assert (found.form, found.padding, found.rows) == ("causal", ((0, 7),), (7, T))
    assert found.words.endswith("; columns 0 to 6 are padding, which no row sees")
    right = sight_of(seen(padding(~LATE.flip(0)) & full()))
    assert (right.form, right.padding, right.rows) == ("everything", ((7, T),), (0, 7))


def test_a_decoding_row_sees_its_window(seen: Made) -> None:
    found = sight_of(seen(spans(torch.tensor([29]), torch.tensor([T])), tq=1, offset=T - 1))
    assert (found.form, found.width, found.padding) == ("window", 8, ())


def test_columns_of_cross_attention_that_no_row_sees_are_padding(seen: Made) -> None:
    found = sight_of(
        seen(spans(torch.tensor([0]), torch.tensor([11])), tq=5, tk=13, offset=None, kind="cross")
    )
    assert (found.form, found.padding, found.rows) == ("everything", ((11, 13),), (0, 5))


def test_rows_that_see_nothing_say_so(seen: Made) -> None:
    found = sight_of(seen(spans(torch.tensor([0]), torch.tensor([0]))))
    assert (found.words.split(";")[0], found.rows) == ("no row sees a key", None)
