"""Positions as numbers, against their formulas written out."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cosine_similarity

from attnscope.core.positions import alibi, alibi_slopes, rotary_table, rotate, sinusoidal
from attnscope.errors import ShapeError

PAIRINGS = ["half", "interleaved"]


@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_sinusoids_are_their_formula(d: int) -> None:
    table = sinusoidal(7, d)
    for p in range(7):
        for column in range(d):
            angle = p / 10000 ** (2 * (column // 2) / d)
            want = math.sin(angle) if column % 2 == 0 else math.cos(angle)
            assert abs(float(table[p, column]) - want) < 1e-7


def test_an_odd_width_has_one_sine_more_than_cosines() -> None:
    """Case 19."""
    first = sinusoidal(1, 5)[0]
    assert first.tolist() == [0.0, 1.0, 0.0, 1.0, 0.0]


def test_sinusoids_of_near_positions_are_alike() -> None:
    """Lesson, section 6."""
    table = sinusoidal(64, 64)
    alike = [float(cosine_similarity(table[10], table[p], dim=0)) for p in (10, 11, 15, 30, 60)]
    assert [f"{x:.3f}" for x in alike] == ["1.000", "0.966", "0.734", "0.590", "0.490"]


def test_sinusoids_may_begin_anywhere() -> None:
    assert torch.equal(sinusoidal(20, 6)[13:], sinusoidal(7, 6, first=13))


@given(
    i=st.integers(0, 5000),
    j=st.integers(0, 5000),
    shift=st.integers(0, 100_000),
    pairing=st.sampled_from(PAIRINGS),
)
def test_rotated_products_depend_on_the_distance_alone(i: int, j: int, shift: int, pairing: str) -> None:
    """Case 16."""
    q, k = torch.randn(2, 1, 1, 1, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    products = [
        (
            rotate(q, torch.tensor([i + s]), pairing=pairing)
            * rotate(k, torch.tensor([j + s]), pairing=pairing)
        ).sum()
        for s in (0, shift)
    ]
    torch.testing.assert_close(*products, rtol=1e-9, atol=1e-9)


def test_the_two_pairings_agree_under_their_reordering_and_not_otherwise() -> None:
    """Case 16."""
    x, positions = torch.randn(2, 3, 11, 8), torch.arange(11)
    order = torch.arange(8).view(2, 4).T.flatten()  # 0 4 1 5 2 6 3 7: halves laid in turn
    interleaved = rotate(x[..., order], positions, pairing="interleaved")
    torch.testing.assert_close(interleaved, rotate(x, positions, pairing="half")[..., order])
    assert (
        rotate(x, positions, pairing="interleaved") - rotate(x, positions, pairing="half")
    ).abs().max() > 0.5


def test_rotation_turns_the_first_pair_by_the_position_itself() -> None:
    x = torch.zeros(1, 1, 1, 4)
    x[..., 0] = 1
    got = rotate(x, torch.tensor([2]), pairing="half").flatten()
    torch.testing.assert_close(got, torch.tensor([math.cos(2), 0.0, math.sin(2), 0.0]))
    got = rotate(x, torch.tensor([2]), pairing="interleaved").flatten()
    torch.testing.assert_close(got, torch.tensor([math.cos(2), math.sin(2), 0.0, 0.0]))


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_rotating_step_by_step_is_rotating_at_once_for_every_split(pairing: str) -> None:
    """Case 17."""
    x, positions = torch.randn(2, 3, 11, 8), torch.arange(11)
    whole = rotate(x, positions, pairing=pairing)
    for cut in range(12):
        parts = [
            rotate(x[:, :, part], positions[part], pairing=pairing)
            for part in (slice(0, cut), slice(cut, 11))
        ]
        assert torch.equal(torch.cat(parts, 2), whole)


def test_positions_may_differ_between_batches() -> None:
    x = torch.randn(2, 3, 4, 8)
    each = torch.tensor([[0, 1, 2, 3], [5, 6, 7, 8]])
    got = rotate(x, each)
    for b in range(2):
        assert torch.equal(got[b : b + 1], rotate(x[b : b + 1], each[b]))


def test_phases_are_exact_for_bfloat16_inputs_too() -> None:
    """Case 18: in bfloat16 the positions themselves would collide."""
    x = torch.ones(1, 1, 4096, 2, dtype=torch.bfloat16)
    got = rotate(x, torch.arange(4096))
    assert got.dtype == torch.bfloat16
    want = rotate(x.double(), torch.arange(4096))
    assert (got.double() - want).abs().max() < 2**-8
    beyond = torch.arange(256, 4096)  # where neighbouring positions are one number in bfloat16
    assert (got[0, 0, beyond] != got[0, 0, beyond - 1]).any(-1).all()


def test_far_phases_are_those_of_float64() -> None:
    cos, sin = rotary_table(torch.tensor([131_071]), 64)
    angle = 131_071 * 10000.0 ** (-torch.arange(0, 64, 2, dtype=torch.float64) / 64)
    assert (cos - angle.cos()).abs().max() < 1e-7 and (sin - angle.sin()).abs().max() < 1e-7


@pytest.mark.parametrize(
    ("n", "want"),
    [
        (1, [2**-8]),
        (2, [2**-4, 2**-8]),
        (6, [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]),
        (8, [2.0**-i for i in range(1, 9)]),
    ],
)
def test_alibi_slopes_are_the_published_ones(n: int, want: list[float]) -> None:
    """Case 23."""
    assert alibi_slopes(n).tolist() == want


@given(n=st.integers(1, 100))
def test_alibi_slopes_are_distinct_and_between_nothing_and_one(n: int) -> None:
    slopes = alibi_slopes(n)
    assert slopes.shape == (n,) and len(set(slopes.tolist())) == n
    assert ((slopes > 0) & (slopes < 1)).all()


def test_alibi_falls_off_on_both_sides() -> None:
    bias = alibi(2, 4)
    assert bias.first == -3
    torch.testing.assert_close(bias.table[0] * -16, torch.tensor([3.0, 2.0, 1.0, 0.0, 1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: rotate(torch.zeros(1, 1, 3, 5), torch.arange(3)), "width 5. An even width"),
        (
            lambda: rotate(torch.zeros(1, 1, 3, 4), torch.arange(4)),
            r"positions is \(4,\) and x is \(1, 1, 3, 4\)",
        ),
        (lambda: rotate(torch.zeros(1, 1, 3, 4), torch.arange(3), pairing="both"), '"half" or "interleaved"'),
        (lambda: alibi_slopes(0), "At least one head"),
        (lambda: sinusoidal(-1, 4), r"sinusoidal\(t=-1, d=4\)"),
    ],
)
def test_positions_that_cannot_be_say_why(wrong, sentence: str, as_a_user: None) -> None:
    with pytest.raises(ShapeError, match=sentence):
        wrong()
