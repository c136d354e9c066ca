"""A tensor that grows in a file: what comes back is what came, whenever it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnscope.recording.strips import ROOM, FileStrip, MemoryStrip, Strip

B, H, D = 3, 2, 5
STEP = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 2 * ROOM)),
    st.tuples(st.just("append"), st.just(1)),
    st.tuples(st.just("cut"), st.integers(0, 3 * ROOM)),
    st.tuples(st.just("reorder"), st.integers(0, 5)),
    st.tuples(st.just("whole"), st.just(0)),
)


def in_a_file(folder: Path) -> Strip:
    return FileStrip(folder / "rows.growing")


def in_memory(folder: Path) -> Strip:
    return MemoryStrip()


@pytest.mark.parametrize("make", [in_a_file, in_memory])
@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEP, max_size=12))
def test_what_grew_is_what_came(
    make: Callable[[Path], Strip], tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    strip, own = make(tmp_path_factory.mktemp("strip")), torch.Generator().manual_seed(3)
    want = torch.randn(B, H, 2, D, generator=own)
    strip.append(want)
    for step, number in steps:
        if step == "append":
            more = torch.randn(B, number, H, D, generator=own).transpose(1, 2)
            strip.append(more)
            want = torch.cat([want, more], dim=2)
        elif step == "cut":
            strip.cut(number)
            want = want[:, :, :number]
        elif step == "reorder":
            parents = [(number + b) % B for b in range(B)]
            strip.reorder(parents)
            want = want[parents]
        elif want.shape[2]:
            assert torch.equal(strip.whole(), want)
        assert strip.size == want.shape[2]
    if want.shape[2]:
        assert torch.equal(strip.whole(), want)
    strip.drop()
    assert strip.size == 0


def test_the_rows_of_single_steps_are_written_many_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, strip = list[str](), FileStrip(tmp_path / "rows.growing")
    really = Path.open

    def counted(path: Path, mode: str = "r") -> object:
        opened.append(mode)
        return really(path, mode)

    monkeypatch.setattr(Path, "open", counted)
    rows: Tensor = torch.randn(1, 2, 10 * ROOM, 3)
    for i in range(10 * ROOM):
        strip.append(rows[:, :, i : i + 1])
    assert opened == ["ab"] * 9  # the last ones wait
    assert torch.equal(strip.whole(), rows)
