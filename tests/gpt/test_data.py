"""The text as blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attnscope.errors import TrainingError
from attnscope.gpt.data import Blocks, read_text, split
from attnscope.gpt.tokenizer import CharacterTokenizer


def test_the_last_tenth_is_held_back() -> None:
    text = "abcdefghij" * 101
    halves = split(text, CharacterTokenizer.of(text), context=7)
    assert (len(halves.training), len(halves.validation)) == (909, 101)
    assert torch.cat([halves.training, halves.validation]).tolist() == [int(i) for i in "0123456789" * 101]


def test_a_text_that_is_too_short_is_told_how_long_it_must_be() -> None:
    tokenizer = CharacterTokenizer.of("ab")
    with pytest.raises(
        TrainingError, match=r"has 143 characters\. At least 145, so that its first 90% holds"
    ):
        split("a" * 142 + "b", tokenizer, context=64)
    assert len(split("a" * 144 + "b", tokenizer, context=64).training) == 130


def test_targets_are_the_inputs_moved_by_one() -> None:
    given, wanted = Blocks(torch.arange(1000), context=13, batch=5, seed=1).at(3)
    assert given.shape == wanted.shape == (5, 13)
    assert torch.equal(wanted, given + 1)


def test_an_epoch_reads_every_block_once() -> None:
    blocks = Blocks(torch.arange(1000), context=10, batch=3, seed=1)
    read = torch.cat([blocks.at(step)[0].flatten() for step in range(33)])  # 99 blocks: one epoch
    assert len(read) == len(read.unique()) == 990


def test_blocks_are_a_function_of_seed_and_step_alone() -> None:
    make = lambda seed: Blocks(torch.arange(500), context=7, batch=4, seed=seed)  # noqa: E731
    straight = make(1)
    wanted = [straight.at(step)[0] for step in range(60)]
    for step in (59, 17, 18, 0):
        assert torch.equal(make(1).at(step)[0], wanted[step])
    assert not torch.equal(make(2).at(0)[0], wanted[0])


def test_every_block_lies_inside_the_text_for_any_length() -> None:
    for n in range(22, 60):
        blocks = Blocks(torch.arange(n), context=10, batch=2, seed=n)
        for step in range(12):
            assert int(blocks.at(step)[1].max()) < n


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"There is no file .*text\.txt\. A text file to train on"),
        (b"caf\xe9 noir", r"text\.txt is not UTF-8 text: byte 3 is 0xE9\. .*iconv"),
        (b"", r"text\.txt is empty"),
    ],
)
def test_a_file_that_is_no_text_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TrainingError, match=message):
        read_text(path)


def test_a_folder_is_not_a_text(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="is a folder"):
        read_text(tmp_path)


def test_line_ends_are_kept_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes("é\r\n☃\n".encode())
    assert read_text(tmp_path / "t") == "é\r\n☃\n"
