"""Every score of random heads against its definition written out over the whole grid, in float64."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnscope.core.dense import steps
from attnscope.core.masks import causal, full, padding, window
from attnscope.measure.scores import NEAR, SCORES, SINK_ROWS
from attnscope.measure.texts import Text
from attnscope.measure.values import scores_of_text
from attnscope.recording import Site

from .sites import site_from

H, HK, D = 6, 2, 7
MASKS = {"causal": causal(), "full": full(), "window": window(5, 0) & causal()}


def dense(score: str, a: Tensor, ids: list[int], n: int, rows: range) -> Tensor:
    """A score of grids (h tq tk) by its words alone; rows: those that count."""
    place = torch.arange(a.shape[-1])
    away = (place[:, None] - place).abs()
    target = torch.zeros(a.shape[1:], dtype=torch.float64)  # 1 after each earlier copy
    for i in rows:
        for p in rows[: i - rows.start]:
            target[i, p + 1] = float(ids[p] == ids[i])
    after = (a * target).sum(dim=(1, 2))
    asking = int(target.any(dim=1).sum())
    kept, first = a[:, rows.start : rows.stop], rows.start
    on_keys = kept.sum(dim=(1, 2))
    stripes: dict[str, tuple[int, int]] = {
        "previous_token": (1, 1), "induction_stripe": (n, n - 1), "duplicate_token": (n, n),
    }  # fmt: skip
    if score in stripes:
        start, back = stripes[score]
        return torch.stack([a[:, i, i - back] for i in rows[start:]]).mean(dim=0)
    ways: dict[str, Callable[[], Tensor]] = {
        "self_token": lambda: torch.stack([a[:, i, i] for i in rows]).mean(dim=0),
        "local": lambda: (kept * (away[rows.start : rows.stop] <= NEAR)).sum(dim=(1, 2)) / len(rows),
        "sink": lambda: kept[:, :SINK_ROWS, first].mean(dim=-1),
        "learned_sink": lambda: (1 - kept.sum(dim=-1)).mean(dim=-1),
        "entropy": lambda: -torch.special.xlogy(kept, kept).sum(dim=-1).mean(dim=-1),
        "distance": lambda: (kept * away[rows.start : rows.stop]).sum(dim=(1, 2)) / on_keys,
        "induction_mass": lambda: after / asking,
        "induction_mul": lambda: after / on_keys,
        "induction_mul_rest": lambda: after / (on_keys - kept[:, :, first].sum(dim=-1)),
        "prefix_matching": lambda: after / target.sum(),
    }
    return ways[score]()


def judged(site: Site, text: Text, rows: range) -> None:
    """Compare every score that this kind of text is for, and that of the uniform head."""
    grid = steps(site.q.double(), site.k.double(), site.k.double(), site.scoring)
    flat = grid.visible.double() / grid.visible.sum(dim=-1, keepdim=True).clamp(min=1)
    values, level, reasons = scores_of_text(site, text)
    asked = [score.name for score in SCORES if score.text == text.kind]
    assert set(values) | set(reasons) == set(asked)
    for name in values:
        expected = dense(name, grid.weights[0], list(text.ids or ()), text.period or 0, rows)
        uniform = dense(name, flat[0], list(text.ids or ()), text.period or 0, rows)
        assert torch.allclose(values[name], expected, rtol=2e-5, atol=2e-6), name
        assert torch.allclose(level[name].expand(H), uniform, rtol=1e-9, atol=1e-12), name


@pytest.mark.parametrize("mask", MASKS)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**31), length=st.integers(3, 70), words=st.integers(1, 12))
def test_scores_of_running_text_are_their_definitions(mask: str, seed: int, length: int, words: int) -> None:
    make = torch.Generator().manual_seed(seed)
    ids = tuple(torch.randint(words, (length,), generator=make).tolist())
    site = site_from(make, MASKS[mask], length, heads=(H, HK, D), sinks=seed % 2 == 0)
    judged(site, Text("plain", "", ids), range(length))


@pytest.mark.parametrize("mask", MASKS)
@settings(max_examples=3)
@given(seed=st.integers(0, 2**31), n=st.integers(2, 13))
def test_scores_of_random_tokens_are_their_definitions(mask: str, seed: int, n: int) -> None:
    make = torch.Generator().manual_seed(seed)
    twice = Text("twice", "", tuple(range(n)) * 2, period=n)
    judged(site_from(make, MASKS[mask], 2 * n, heads=(H, HK, D)), twice, range(2 * n))
    four = Text("four", "", (n, *range(n), *range(n), *range(n), *range(n)), period=n)
    judged(site_from(make, MASKS[mask], 4 * n + 1, heads=(H, HK, D)), four, range(4 * n + 1))


@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_and_keys_of_padding_count_for_nothing(side: str) -> None:
    make, length, pad = torch.Generator().manual_seed(3), 31, 6
    place = torch.arange(length)
    real = place >= pad if side == "left" else place < length - pad
    rows = range(pad, length) if side == "left" else range(length - pad)
    site = site_from(make, causal() & padding(real[None]), length, heads=(H, HK, D))
    judged(site, Text("plain", "", tuple((place * 7 % 5).tolist())), rows)


def test_long_groups_in_small_pieces_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    make = torch.Generator().manual_seed(4)
    site = site_from(make, causal(), 60, heads=(H, HK, D))
    text = Text("plain", "", tuple((torch.arange(60) % 3).tolist()))
    whole, _, _ = scores_of_text(site, text)
    monkeypatch.setattr("attnscope.core.picked.CELLS", 400)
    again, _, _ = scores_of_text(site, text)
    assert torch.allclose(whole["induction_mass"], again["induction_mass"], rtol=1e-7)
