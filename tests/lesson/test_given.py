"""What the experiments are given: wrong kinds are refused, and PyTorch’s settings change no number."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch

from attnscope import lesson
from attnscope.errors import AttnscopeError, LessonError

_EXPERIMENTS = [home.partition(":")[2] for one in lesson.SECTIONS for home in one.homes]
_STRANGE: tuple[Any, ...] = (object(), 1j, b"bytes", {"q": 1}, [[]], lambda: 0, torch.zeros(2, 2))


@pytest.mark.parametrize("name", _EXPERIMENTS)
def test_what_is_of_no_use_to_any_parameter_is_refused_by_name(name: str) -> None:
    experiment = getattr(lesson, name)
    for parameter in inspect.signature(experiment).parameters:
        for strange in _STRANGE:
            with pytest.raises(AttnscopeError) as caught:
                experiment(**{parameter: strange})
            assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("context", {"width": "8"}, r"width='8'\. A whole number is wanted"),
        ("context", {"layers": True}, r"layers=True\. A whole number is wanted"),
        ("context", {"width": 10**30}, r"width=1000\d*\. A whole number from 1 to 1,024 is wanted"),
        ("context", {"sentences": "the bank"}, r"Texts are wanted, as in a list"),
        ("context", {"seed": -1}, r"seed=-1"),
        ("late_word", {"word": 3}, r"word=3\. A text is wanted"),
        ("designed_heads", {"worth": "5"}, r"worth='5'\. A number is wanted"),
        ("spread", {"widths": (2.5,)}, r"Whole numbers are wanted, as in a list"),
        ("module", {"batch": 0}, r"batch=0\. A whole number from 1 to 64 is wanted"),
        ("module", {"tokens": 0}, r"tokens=0"),
        ("value_norms", {"model": 3}, r"model is int\. A GPT of attnscope is wanted"),
        ("glossary", {"entries": ("query",)}, r"Entry\(term, says\)"),
        ("arcs", {"weights": {"tired": 1}}, r"Numbers are wanted, as in a list"),
        ("four_words", {"q": [[1, 0]]}, r"q is 1 by 2\. 4 by 2 is wanted"),
        ("word_order", {"sentences": ("dog bites",)}, r"1 sentences\. Two with the same words are wanted"),
    ],
)
def test_the_reason_says_what_came_and_what_is_wanted(name: str, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(LessonError, match=said):
        getattr(lesson, name)(**wrong)


def test_numpys_numbers_are_numbers() -> None:
    found = lesson.sinusoids(t=16, d=8, position=np.int64(3), others=np.array([1, 2]))  # type: ignore[arg-type]
    assert found.others == (1, 2) and type(found.position) is int


def test_a_default_device_dtype_or_inference_mode_changes_no_number_of_section_1_4_6_and_10() -> None:
    names = ("context", "late_word", "mistakes", "word_order", "sinusoids", "through_heads", "module")
    plain = {name: getattr(lesson, name)().to_dict() for name in names}
    state = torch.get_rng_state()
    try:
        torch.set_default_dtype(torch.float64)
        with torch.device("meta"), torch.inference_mode():
            again = {name: getattr(lesson, name)().to_dict() for name in names}
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert again == plain
    assert torch.equal(state, torch.get_rng_state())
