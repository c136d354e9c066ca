"""Words of byte pieces and of any script, and the weights from word to word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

import attnscope
from attnscope.errors import RecordingError, ShapeError, TooLarge
from attnscope.models import open_model
from attnscope.models.pieces import read_tokens
from attnscope.models.spelling import spelling_of
from attnscope.models.tokens import of_bytes, of_text, special
from attnscope.models.turns import Turn, turns_of
from attnscope.models.words import word_weights, words_of

TEXT = "The lighter cat's mat: naïve שלום عربي 光は now!\n\nHe didn't."


def read(tokenizer: Any, text: str) -> list[dict[str, Any]]:
    """The tokens of a text as JSON values."""
    ids = tokenizer(text)["input_ids"]
    return [one.to_dict() for one in read_tokens(tokenizer, spelling_of(tokenizer), text, ids, None)]


@pytest.mark.parametrize("which", ["llama", "bert"])
def test_words_hold_every_token_once_and_spell_the_text(which: str, request: pytest.FixtureRequest) -> None:
    subject = open_model(str(request.getfixturevalue(which)))
    tokens = [token.to_dict() for token in subject.tokenize("the lighter cat, sat.")]
    words = words_of(tokens)
    assert [place for word in words for place in word.places] == list(range(len(tokens)))
    plain = [word.text.strip() for word in words if word.kind != "special"]
    assert plain == ["the", "lighter", "cat", ",", "sat", "."]


def test_byte_pieces_and_scripts_of_both_directions_are_whole_words(llama: Path) -> None:
    words = [word.text for word in words_of(read(AutoTokenizer.from_pretrained(llama), TEXT))]
    assert "".join(words) == TEXT
    assert [word.strip() for word in words if word.strip()] == [
        "The", "lighter", "cat", "'", "s", "mat", ":", "naïve", "שלום", "عربي", "光", "は", "now", "!", "He",
        "didn", "'", "t", ".",
    ]  # fmt: skip


def test_a_character_in_pieces_is_never_parted_even_where_it_is_no_letter() -> None:
    tree = "🌲".encode()
    tokens = [of_bytes(at, tree[at : at + 1]).to_dict() for at in range(4)]
    tokens += [of_text(5, "a", continues=True).to_dict()]  # as read_tokens says of a byte before a letter
    assert [(word.text, word.places) for word in words_of(tokens)] == [("🌲", (0, 1, 2, 3)), ("a", (4,))]


def test_special_tokens_stand_alone_or_are_folded_into_one() -> None:
    tokens = [
        special(0, "<s>").to_dict(), of_text(1, "a").to_dict(), of_text(2, "b", continues=True).to_dict(),
        special(3, "</s>").to_dict(), of_text(4, "c", continues=True).to_dict(),
    ]  # fmt: skip
    assert [word.places for word in words_of(tokens)] == [(0,), (1, 2), (3,), (4,)]
    folded = words_of(tokens, "fold")
    assert [word.places for word in folded] == [(0, 3), (1, 2), (4,)]
    assert (folded[0].text, folded[0].spoken) == ("<specials>", "2 special tokens")
    with pytest.raises(RecordingError, match=r"specials='drop'\. 'mark' or 'fold'\."):
        words_of(tokens, "drop")  # type: ignore[arg-type]


@pytest.mark.parametrize("specials", ["mark", "fold"])
def test_weights_are_summed_over_keys_and_averaged_over_queries(specials: Any, bert: Path) -> None:
    recording = open_model(str(bert)).run("the lighter cats, sat").recording
    site = recording.site(1)
    grid = site.weights(1).double()
    found = word_weights(recording, site, 1, specials=specials)
    for r, row in enumerate(found.rows):
        for c, column in enumerate(found.columns):
            cells = [float(grid[i, j]) for i in row.places for j in column.places]
            assert float(found.weights[r, c]) == pytest.approx(sum(cells) / len(row.places), abs=1e-12)
    torch.testing.assert_close(
        found.weights.sum(dim=1), torch.ones(len(found.rows)).double(), atol=1e-5, rtol=0
    )
    assert max(len(word.places) for word in found.rows) > 1
    part = word_weights(recording, site, 1, slice(1, 3), 2, specials=specials)
    assert torch.equal(part.weights, found.weights[1:3, 2:3]) and part.columns == found.columns[2:3]


def test_what_no_query_of_a_word_sees_is_not_visible(llama: Path) -> None:
    recording = open_model(str(llama)).run("the lighter window").recording
    found = attnscope.word_weights(recording, recording.site(0), 0)
    assert found.visible.tolist() == torch.ones(len(found.rows), len(found.rows)).tril().bool().tolist()
    assert bool((found.weights[~found.visible] == 0).all())


def test_words_in_chunks_are_the_same_words(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = open_model(str(llama)).run("the lighter window, the light").recording
    whole = word_weights(recording, recording.site(1), 2)
    monkeypatch.setattr("attnscope.models.words.CELLS", 40)
    parts = word_weights(recording, recording.site(1), 2)
    torch.testing.assert_close(parts.weights, whole.weights, rtol=0, atol=1e-7)
    assert torch.equal(parts.visible, whole.visible)


def test_places_without_a_text_have_no_words(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = open_model(str(llama)).run("the light").recording
    site = recording.site(0)
    with pytest.raises(ShapeError, match="There is no word 99"):
        word_weights(recording, site, 0, 99)
    monkeypatch.setattr("attnscope.models.words.LARGEST_BLOCK", 1)
    with pytest.raises(TooLarge, match=r"2 x 2 words were asked for\. At most 1 cells"):
        word_weights(recording, site, 0)
    recording.places, recording.tokens = {}, None
    with pytest.raises(RecordingError, match="does not hold the tokens of this text"):
        word_weights(recording, site, 0)


TEMPLATES = {
    "ChatML": (["<|im_start|>", "user", "\n", "hi", "<|im_end|>", "\n", "<|im_start|>", "assistant", "\n"],
               [("user", 0, 5), ("assistant", 6, 9)]),
    "Llama 3": (["<|begin_of_text|>", "<|start_header_id|>", "system", "<|end_header_id|>", "\n\n", "hi",
                 "<|eot_id|>", "<|start_header_id|>", "user", "<|end_header_id|>", "\n\n"],
                [("system", 1, 7), ("user", 7, 11)]),
    "Gemma": (["<bos>", "<start_of_turn>", "mo", "del", "\n", "hi", "<end_of_turn>"], [("model", 1, 7)]),
    "Phi": (["<|user|>", "hi", "<|end|>", "<|assistant|>"], [("user", 0, 3), ("assistant", 3, 4)]),
    "Mistral": (["<s>", "[INST]", "hi", "[/INST]", "ho", "</s>"], [("user", 1, 3), ("assistant", 3, 6)]),
    "gpt-oss": (["<|start|>", "user", "<|message|>", "hi", "<|end|>"], [("user", 0, 5)]),
    "none": (["<s>", "hi", "</s>"], []),
}  # fmt: skip


@pytest.mark.parametrize("name", TEMPLATES)
def test_turns_are_read_from_the_tokens_of_a_template(name: str) -> None:
    words, wanted = TEMPLATES[name]
    signs = ("<", "[")
    tokens = [
        (special(at, word) if word.startswith(signs) else of_text(at, word)).to_dict()
        for at, word in enumerate(words)
    ]
    assert turns_of(tokens) == tuple(Turn(*turn) for turn in wanted)


def test_a_chat_of_a_real_template_has_its_turns(llama: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(llama)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    text = "<|im_start|>user\nlight<|im_end|>\n<|im_start|>assistant\n"
    assert [turn.role for turn in turns_of(read(tokenizer, text))] == ["user", "assistant"]


def test_pieces_that_a_model_writes_go_on_inside_their_word(llama: Path) -> None:
    codec = open_model(str(llama)).codec
    read = codec.encode("the lighter").tokens
    assert codec.row([token.id for token in read[1:]], read[0]) == read[1:]
    assert any(token.continues for token in read)
