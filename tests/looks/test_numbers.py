"""How the lesson writes numbers."""

from __future__ import annotations

import pytest

from attnscope.looks.numbers import count, number, size, typed, weight


@pytest.mark.parametrize(
    ("x", "places", "written"),
    [
        (0.80791, 3, ".808"), (1.0, 3, "1.000"), (-1.5, 2, "−1.50"), (1204.5, 1, "1,204.5"), (0.0, 3, "0"),
        (-0.0, 3, "0"), (3e-5, 3, "3e−5"), (-3e-5, 3, "−3e−5"), (0.0004, 3, "4e−4"), (12.0, 0, "12"),
        (float("-inf"), 3, "−∞"), (float("inf"), 3, "∞"),
        (float("nan"), 3, "not a number"), (100.0, 0, "100"),
    ],
)  # fmt: skip
def test_a_number_is_written_as_on_the_page(x: float, places: int, written: str) -> None:
    assert number(x, places) == written


def test_a_tie_goes_up_as_in_the_browser() -> None:
    assert [number(x, 1) for x in (8.25, 8.75, -0.25, 0.125)] == ["8.3", "8.8", "−.3", ".1"]
    assert number(1e30, 3) == "1,000,000,000,000,000,019,884,624,838,656.000"


def test_what_is_not_zero_is_never_written_as_zeros() -> None:
    for exponent in range(-12, 0):
        assert any(digit in "123456789" for digit in number(10.0**exponent, 3))


def test_a_typed_number_ends_without_zeros() -> None:
    assert [typed(x) for x in (4.0, 0.5, 2.828, -1.0, 100.0, 0.0, 1000.0)] == [
        "4", ".5", "2.83", "−1", "100", "0", "1,000",
    ]  # fmt: skip


def test_a_weight_has_three_places() -> None:
    assert (weight(0.048), weight(0.9999), weight(0.0)) == (".048", "1.000", "0")


def test_bytes_are_written_in_the_unit_that_fits() -> None:
    sizes = {100: "100 bytes", 1023: "1,023 bytes", 1024: "1 KB", 16_384: "16 KB", 4 * 2**20: "4 MB"}
    sizes |= {256 * 2**20: "256 MB", 2**36: "64 GB", 3 * 2**29: "1.5 GB", 2**53: "8,192 TB"}
    assert {n: size(n) for n in sizes} == sizes
    assert count(1_048_576) == "1,048,576"
