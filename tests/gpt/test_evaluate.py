"""The validation loss, against a loop that counts every position by hand."""

from __future__ import annotations

import pytest
import torch

from attnscope.errors import EmptyText
from attnscope.gpt import evaluate
from attnscope.gpt.evaluate import validation_loss
from tests.gpt.tiny import small


@pytest.mark.parametrize("n", [2, 11, 12, 13, 23, 40])
def test_it_is_the_mean_over_every_position_of_blocks_from_position_zero(n: int) -> None:
    model, ids = small("laptop"), torch.randint(7, (n,))
    losses = []
    for i in range(n - 1):
        block = ids[i - i % model.context : i + 1]
        losses.append(-model(block[None])[0, -1].log_softmax(-1)[ids[i + 1]].item())
    assert validation_loss(model, ids) == pytest.approx(sum(losses) / (n - 1), abs=1e-12)


def test_it_does_not_depend_on_how_many_blocks_go_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, ids = small("lesson"), torch.randint(7, (200,))
    whole = validation_loss(model, ids)
    monkeypatch.setattr(evaluate, "TOKENS_AT_ONCE", 22)
    assert validation_loss(model, ids) == pytest.approx(whole, abs=1e-13)


def test_a_text_of_one_character_has_no_loss() -> None:
    with pytest.raises(EmptyText, match="fewer than two characters"):
        validation_loss(small("lesson"), torch.tensor([1]))
