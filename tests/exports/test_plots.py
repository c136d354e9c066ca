"""Pictures in an Axes of one's own, in the page's colours, and grids in the shapes that other tools take."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

import attnscope as ats
from attnscope.errors import NotKept, RecordingError, ShapeError, TooLarge, Uncertified
from attnscope.looks.drawing import colour_map
from attnscope.recording import Places, Recording, Run
from tests.heard import embedded
from tests.recording.conftest import make_site  # noqa: F401

TEXT = "But, soft!\nwhat"


@pytest.fixture(scope="module")
def recording() -> Recording:
    return embedded(TEXT)


@pytest.fixture(autouse=True)
def _nothing_of_matplotlib_is_changed() -> Iterator[None]:
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before
    import sys

    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_a_figure_of_its_own_is_a_picture_in_a_notebook_that_knows_no_pyplot(recording: Recording) -> None:
    made: Any = ats.plot_tokens(recording, 2, 1, query=-1).figure
    assert made._repr_png_().startswith(b"\x89PNG")
    assert type(pickle.loads(pickle.dumps(made))) is type(made)  # noqa: S301 - our own bytes


def test_a_head_is_drawn_into_the_axes_that_was_given(recording: Recording) -> None:
    ax = Figure().subplots()
    assert ats.plot_head(recording, 2, 1, ax=ax) is ax
    (image,) = ax.images
    weights, visible = recording.site(2).weights(1), recording.site(2).visible(1)
    shown = image.get_array()
    assert np.array_equal(shown[visible.numpy()], weights[visible].double().numpy())
    assert bool(np.ma.getmaskarray(shown)[~visible.numpy()].all())
    assert [label.get_text() for label in ax.get_yticklabels()] == [*"But,", "␣", *"soft!", "↵", *"what"]
    ax.figure.canvas.draw()


def test_long_tokens_stand_upright_over_the_keys(recording: Recording, make_site: Any) -> None:  # noqa: F811
    words = tuple({"text": "attention"} for _ in range(37))
    long = Recording([Run(0, "", [make_site()])], places={"decoder": Places(words)})
    for one, site, angle in ((recording, 2, 0), (long, 0, 90)):
        ax = ats.plot_head(one, site, 1)
        assert {label.get_rotation() for label in ax.get_xticklabels()} == {angle}
        assert {label.get_rotation() for label in ax.get_yticklabels()} == {0}


def test_a_weight_has_the_colour_of_the_page(recording: Recording) -> None:
    ax = ats.plot_head(recording, 2, 1)
    (image,) = ax.images
    assert (image.norm.vmin, image.norm.vmax) == (0, 1)
    for weight in (0.0, 0.3, 1.0):
        assert image.cmap(image.norm(weight)) == colour_map()(weight)
    (logarithmic,) = ats.plot_head(recording, 2, 1, scale="log").images
    assert logarithmic.norm(1e-2) == pytest.approx(0.5)


def test_part_of_a_head_stands_at_its_own_rows_and_keys(recording: Recording) -> None:
    ax = ats.plot_head(recording, 2, 1, rows=slice(4, 9), cols=slice(2, 9))
    assert ax.get_ylim() == (8.5, 3.5) and ax.get_xlim() == (1.5, 8.5)
    assert ax.images[0].get_array().shape == (5, 7)


def test_all_heads_are_drawn_small_and_a_refused_one_is_crossed_out(
    recording: Recording,
    make_site: Any,  # noqa: F811
) -> None:
    ax = Figure().subplots()
    assert ats.plot_heads(recording, ax=ax) is ax
    assert len(ax.images) == 36
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"L{layer}" for layer in range(6)]
    refused = Recording([Run(0, "", [make_site(out=make_site().out.flip(2))])])
    ax = ats.plot_heads(refused)
    assert len(ax.images) == 0 and len(ax.lines) == 12


def test_the_tokens_of_a_query_are_shaded_by_its_weights(recording: Recording) -> None:
    ax = Figure().subplots()
    assert ats.plot_tokens(recording, 2, 1, 9, ax=ax) is ax
    assert [text.get_text() for text in ax.texts] == [*"But,", "␣", *"soft!", "↵", *"what"]
    row = recording.site(2).weights(1, 9)[0]
    for at, patch in enumerate(ax.patches):
        assert (patch.get_hatch() is not None) == (at > 9)
        if at <= 9:
            assert patch.get_facecolor() == pytest.approx(colour_map()(float(row[at])))
    assert [patch.get_linewidth() > 0 for patch in ax.patches].index(True) == 9
    ax.figure.canvas.draw()


def test_what_cannot_be_drawn_is_refused(recording: Recording, make_site: Any) -> None:  # noqa: F811
    with pytest.raises(RecordingError, match=r"ax is a int. An Axes"):
        ats.plot_head(recording, 2, 1, ax=5)  # type: ignore[arg-type]
    with pytest.raises(RecordingError, match="scale='blue'"):
        ats.plot_head(recording, 2, 1, scale="blue")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="There is no query 15"):
        ats.plot_tokens(recording, 2, 1, 15)
    refused = Recording([Run(0, "", [make_site(out=make_site().out.flip(2))])])
    with pytest.raises(Uncertified):
        ats.plot_head(refused, 0, 1)


def test_bertviz_gets_the_very_grids(recording: Recording) -> None:
    told = ats.dense_for_bertviz(recording)
    assert set(told) == {"attention", "tokens"}
    assert "".join(told["tokens"]) == TEXT
    assert len(told["attention"]) == 6 and told["attention"][0].shape == (1, 6, 15, 15)
    for site, grids in zip(recording.sites, told["attention"], strict=True):
        for head in range(6):
            assert torch.equal(grids[0, head], site.weights(head))


def test_circuitsvis_gets_the_grids_of_one_call(recording: Recording) -> None:
    told = ats.dense_for_circuitsvis(recording, 3)
    assert "".join(told["tokens"]) == TEXT
    assert told["attention"].shape == (6, 15, 15)
    assert torch.equal(told["attention"][5], recording.site(3).weights(5))


def test_a_dense_grid_is_refused_past_a_stated_size(recording: Recording) -> None:
    with pytest.raises(TooLarge, match=r"36 heads with 8,100 cells together were asked for. At most 8,000"):
        ats.dense_for_bertviz(recording, most=8_000)
    with pytest.raises(TooLarge):
        ats.dense_for_circuitsvis(recording, most=1_000)


def test_values_are_drawn_in_place_of_weights_and_said(recording: Recording) -> None:
    site = recording.site(2)
    mixes, visible = site.mixes(1).values, site.visible(1)
    ax = ats.plot_head(recording, 2, 1, values=True)
    (image,) = ax.images
    assert np.array_equal(image.get_array()[visible.numpy()], mixes[visible].double().numpy())
    assert image.norm.vmax == float(mixes.max()) and ax.get_title() == "Layer 2, head 1: weight × |v W_O|"
    assert "the strongest colour is " in ax.get_xlabel()
    assert "|v W_O|: the length of the key's value after W_O" in ax.get_xlabel()
    assert max(map(len, ax.get_xlabel().splitlines())) <= 64
    small = ats.plot_heads(recording, 2, values=True)
    assert small.get_xlabel() == "weight × |v W_O|, each row by its own largest"
    own = mixes / mixes.amax(1, keepdim=True)
    assert np.array_equal(small.images[1].get_array()[visible.numpy()], own[visible].double().numpy())
    tokens = ats.plot_tokens(recording, 2, 1, -1, values=True)
    last = mixes[-1]
    chips = [patch.get_facecolor() for patch in tokens.patches]
    assert chips == [colour_map()(float(x) / float(last.max())) for x in last]
    assert "weight × |v W_O|, the strongest colour is " in tokens.get_title()


def test_values_of_which_no_length_is_known_are_refused(make_site: Any) -> None:  # noqa: F811
    old = Recording(runs=[Run(0, "", [make_site()])])
    for draw in (
        lambda: ats.plot_head(old, 0, 1, values=True), lambda: ats.plot_heads(old, values=True),
        lambda: ats.plot_tokens(old, 0, 1, values=True),
    ):  # fmt: skip
        with pytest.raises(NotKept, match="no lengths of values: the recording is from before"):
            draw()
