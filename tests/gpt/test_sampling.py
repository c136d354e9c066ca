"""Text from a model: with a cache the same, character for character, as without."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnscope.errors import EmptyText, ModelError, UnknownCharacter
from attnscope.gpt import GPT, generate, load
from attnscope.gpt.sampling import window_start
from tests.gpt.tiny import small


@pytest.fixture(scope="module", params=["lesson", "lesson-no-positions", "laptop"])
def model(request: pytest.FixtureRequest) -> GPT:
    return small(request.param).float()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("prompt", ["a", "abcdefgabcdefgab"])
def test_with_a_cache_it_is_the_same_text_also_past_the_context(
    model: GPT, prompt: str, temperature: float
) -> None:
    one, other = (
        generate(model, prompt, 22, temperature=temperature, seed=4, cached=cached)
        for cached in (True, False)
    )
    assert len(one) == 22
    assert one == other


def test_the_same_seed_gives_the_same_text_and_another_another(model_folder: Path) -> None:
    model = load(model_folder)
    texts = [generate(model, "the ", 40, seed=seed) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_temperature_zero_does_not_depend_on_the_seed(model_folder: Path) -> None:
    model = load(model_folder)
    assert len({generate(model, "the ", 20, temperature=0, seed=seed) for seed in range(3)}) == 1


def test_a_low_temperature_comes_near_the_likeliest(model_folder: Path) -> None:
    model = load(model_folder)
    assert generate(model, "the ", 20, temperature=1e-4, seed=9) == generate(model, "the ", 20, temperature=0)


def test_nothing_asked_for_is_nothing_made(model: GPT) -> None:
    assert generate(model, "a", 0) == ""


def test_the_window_moves_by_half_a_context() -> None:
    starts = [window_start(n, 8) for n in range(1, 18)]
    assert starts == [0] * 8 + [4] * 4 + [8] * 4 + [12]
    assert all(1 <= n - window_start(n, 8) <= 8 for n in range(1, 100))
    assert [window_start(n, 1) for n in (1, 2, 3)] == [0, 1, 2]


def test_a_prompt_that_cannot_be_read_is_refused(model: GPT) -> None:
    with pytest.raises(EmptyText, match=r"An empty prompt\. At least one character"):
        generate(model, "", 5)
    with pytest.raises(UnknownCharacter, match=r"'z' \(U\+007A\) at position 2"):
        generate(model, "abz", 5)


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf")])
def test_a_temperature_that_cannot_be_is_refused(model: GPT, temperature: float) -> None:
    with pytest.raises(ModelError, match=f"A temperature of {temperature}"):
        generate(model, "a", 5, temperature=temperature)


def test_a_length_below_zero_is_refused(model: GPT) -> None:
    with pytest.raises(ModelError, match="A length of -1 characters"):
        generate(model, "a", -1)
