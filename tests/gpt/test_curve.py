"""The loss curve as files."""

from __future__ import annotations

from pathlib import Path

from attnscope.gpt.curve import write_curve
from attnscope.gpt.history import History


def test_a_table_and_a_picture_are_written(tmp_path: Path) -> None:
    write_curve(History([3.0, 2.0, 1.5], {2: 2.5, 3: 1.75}), tmp_path, "three steps")
    assert (tmp_path / "losses.csv").read_text().splitlines()[2] == "2,2.000000,2.500000"
    picture = (tmp_path / "losses.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == (1280, 800)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["losses.csv", "losses.png"]


def test_a_run_without_a_step_has_a_picture_too(tmp_path: Path) -> None:
    write_curve(History(), tmp_path, "nothing yet")
    assert (tmp_path / "losses.csv").read_text() == "step,training_loss,validation_loss\n"
