"""The table of perfect heads under each definition, worked out by hand beforehand, to its digits."""

from __future__ import annotations

import math

import pytest
import torch

from attnscope.measure.attention import attention_of
from attnscope.measure.cells import stripe
from attnscope.measure.scores import SCORE
from attnscope.measure.texts import Text
from attnscope.measure.values import marks_of, value_of
from attnscope.recording import Site

from .planted import last_copies, site_of

TWICE = Text("twice", "n = 50 twice", tuple(range(50)) * 2, period=50)
FOUR = Text(
    "four", "BOS and n = 25 four times", (99, *range(25), *range(25), *range(25), *range(25)), period=25
)
COLUMNS = (
    "induction_mul", "induction_mul_rest", "induction_stripe", "induction_mass", "prefix_matching", "sink",
)  # fmt: skip
UNDEFINED = math.nan
# head, text -> mul, mul without the first key, stripe, mass, prefix matching, alpha_0
TABLE = {
    ("induction", TWICE): (0.500, 1.000, 1.000, 1.000, 1.000, 0.500),
    ("induction", FOUR): (0.743, 1.000, 0.987, 1.000, 0.500, 0.257),
    ("sink", TWICE): (0.0, UNDEFINED, 0.0, 0.0, 0.0, 1.000),
    ("uniform", TWICE): (0.007, 0.007, 0.014, 0.014, 0.014, 0.052),
    ("previous", TWICE): (0.0, 0.0, 0.0, 0.0, 0.0, 0.020),
    ("duplicate", TWICE): (0.0, 0.0, 0.0, 0.0, 0.0, 0.510),
}  # fmt: skip


def head(kind: str, text: Text) -> list[int] | None:
    ids = text.ids or ()
    if kind == "uniform":
        return None
    if kind == "previous":
        return [max(i - 1, 0) for i in range(len(ids))]
    step = {"induction": 1, "duplicate": 0}.get(kind)
    if step is None:
        return [0] * len(ids)
    return [0 if p is None else p + step for p in last_copies(ids)]


def measured(site: Site, text: Text) -> list[list[float]]:
    own = attention_of(site)
    scores = [SCORE[name] for name in COLUMNS]
    marked = marks_of(scores, text, own)
    return torch.stack([value_of(score, own, text, marked) for score in scores], dim=1).tolist()


@pytest.mark.parametrize("text", [TWICE, FOUR], ids=["twice", "four"])
def test_perfect_heads_give_the_table_to_the_digit(text: Text) -> None:
    kinds = [kind for kind, of in TABLE if of is text]
    found = measured(site_of([head(kind, text) for kind in kinds]), text)
    for kind, row in zip(kinds, found, strict=True):
        for column, value, expected in zip(COLUMNS, row, TABLE[kind, text], strict=True):
            if math.isnan(expected):
                assert math.isnan(value), (kind, column)
            else:
                assert round(value, 3) == expected, (kind, column)


def test_the_whole_diagonal_of_transformerlens_has_one_entry_that_is_no_pair() -> None:
    site = site_of([head("sink", TWICE), head("duplicate", TWICE)])
    own = attention_of(site)
    quirk = stripe(own.rows, own.offset, back=49, first=49)
    shares = quirk.mass(site.bound, site.normaliser)[0] / quirk.queries
    assert [round(share, 3) for share in shares.tolist()] == [0.020, 0.020]


def test_a_duplicate_head_has_its_whole_weight_on_the_first_copy() -> None:
    own = attention_of(site_of([head("duplicate", TWICE)]))
    score = SCORE["duplicate_token"]
    assert value_of(score, own, TWICE, marks_of([score], TWICE, own)).tolist() == [1.0]
