"""A model that is at hand already reads ids and texts as one that was opened by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from attnscope.errors import ModelError, TextTooLong
from attnscope.models import open_model
from attnscope.models.given import subject_of
from tests.models.tiny import byte_level, llama_folder


class Sum(nn.Module):
    """Any module that takes ids: nothing of its own but a table."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids)


def test_ids_of_a_text_are_read_as_the_text_is(tmp_path: Path) -> None:
    opened = open_model(
        str(llama_folder(tmp_path / "tiny", byte_level(["the cat sat"] * 4, 290), context=64))
    )
    encoded = opened.encode("the cat sat on it")
    again = opened.of_ids(encoded.ids)
    assert again.ids == encoded.ids
    assert [token.raw for token in again.tokens] == [token.raw for token in encoded.tokens]
    with torch.no_grad():
        assert torch.equal(opened.forward(again), opened.forward(encoded))
    ordinary = opened.codec.ordinary()
    assert ordinary == sorted(set(ordinary))
    assert all(opened.codec.token(one).kind != "special" for one in ordinary)
    with pytest.raises(TextTooLong):
        opened.of_ids([ordinary[0]] * 65)


def test_a_module_without_a_tokeniser_reads_ids_and_refuses_texts(tmp_path: Path) -> None:
    opened = open_model(
        str(llama_folder(tmp_path / "tiny", byte_level(["the cat sat"] * 4, 290), context=64))
    )
    bare = subject_of(opened.module)
    ids = opened.encode("the cat").ids
    with torch.no_grad():
        assert torch.equal(bare.forward(bare.of_ids(ids)), opened.forward(opened.of_ids(ids)))
    assert (bare.kind, bare.context, bare.layers) == (opened.kind, 64, opened.layers)
    with pytest.raises(ModelError, match="came without a tokeniser"):
        bare.encode("the cat")


def test_any_module_that_takes_ids_is_a_subject() -> None:
    subject = subject_of(Sum())
    assert subject.codec.ordinary() == list(range(7))
    assert subject.codec.beginning is None
    assert subject.forward(subject.of_ids([1, 6, 2])).shape == (3, 4)
    with pytest.raises(ModelError, match="Linear has no table of tokens"):
        subject_of(nn.Linear(2, 2))


def test_both_stacks_of_an_encoder_with_a_decoder_read_the_ids() -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=20, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    subject = subject_of(T5ForConditionalGeneration(config).eval())
    encoded = subject.of_ids([3, 4, 5])
    assert encoded.inputs["decoder_input_ids"].tolist() == [[3, 4, 5]]
    assert encoded.answer == encoded.tokens
    with torch.no_grad():
        assert subject.forward(encoded).shape == (3, 20)
