"""A model that computes attention in its own code has pictures and certificates on the page, no weights."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch

from attnscope.errors import NotKept
from attnscope.models import open_model
from attnscope.models.reading import HIDDEN
from attnscope.web.refusals import status_of
from attnscope.web.results import result_of
from attnscope.web.views import Views

TEXT = "what light is it now"
LONG = " ".join(["light is the cat sat on the mat, lighter"] * 8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tiny = runpy.run_path(str(Path(__file__).parents[1] / "models" / "tiny.py"))
    made: Path = tiny["bloom_folder"](tmp_path_factory.mktemp("hf") / "tiny-bloom")
    return made


def test_pictures_entropies_and_certificates_are_there_and_weights_are_refused_in_words(folder: Path) -> None:
    views = Views(open_model(str(folder)).run(TEXT))
    result = result_of(views)
    assert [(site["route"], site["d"], site["causal"]) for site in result["sites"]] == [
        ("softmax", None, True)
    ] * 2
    assert result["certificate"]["passed"] == 8 and result["bit_equal"] is True
    t = views.sites[0].tq
    pictures = views.thumbnails()
    assert pictures.shape == (8, t, t) and bool((pictures[:, 0, 1:] == HIDDEN).all())
    torch.testing.assert_close(pictures.clamp(min=0).sum(dim=-1), torch.ones(8, t), rtol=0, atol=1e-5)
    assert views.sides(1, 2)["entropy"].shape == (t,)
    with pytest.raises(NotKept, match="the model's own code made the grid") as error:
        views.grid(1, 2, slice(0, t), slice(0, t))
    assert status_of(error.value) == 409
    for wish in (lambda: views.row(0, 0, 3), lambda: views.column(0, 0, 3), lambda: views.cell(0, 0, 3, 2)):
        with pytest.raises(NotKept):
            wish()


def test_a_long_text_has_pictures_of_64_blocks_at_most(folder: Path) -> None:
    views = Views(open_model(str(folder)).run(LONG))
    assert views.sites[0].tq > 64
    assert max(views.thumbnails().shape[1:]) <= 64
