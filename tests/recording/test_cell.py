"""One cell as arithmetic: its float64 terms re-add to the weight that is shown, within the model's own
rounding.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest
import torch

from attnscope.core.dense import steps
from attnscope.recording import Cell, Site

MakeSite = Callable[..., Site]


def some_cells(site: Site, count: int = 20) -> list[Cell]:
    own = torch.Generator().manual_seed(3)
    cells = []
    for _ in range(count):
        batch, head, i, j = (
            int(torch.randint(n, (1,), generator=own)) for n in (2, site.heads, site.tq, site.tk)
        )
        cells.append(site.cell(head, i, min(i, j) if j % 3 else j, batch=batch))
    return cells


def test_the_steps_are_those_of_the_formula(scoring_name: str, make_site: MakeSite) -> None:
    site = make_site(scoring_name)
    dense = steps(site.q.double(), site.k.double(), site.v.double(), site.scoring)
    for cell in some_cells(site):
        at = (cell.batch, cell.head, cell.i, cell.j)
        assert cell.products == pytest.approx(float(dense.products[at]), rel=1e-12)
        assert math.fsum(cell.terms) == pytest.approx(cell.products, rel=1e-9, abs=1e-12)
        assert [q * k for q, k in zip(cell.q, cell.k, strict=True)] == cell.terms
        assert cell.scaled == cell.products * cell.scale
        assert cell.recomputed == pytest.approx(float(dense.weights[at]), rel=1e-12)
        if cell.visible:
            assert cell.score == pytest.approx(float(dense.scores[at]), rel=1e-12)
            assert cell.recomputed == pytest.approx(math.exp(cell.score - cell.peak - cell.logsum), rel=1e-12)
            parts = cell.scaled if cell.capped is None else cell.capped
            assert cell.score == pytest.approx(parts + (cell.bias or 0.0), rel=1e-12)
        else:
            assert cell.score == -math.inf and cell.recomputed == cell.shown == 0.0 and cell.rank is None


def test_a_float64_model_is_shown_in_float64_and_its_cells_re_add(
    scoring_name: str, make_site: MakeSite
) -> None:
    site = make_site(scoring_name, dtype=torch.float64)
    assert site.weights(0).dtype == torch.float64
    for cell in some_cells(site):
        assert cell.readds and cell.difference < 1e-13


@pytest.mark.parametrize(
    ("eager", "dtype"),
    [
        (False, torch.float32),
        (False, torch.bfloat16),
        (True, torch.float32),
        (True, torch.bfloat16),
        (True, torch.float16),
    ],
)
def test_shown_and_recomputed_agree_within_what_is_allowed(
    eager: bool, dtype: torch.dtype, scoring_name: str, make_site: MakeSite
) -> None:
    site = make_site(scoring_name, dtype=dtype, eager=eager)
    for cell in some_cells(site):
        assert cell.readds, (cell.shown, cell.recomputed, cell.allowed)
        assert cell.difference == abs(cell.shown - cell.recomputed)
        assert cell.shown == float(site.weights(cell.head, cell.i, cell.j, batch=cell.batch))
        rounds = eager and dtype != torch.float32
        assert cell.allowed < (0.35 if rounds else 2e-4) * max(cell.recomputed, 1e-3)


def test_a_weight_that_is_wrong_does_not_readd(make_site: MakeSite) -> None:
    from attnscope.recording.cell import cell_of

    site = make_site()
    true = site.cell(2, 30, 11)
    for wrong in (true.shown * 1.001, true.shown + 1e-4, 0.0):
        assert not cell_of(site.bound, site.v, 2, 30, 11, batch=0, shown=wrong).readds


def test_rank_and_row_keys_count_what_the_row_sees(make_site: MakeSite) -> None:
    site = make_site("window")
    row = site.weights(1, 20)[0]
    order = row.argsort(descending=True)
    assert [site.cell(1, 20, int(order[n])).rank for n in range(6)] == [1, 2, 3, 4, 5, 6]
    assert site.cell(1, 20, 17).row_keys == 6 and site.cell(1, 2, 1).row_keys == 3


def test_the_value_is_mixed_in_as_the_output_says(make_site: MakeSite) -> None:
    site = make_site()
    cells = [site.cell(4, 9, j) for j in range(10)]
    out = site.out
    assert out is not None
    total = torch.tensor([cell.value.part for cell in cells if cell.value is not None]).sum(dim=0)
    torch.testing.assert_close(total, out[0, 4, 9].double().to(total.dtype), rtol=1e-5, atol=1e-5)
    value = cells[3].value
    assert value is not None and value.norm == pytest.approx(float(torch.tensor(value.v).double().norm()))
    assert value.mix == pytest.approx(cells[3].recomputed * value.norm)
    assert make_site(keep="qk").cell(4, 9, 3).value is None


@pytest.mark.parametrize(
    ("name", "i", "j", "batch", "why"),
    [
        ("causal", 27, 21, 0, "21 <= 27"),
        ("causal", 21, 22, 0, "22 > 21"),
        ("window", 20, 17, 0, "15 <= 17 <= 20"),
        ("window", 20, 14, 0, "14 < 15"),
        ("full", 3, 30, 0, "the row sees every key"),
        ("padded", 20, 3, 1, "key 3 is padding"),
        ("padded", 20, 9, 1, "9 <= 20"),
        ("rule", 9, 9, 0, "the mask allows it"),
        ("rule", 1, 1, 0, "the mask hides it"),
    ],
)
def test_why_a_key_is_seen_or_not(
    name: str, i: int, j: int, batch: int, why: str, make_site: MakeSite
) -> None:
    cell = make_site(name).cell(0, i, j, batch=batch)
    assert cell.why == why
    assert cell.visible == (
        ">" not in why and why not in ("14 < 15", "key 3 is padding", "the mask hides it")
    )


def test_a_row_that_sees_nothing_is_zero_and_says_so(make_site: MakeSite) -> None:
    cell = make_site("padded").cell(0, 4, 9, batch=1)
    assert (cell.recomputed, cell.shown, cell.readds, cell.row_keys, cell.rank) == (0.0, 0.0, True, 0, None)
    assert (cell.peak, cell.logsum, cell.lse) == (-math.inf, 0.0, -math.inf)


def test_a_cell_is_plain_data_for_json(make_site: MakeSite) -> None:
    plain = json.loads(json.dumps(make_site().cell(2, 3, 9).to_dict(), allow_nan=False))
    assert plain["score"] == "-inf" and plain["visible"] is False and plain["why"] == "9 > 3"
    assert len(plain["terms"]) == 13 and len(plain["value"]["v"]) == 11
