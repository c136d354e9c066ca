"""docs/zoo.md says what the zoo's table says, and its figures are those of models that pass."""

from __future__ import annotations

import pytest
import torch

from attnscope.core.verdict import thresholds_of
from tests.zoo.page import PAGE, cells, head, page
from tests.zoo.table import CASES

BEGIN = head()
HINT = "run: make zoo"


@pytest.fixture(scope="module")
def text(request: pytest.FixtureRequest) -> str:
    """The page, written anew where that was asked for."""
    if request.config.getoption("--write"):
        PAGE.write_text(page(), encoding="utf-8")
    return PAGE.read_text("utf-8")


def test_the_page_begins_with_the_words_of_the_program_that_writes_it(text: str) -> None:
    assert text.startswith(BEGIN), HINT


def test_the_page_has_a_line_for_every_family_and_attention_of_the_table(text: str) -> None:
    lines = text.removeprefix(BEGIN).splitlines()
    assert [[cell.strip() for cell in line.split("|")[1:-2]] for line in lines] == [
        cells(row, attention) for row, attention in CASES
    ], HINT


def test_the_largest_z_of_every_line_is_one_that_passes(text: str) -> None:
    for line, (row, _) in zip(text.removeprefix(BEGIN).splitlines(), CASES, strict=True):
        figure = line.split("|")[-2].strip()
        limit = thresholds_of("sdpa", torch.float32).z
        assert (0 < float(figure) < limit) if row.stacks else (figure == "none"), line
