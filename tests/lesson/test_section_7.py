"""Section 7, what it costs: the square, the tiles in its place, the window, and the measurement."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from attnscope import lesson
from attnscope.core.dense import steps
from attnscope.core.masks import full, window
from attnscope.errors import LessonError
from attnscope.lesson.cost import LENGTHS, Cost
from attnscope.lesson.drawn import normal
from attnscope.lesson.measuring import measure as measuring
from attnscope.lesson.measuring.children import Child, ChildFailed, Stop, Stopped
from attnscope.lesson.measuring.measure import Progress, lengths_to, measure_cost
from attnscope.lesson.measuring.measured import Measured
from attnscope.lesson.measuring.ways import ROOM, WAYS, dense
from attnscope.looks.numbers import size


@pytest.fixture(scope="module")
def cost() -> Cost:
    found: Cost = lesson.cost()
    return found


@pytest.fixture(scope="module")
def told() -> list[Progress]:
    """What the measurement of `measured` told as it went."""
    return []


@pytest.fixture(scope="module")
def measured(told: list[Progress]) -> Measured:
    """A small measurement whose budget leaves the whole grid out at its last length."""
    return measure_cost(lengths=(2048, 4096), budget_mb=48, repeats=2, progress=told.append)


@pytest.mark.parametrize(
    ("tokens", "cells", "nbytes", "written"),
    [
        (64, 4_096, 16 * 2**10, "16 KB"),
        (1_024, 1_048_576, 4 * 2**20, "4 MB"),
        (8_192, 67_108_864, 256 * 2**20, "256 MB"),
        (131_072, 17_179_869_184, 65_536 * 2**20, "64 GB"),
    ],
)
def test_one_heads_grid_in_float32(cost: Cost, tokens: int, cells: int, nbytes: int, written: str) -> None:
    at = cost.lengths.index(tokens)
    assert (cost.cells[at], cost.grid_bytes[at]) == (cells, nbytes)
    assert cost.tables()[0].rows[at][:3] == (f"{tokens:,}", f"{cells:,}", written)


def test_the_table_says_256_times_and_65_536_mb(cost: Cost) -> None:
    table = cost.tables()[0]
    assert table.rows[cost.lengths.index(1024)][3] == "256"
    assert "65,536 MB = 64 GB" in table.note


def test_the_grid_grows_with_the_square_and_the_tiles_with_the_length(cost: Cost) -> None:
    for at in range(1, len(cost.lengths)):
        assert cost.cells[at] == 4 * cost.cells[at - 1]
        assert cost.rows_bytes[at] == 2 * cost.rows_bytes[at - 1]
    assert max(cost.tile_bytes) == cost.tile_bytes[-1] == 2 * 2**20
    assert cost.rows_bytes[-1] == 131_072 * (64 + 2) * 4


def test_tiles_give_the_grids_output(cost: Cost) -> None:
    assert 0 < cost.difference < 5e-7
    assert cost.compared == 1024


def test_a_window_costs_t_times_w_less_what_its_first_rows_lack(cost: Cost) -> None:
    for tokens, line in zip(cost.lengths, cost.window_cells, strict=True):
        for width, cells in zip(cost.windows, line, strict=True):
            short = min(width, tokens)
            assert cells == tokens * short - short * (short - 1) // 2
            assert cells <= tokens * width
    last = cost.window_cells[-1][cost.windows.index(512)]
    assert last == pytest.approx(131_072 * 512, rel=0.01)


def test_the_window_of_the_count_is_the_mask_of_that_name() -> None:
    found = lesson.cost(lengths=(7, 13), windows=(1, 5))
    q = torch.zeros(1, 1, 13, 3)
    assert found.window_cells[1] == tuple(
        int(steps(q, q, q, window(width - 1)).visible.sum()) for width in (1, 5)
    )


def test_both_families_are_named(cost: Cost) -> None:
    said = " ".join(" ".join(row) for row in cost.tables()[-1].rows)
    for name in ("tiled exact attention", "restricted patterns", "FlashAttention", "scaled_dot_product"):
        assert name in said


def test_the_data_are_json_and_the_figure_holds_them(cost: Cost) -> None:
    assert json.loads(json.dumps(cost.to_dict(), allow_nan=False))["cells"][-1] == 17_179_869_184
    held, computed = cost.plot().axes
    assert list(held.lines[0].get_ydata()) == list(cost.grid_bytes)
    assert list(computed.lines[0].get_ydata()) == list(cost.cells)
    assert list(held.lines[0].get_xdata()) == list(LENGTHS)


@pytest.mark.parametrize(
    "wrong",
    [{"lengths": ()}, {"lengths": (64, 64)}, {"lengths": (0,)}, {"windows": (4, 2)}, {"d": 0}, {"seed": -1}],
)
def test_a_count_that_cannot_be_is_refused_with_what_is_wanted(wrong: dict[str, object]) -> None:
    with pytest.raises(LessonError, match="whole number"):
        lesson.cost(**wrong)


def test_the_dense_way_that_is_measured_is_the_oracle_in_one_grid() -> None:
    q, k, v = (normal(1, 1, 53, 7, seed=at) for at in range(3))
    assert torch.allclose(dense(q, k, v), steps(q, k, v, full()).out, atol=5e-7, rtol=0)


def test_every_way_that_says_so_gives_the_same_output() -> None:
    q, k, v = (normal(1, 1, 300, 16, seed=at) for at in range(3))
    right = steps(q, k, v).out
    for way in WAYS.values():
        if way.same:
            assert torch.allclose(way.run(q, k, v, 8), right, atol=5e-7, rtol=0), way.name
    seen = steps(q, k, v, window(7)).out
    assert torch.allclose(WAYS["window"].run(q, k, v, 8), seen, atol=5e-7, rtol=0)


def test_time_and_peak_memory_are_measured_for_every_way(measured: Measured) -> None:
    rows = [row for row in measured.rows if row.state == "measured"]
    assert {row.way for row in rows} == set(WAYS)
    for row in rows:
        assert row.repeats == 2
        assert 0 < row.least <= row.seconds <= row.most  # type: ignore[operator]
        assert row.peak is not None and 0 <= row.peak < row.stated


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak is counted from the process's start")
def test_the_grids_peak_is_its_grid_and_the_tiles_stay_under_it(measured: Measured) -> None:
    peak = {(row.way, row.tokens): row.peak for row in measured.rows}
    grid = peak["dense", 2048]
    assert grid is not None
    assert 4 * 2048**2 <= grid < 4 * 2048**2 + ROOM
    for way in ("tiles", "sdpa"):
        assert peak[way, 2048] < grid  # type: ignore[operator]


def test_outputs_of_different_processes_agree(measured: Measured) -> None:
    for row in measured.rows:
        if row.way == "tiles" or (row.way, row.tokens) == ("dense", 2048):
            assert row.difference is not None and row.difference < 5e-7
        else:
            assert row.difference is None


def test_what_would_pass_the_budget_is_not_run_and_says_so(measured: Measured) -> None:
    row = next(row for row in measured.rows if (row.way, row.tokens) == ("dense", 4096))
    assert (row.state, row.seconds, row.peak) == ("skipped", None, None)
    assert row.stated > 48 * 2**20
    assert row.reason == f"4,096 tokens would take {size(row.stated)}, past the budget of 48 MB"
    table = measured.tables()[0]
    assert table.rows[1][:2] == ("4,096", "not run")
    assert row.reason in table.note
    ran = [row for row in measured.rows if row.state == "measured"]
    assert all(row.stated <= 48 * 2**20 for row in ran)
    assert len(ran) == 7


def test_progress_goes_up_and_ends_with_all_rows(measured: Measured, told: list[Progress]) -> None:
    done = [one.done for one in told]
    assert done == sorted(done)
    assert told[-1].done == pytest.approx(told[-1].total)
    assert told[-1].rows == measured.rows
    assert told[-1].seconds_left == 0
    assert told[0].seconds_left is None
    assert any("4,096 tokens, our tiles" in one.text for one in told)


def test_a_measurement_is_json_and_draws_what_it_measured(measured: Measured) -> None:
    data = json.loads(json.dumps(measured.to_dict(), allow_nan=False))
    assert len(data["rows"]) == 8
    assert data["attention_takes"] == "sdpa"
    time, memory = measured.plot().axes
    row = [one.seconds for one in measured.rows if one.way == "tiles"]
    assert list(time.lines[1].get_ydata()) == row
    assert len(memory.lines) == 4


def _wish(tmp_path: object, **other: object) -> dict[str, object]:
    return {
        "way": "sdpa", "tokens": 64, "d": 8, "window": 4, "threads": 1, "seed": 1, "out": f"{tmp_path}/out",
    } | other  # fmt: skip


def test_a_stop_ends_the_child_in_the_middle_of_its_work(tmp_path: object) -> None:
    stop = Stop()
    with Child(_wish(tmp_path), stop) as child:
        child.ready()
        stop.ask()
        with pytest.raises(Stopped):
            child.run()
    assert child._process.returncode is not None


def test_a_stopped_measurement_leaves_no_child_and_starts_none() -> None:
    stop = Stop()
    children: list[Child] = []

    def after_the_first(progress: Progress) -> None:
        children.extend(stop._children)
        if "PyTorch" in progress.text:
            stop.ask()

    with pytest.raises(Stopped):
        measure_cost(lengths=(512,), budget_mb=64, progress=after_the_first, stop=stop)
    assert children
    assert all(child._process.returncode is not None for child in children)
    with pytest.raises(Stopped):
        measure_cost(lengths=(512,), budget_mb=64, stop=stop)


def test_a_child_whose_parent_is_gone_ends_itself(tmp_path: object) -> None:
    with Child(_wish(tmp_path), Stop()) as child:
        child.ready()
        child._asks.close()  # what the end of the parent does to it
        assert child._process.wait(20) == 0


def test_a_child_that_cannot_says_why(tmp_path: object) -> None:
    with Child(_wish(tmp_path, way="window", window=0), Stop()) as child, pytest.raises(ChildFailed):
        child.ready()
    with Child(_wish(tmp_path, way="none"), Stop()) as child, pytest.raises(ChildFailed, match="KeyError"):
        child.ready()


@pytest.mark.skipif(sys.platform != "linux", reason="the system keeps a process to its count on Linux alone")
def test_a_way_that_wants_more_than_it_was_counted_for_is_refused_it() -> None:
    import subprocess

    program = (
        "import torch\nfrom attnscope.lesson.measuring.meter import refuse_beyond\n"
        "refuse_beyond(64 * 2**20)\ntorch.zeros(2**20)\n"
        "try:\n    torch.zeros(2**26)\nexcept RuntimeError: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "refused"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"budget_mb": 31}, "32"),
        ({"budget_mb": 2.5}, "whole number"),
        ({"budget_mb": True}, "whole number"),
        ({"lengths": (1024, 512)}, "Ascending"),
        ({"lengths": (262_144,)}, "131,072"),
        ({"repeats": 0}, "from 1"),
        ({"threads": 0}, "from 1"),
        ({"window": 0}, "from 1"),
    ],
)
def test_a_measurement_that_cannot_be_is_refused_before_anything_runs(
    wrong: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "Child", None)
    with pytest.raises(LessonError, match=said):
        measure_cost(**wrong)  # type: ignore[arg-type]


def test_a_budget_past_what_the_machine_has_free_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "available", lambda: 100 * 2**20)
    with pytest.raises(LessonError, match="has free, which is 100 MB"):
        measure_cost(budget_mb=101)


def test_lengths_are_doublings_to_a_longest() -> None:
    assert lengths_to(2048) == (512, 1024, 2048)
    assert lengths_to(131_072)[-1] == 131_072
    with pytest.raises(LessonError, match="One of 512, 1,024"):
        lengths_to(1000)
