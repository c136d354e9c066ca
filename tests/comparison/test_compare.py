"""Heads ranked by how far their rows are apart: held against a dense float64 definition, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
import torch

import attnscope
from attnscope.comparison import compare
from attnscope.comparison.alignment import align
from attnscope.comparison.contrast import UNSEEN, Contrast
from attnscope.core.masks import causal, padding
from attnscope.core.scoring import Scoring
from attnscope.errors import NotKept, RecordingError, ShapeError, TooLarge, Uncertified
from attnscope.maps.head import of_call
from attnscope.recording import Recording
from attnscope.recording.shelf import InMemory

from .conftest import dense

A, B = "the cat sat on the mat.\nthe end", "the black cat sat on that mat,\nthe end!"

Look = Callable[..., Recording]


def test_a_recording_differs_from_itself_in_nothing(look: Look) -> None:
    found = compare(look("one", A), look("one", A))
    assert (found.how, len(found.heads), found.left_out) == ("position", 6, ())
    for one in found.heads:
        assert (one.mean, one.largest, one.lost_a, one.rows_a) == (0.0, 0.0, 0.0, 0)
        assert one.rows == len(A)


@pytest.mark.parametrize("how", ["position", "token", "text"])
def test_two_texts_differ_as_the_dense_definition_says(how: str, look: Look) -> None:
    a, b = look("one", A), look("one", B)
    found = compare(a, b, how)
    assert found.how == how and len(found.heads) == 6
    assert [one.mean for one in found.heads] == sorted((one.mean for one in found.heads), reverse=True)
    for one in found.heads:
        contrast = found.contrast(one.layer, one.head)
        grids = [side.site(one.layer).weights(one.head) for side in (a, b)]
        wanted = dense(*grids, contrast.rows, contrast.cols)
        torch.testing.assert_close(contrast.distances().distance, wanted, rtol=0, atol=2e-6)
        assert one.mean == pytest.approx(float(wanted.mean()), abs=2e-6)
        assert one.largest == pytest.approx(float(wanted.max()), abs=2e-6)
        at = int(wanted.argmax())
        slot = int(contrast.distances().slots[at])
        assert contrast.rows.a.of[one.row_a] == slot == contrast.rows.b.of[one.row_b]


def test_two_models_on_one_text_are_ranked_by_either_measure(look: Look) -> None:
    found = compare(look("one", A), look("two", A))
    assert found.how == "position" and found.heads[0].mean > 0.05
    for by in ("mean", "largest"):
        values = [getattr(one, by) for one in found.ordered(by)]
        assert values == sorted(values, reverse=True)
    with pytest.raises(RecordingError, match=r"Heads by 'median'\. 'mean' or 'largest'\."):
        found.ordered("median")


def test_bfloat16_is_close_to_float32_and_not_equal(look: Look) -> None:
    found = compare(look("one", A), look("one", A, "bfloat16"))
    assert all(0 < one.mean < 0.05 for one in found.heads)


def test_weight_on_a_key_without_a_fellow_counts_as_difference() -> None:
    """Two heads that look at one key each: row by row what is shared can be told by hand."""
    q, k = torch.ones(1, 1, 3, 1), torch.tensor([[[[0.0], [50.0], [0.0]]]])
    a = of_call(q, k, Scoring(causal(), scale=1.0))
    b = of_call(q, k.flip(2), Scoring(causal(), scale=1.0))  # the same keys the other way round
    tokens = [[{"kind": "text", "text": letter, "bytes": None} for letter in word] for word in ("xyz", "xwz")]
    rows = align(*tokens, "position", real=(range(3), range(3)))
    cols = align(*tokens, "token", real=(range(3), range(3)))
    found = Contrast(a, b, rows, cols).distances()
    # row 0: both on x.   row 1: a on y, which b does not have; b on w.   row 2: the same
    assert found.distance.tolist() == pytest.approx([0.0, 1.0, 1.0], abs=1e-12)
    assert found.lost[:, 1].tolist() == pytest.approx([1.0, 1.0], abs=1e-12)


def test_a_learned_sink_is_a_place_that_weight_can_go_to() -> None:
    q, k = torch.zeros(1, 1, 2, 1), torch.zeros(1, 1, 2, 1)
    plain = of_call(q, k, Scoring(causal()))
    sunk = of_call(q, k, Scoring(causal(), sinks=torch.zeros(1)))
    tokens = [{"kind": "text", "text": "x", "bytes": None}] * 2
    same = align(tokens, tokens, "position", real=(range(2), range(2)))
    # (1, 0) against (1/2, 0) and 1/2 of sink; (1/2, 1/2) against (1/3, 1/3) and 1/3
    assert Contrast(plain, sunk, same, same).distances().distance.tolist() == pytest.approx([1 / 2, 1 / 3])
    assert Contrast(sunk, sunk, same, same).distances().distance.tolist() == [0.0, 0.0]


def test_a_row_that_sees_nothing_on_either_side_is_not_compared() -> None:
    q, k = torch.zeros(1, 1, 3, 1), torch.zeros(1, 1, 3, 1)
    blind = of_call(q, k, Scoring(causal() & padding(torch.tensor([[False, False, True]]))))
    half = of_call(q, k, Scoring(causal() & padding(torch.tensor([[False, True, True]]))))
    tokens = [{"kind": "text", "text": "x", "bytes": None}] * 3
    same = align(tokens, tokens, "position", real=(range(3), range(3)))
    found = Contrast(blind, half, same, same).distances().distance.tolist()
    assert math.isnan(found[0]) and found[1:] == pytest.approx([1.0, 0.5])


def test_a_block_holds_both_heads_and_the_signed_difference(look: Look) -> None:
    a, b = look("one", A), look("one", B)
    contrast = compare(a, b, "token").contrast(1, 2)
    block = contrast.block()
    grids = [side.site(1).weights(2) for side in (a, b)]
    places = [(contrast.rows.a.of, contrast.cols.a.of), (contrast.rows.b.of, contrast.cols.b.of)]
    for values, grid, (rows, cols) in zip((block.a, block.b), grids, places, strict=True):
        own = values[rows][:, cols]
        low = torch.ones_like(grid).tril().bool()
        torch.testing.assert_close(own[low], grid[low], rtol=0, atol=1e-6)
        assert bool((own[~low] == -1).all())
    both = contrast.rows.matched[:, None] & contrast.cols.matched
    assert bool(block.difference[~both].isnan().all()) and not bool(block.difference[both].isnan().any())
    known = block.difference.isfinite()
    wanted = block.b.clamp(min=0) - block.a.clamp(min=0)
    assert torch.equal(block.difference[known], wanted[known])
    assert bool(((block.difference == UNSEEN) == (both & (block.a == -1) & (block.b == -1))).all())
    part = contrast.block(slice(3, 9), slice(2, 5))
    torch.testing.assert_close(part.a, block.a[3:9, 2:5], equal_nan=True)


def test_pixels_hold_the_largest_weights_and_the_furthest_difference(look: Look) -> None:
    contrast = compare(look("one", A), look("one", B), "token").contrast(0, 1)
    whole, pixels, n = contrast.block(), contrast.reduced(4), 4
    for i in range(pixels.a.shape[0]):
        for j in range(pixels.a.shape[1]):
            cut = slice(i * n, i * n + n), slice(j * n, j * n + n)
            cells = whole.difference[cut][whole.difference[cut].isfinite()]
            got = float(pixels.difference[i, j])
            if len(cells):
                assert abs(got) == float(cells.abs().max()) and bool((cells == got).any())
            else:
                assert not math.isfinite(got)
            there = whole.a[cut][~whole.a[cut].isnan()]
            assert not len(there) or float(pixels.a[i, j]) == float(there.max())


def test_models_of_two_shapes_are_compared_by_named_pairs(look: Look) -> None:
    a, b = look("one", A), look("other", A)
    sentence = r"The first has 2 layers of 3 heads, the second 1 layers of 2 heads: .*--pair 3\.5=2\.1\."
    with pytest.raises(RecordingError, match=sentence):
        compare(a, b)
    found = compare(a, b, pairs=[((1, 2), (0, 1)), ((0, 0), (0, 0))])
    assert {(one.layer, one.head, one.layer_b, one.head_b) for one in found.heads} == {
        (1, 2, 0, 1),
        (0, 0, 0, 0),
    }
    with pytest.raises(ShapeError, match="There is no head 7"):
        compare(a, b, pairs=[((1, 7), (0, 1))])
    with pytest.raises(RecordingError, match="There is no decoder self attention of layer 5"):
        compare(a, b, pairs=[((5, 0), (0, 1))])


def test_a_layer_that_was_left_out_of_one_recording_is_named(models: dict[str, Path], look: Look) -> None:
    whole, part = look("one", A), look("one", A)
    part.runs[0].sites = part.runs[0].sites[1:]
    found = compare(whole, part)
    assert {one.layer for one in found.heads} == {1}
    assert found.left_out == ("decoder self attention of layer 0: recorded in one alone",)


def test_a_refused_head_is_left_out_with_its_reason(look: Look) -> None:
    a, b = look("one", A), look("one", B)
    site = b.runs[0].sites[1]
    assert site.certificate is not None
    refused = replace(site.certificate, verdict=[["passed", "refused", "passed"]])
    tensors = {name: getattr(site, name) for name in "qkv"}
    b.runs[0].sites[1] = replace(site, shelf=InMemory(tensors, site.scoring, site.normaliser, refused))
    found = compare(a, b)
    assert len(found.heads) == 5 and (1, 1) not in {(one.layer, one.head) for one in found.heads}
    assert len(found.left_out) == 1 and "failed its certificate" in found.left_out[0]
    with pytest.raises(Uncertified):
        compare(a, b, pairs=[((1, 1), (1, 1))])
    with pytest.raises(RecordingError, match="Layer 1, head 1 was not compared"):
        found.contrast(1, 1)


def test_sums_alone_cannot_be_compared(models: dict[str, Path], tmp_path: Path) -> None:
    from attnscope.models import Kept, open_model, record_text

    subject = open_model(str(models["one"]))
    recording, _ = record_text(subject, subject.encode(A), kept=Kept(keep="summary"))
    with pytest.raises(NotKept):
        compare(recording, recording)


def test_folders_runs_and_texts_can_be_named(look: Look, tmp_path: Path) -> None:
    one, two = look("one", A).save(tmp_path / "one"), look("two", A).save(tmp_path / "two")
    found = attnscope.compare(one, str(two), run=(0, None), batch=0)
    assert found.heads == compare(look("one", A), look("two", A)).heads
    with pytest.raises(ShapeError, match=r"There is no run 3\. 0 to 0\."):
        compare(one, two, run=(0, 3))
    with pytest.raises(ShapeError, match=r"There is no text 1\. 0 to 0\."):
        compare(one, two, batch=1)
    with pytest.raises(RecordingError, match=r"align='letters'\. One of 'auto', 'position'"):
        compare(one, two, "letters")


def test_what_comes_back_is_frozen_and_plain(look: Look) -> None:
    found = compare(look("one", A), look("one", B))
    with pytest.raises(FrozenInstanceError):
        found.heads[0].mean = 1.0  # type: ignore[misc]
    told = found.to_dict()
    assert told["align"] == "token" and told["heads"][0]["mean"] == found.heads[0].mean
    assert set(told["heads"][0]) >= {"name", "layer", "head", "mean", "largest", "row_a", "lost_b"}


def test_a_block_past_the_guard_is_refused(monkeypatch: pytest.MonkeyPatch, look: Look) -> None:
    monkeypatch.setattr("attnscope.comparison.contrast.LARGEST_BLOCK", 100)
    contrast = compare(look("one", A), look("one", A)).contrast(0, 0)
    with pytest.raises(TooLarge, match=r"31 x 31 differences were asked for\. At most 100 cells"):
        contrast.block()
    assert contrast.block(slice(0, 10), slice(0, 10)).a.shape == (10, 10)
