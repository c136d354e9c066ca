"""Numbers as a person writes them, half up, and templates as data."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from random import Random

import pytest

from attnscope.lesson.walk.templates import parse
from attnscope.lesson.walk.writing import thousandths, three, two, typed


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        (0.105, ".11"),
        (1.005, "1.01"),
        (2.675, "2.68"),
        (-0.105, "−.11"),
        (0.125, ".13"),
        (8.0, "8"),
        (1e6, "1,000,000"),
    ],
)
def test_what_stands_on_a_half_goes_up(x: float, wanted: str) -> None:
    assert two(x) == wanted


def test_a_decimal_is_rounded_as_it_is_by_hand() -> None:
    random = Random(5)
    for _ in range(2000):
        digits = Decimal(random.randint(1, 99_999)) / 1000
        by_hand = digits.quantize(Decimal("0.01"), ROUND_HALF_UP)
        shown = two(float(digits))
        assert Decimal(shown.replace("e−", "e-")) == by_hand or "e" in shown


def test_zero_alone_is_written_0_and_a_tiny_number_keeps_its_power() -> None:
    assert three(0.0) == three(-0.0) == typed(-0.0) == "0"
    assert (three(0.00004), typed(-1e-9), two(0.004)) == ("4e−5", "−1e−9", "4e−3")


def test_a_number_too_large_to_read_keeps_three_digits_and_its_power() -> None:
    assert (typed(9_999_999.0), typed(-1.25e13), two(5e26), three(1e21)) == (
        "9,999,999",
        "−1.25e13",
        "5e26",
        "1e21",
    )


def test_infinity_is_written_as_such() -> None:
    assert two(float("-inf")) == "−∞"


def test_the_thousandths_are_those_of_the_written_weight() -> None:
    for x in (0.048, 0.0485, 0.80791, 0.0005, 0.00049, 1.0, 0.0):
        written = three(x)
        assert thousandths(x) == (0 if "e" in written else round(float(written) * 1000))


def test_a_template_is_text_and_slots() -> None:
    assert parse("{i}’s *{weights[i,t]}* of {+c: q[i,c] × k[j,c]}{&j|typed k: {j}}{:d}.") == [
        {"word": "i"},
        "’s ",
        {"strong": [{"number": "weights", "at": ["i", "t"]}]},
        " of ",
        {
            "each": "c",
            "join": " + ",
            "of": [{"number": "q", "at": ["i", "c"]}, " × ", {"number": "k", "at": ["j", "c"]}],
        },
        {"each": "j", "join": "and", "of": [{"word": "j"}], "where": "typed k"},
        {"fact": "d"},
        ".",
    ]
    assert parse("{scores[i,j]|two}") == [{"number": "scores", "at": ["i", "j"], "as": "two"}]


def test_a_template_that_is_not_closed_is_refused() -> None:
    with pytest.raises(ValueError, match="No closing brace"):
        parse("{i")
