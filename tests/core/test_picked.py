"""Chosen cells are the cells of the dense grid, under every mask, bias and rounding."""

from __future__ import annotations

import pytest
import torch

from attnscope.core.arithmetic import Arithmetic
from attnscope.core.bias import KeyBias, RelativeBias, TensorBias
from attnscope.core.dense import steps
from attnscope.core.engine import Native, engine_of, normaliser_of
from attnscope.core.masks import causal, documents, padding, rule, window
from attnscope.core.picked import picked, pieces
from attnscope.core.scoring import Scoring

B, H, HK, TQ, D = 2, 6, 3, 23, 5
LEFT_PADDED = torch.arange(TQ)[None] >= torch.tensor([[4], [0]])
HOLED = torch.randn(1, H, TQ, TQ).masked_fill(torch.rand(TQ) < 0.2, -torch.inf)
SCORINGS = {
    "full": Scoring(),
    "causal": Scoring(causal()),
    "window": Scoring(window(3, 0) & causal()),
    "padded": Scoring(causal() & padding(LEFT_PADDED)),
    "documents that come back": Scoring(causal() & documents(torch.arange(TQ) % 2)),
    "a rule": Scoring(rule(lambda b, h, i, j: ((i + j + h) % 3 != 0) & (j <= i))),
    "softcap and sinks": Scoring(causal(), softcap=1.5, sinks=torch.linspace(-1, 2, H)),
    "relative bias": Scoring(causal(), bias=RelativeBias(torch.randn(H, 2 * TQ), first=-TQ)),
    "key bias": Scoring(causal(), bias=KeyBias(torch.randn(B, H, TQ))),
    "tensor bias": Scoring(causal(), bias=TensorBias(HOLED)),
    "inside the cap": Scoring(causal(), bias=KeyBias(torch.randn(1, TQ)), softcap=2.0, bias_inside_cap=True),
    "rounded": Scoring(causal(), arithmetic=Arithmetic(scores=torch.bfloat16, weights=torch.bfloat16)),
    "maximum first": Scoring(causal(), arithmetic=Arithmetic(scores=torch.bfloat16, subtract_max=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", SCORINGS)
def test_picked_cells_are_those_of_the_grid(name: str) -> None:
    scoring = SCORINGS[name]
    q, k = torch.randn(B, H, TQ, D), torch.randn(B, HK, TQ, D)
    if scoring.arithmetic is None:  # rounding to 16 bits may fall either way at a tie
        q, k = q.double(), k.double()
    dense, bound = steps(q, k, k, scoring), scoring.bind(q, k)
    rows, cols = torch.randint(TQ, (7, 3)), torch.randint(TQ, (7, 2))
    found = picked(bound, dense.normaliser, rows, cols)
    assert found.shape == (B, H, 7, 3, 2)
    expected = dense.weights[:, :, rows[:, :, None], cols[:, None, :]]
    close = 2**-7 if scoring.arithmetic is not None else 1e-12
    assert torch.allclose(found, expected, rtol=close, atol=close / 10)
    assert torch.equal(found == 0, expected == 0)


@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize(("g", "r", "c"), [(50, 1, 1), (7, 3, 2), (2, 30, 70)])
def test_picked_cells_are_those_of_a_block_of_weights(
    each_engine: str, name: str, g: int, r: int, c: int
) -> None:
    """To the last bit in the native engine. A product of torch's own depends on the sizes of its operands:
    there the last bits may differ.
    """
    q, k = 3 * torch.randn(B, H, TQ, 37), torch.randn(B, HK, TQ, 37)
    bound = SCORINGS[name].bind(q, k)
    whole, final, engine = slice(0, TQ), normaliser_of(bound), engine_of(bound)
    rows, cols = torch.randint(TQ, (g, r)), torch.randint(TQ, (g, c))
    expected = engine.weights(bound, whole, whole, final)[:, :, rows[:, :, None], cols[:, None, :]]
    found = picked(bound, final, rows, cols)
    if isinstance(engine, Native):
        assert torch.equal(found, expected)
    else:
        close = 2**-7 if bound.scoring.arithmetic is not None else 3e-6
        torch.testing.assert_close(found, expected, rtol=close, atol=1e-6)


def test_no_group_gives_no_cell() -> None:
    q = torch.randn(B, H, TQ, D)
    bound = Scoring(causal()).bind(q, q)
    none = torch.zeros(0, 2, dtype=torch.int64)
    assert picked(bound, steps(q, q, q, causal()).normaliser, none, none).shape == (B, H, 0, 2, 2)


def test_pieces_cover_every_row_of_every_group_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnscope.core.picked.CELLS", 200)
    q = torch.randn(1, 2, 11, D)
    seen = torch.zeros(5, 11, dtype=torch.int64)
    for groups, rows in pieces(Scoring().bind(q, q), 5, 11, 13):
        assert len(seen[groups, rows].flatten()) * 2 * 13 <= 200
        seen[groups, rows] += 1
    assert bool((seen == 1).all())
