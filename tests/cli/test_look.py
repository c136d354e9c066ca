"""`attnscope look`: a row of weights with its tokens, and the same numbers as the app."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from attnscope.cli.rows import site
from attnscope.errors import NotKept
from attnscope.models import open_model
from attnscope.models.tokens import of_bytes, of_text, shown
from attnscope.recording.recording import NotShown
from attnscope.web.app import create_app
from attnscope.web.catalogue import Catalogue, Entry

TEXT = "ROMEO:\nBut, so me light"
PLACE = ["--layer", 1, "--head", 2]


def test_json_holds_every_weight_exactly(say: Any, folder: Path) -> None:
    said = say("look", folder, "--text", "b:\nso me", *PLACE, "--query", 4, "--json")
    assert said.code == 0, said.err
    row = json.loads(said.out)
    weights = open_model(str(folder)).run("b:\nso me").recording.site(1).weights(2, 4)[0]
    assert [key["weight"] for key in row["row"][:5]] == weights[:5].tolist()
    assert [key["weight"] for key in row["row"][5:]] == [None] * 3
    assert [key["token"]["text"] for key in row["row"]] == list("b:\nso me")
    assert row["row"][2]["token"]["kind"] == "newline"
    assert (row["layer"], row["head"], row["i"], row["seen"]) == (1, 2, 4, 5)
    assert row["bit_equal"] is True
    assert row["certificate"]["verdict"] == "passed"
    assert row["entropy"] == pytest.approx(-(weights[:5] * weights[:5].log()).sum().item(), abs=1e-6)


def test_the_app_and_the_command_give_the_same_bits(say: Any, folder: Path) -> None:
    subject = open_model(str(folder))
    catalogue = Catalogue({"small": Entry(subject.description, lambda: subject)})
    text = "so much light,\nso me light"
    with TestClient(create_app(catalogue), base_url="http://127.0.0.1:8017") as client:
        run = client.post("/api/runs", json={"model": "small", "text": text}).json()["id"]
        while client.get(f"/api/runs/{run}").json()["state"] not in ("done", "failed"):
            pass
        for i in (0, 13, 25):
            answer = client.get(f"/api/runs/{run}/sites/1/heads/0/row?i={i}")
            served = np.frombuffer(answer.content, "<f4").astype(float).tolist()
            said = say("look", folder, "--text", text, "--layer", 1, "--head", 0, "--query", i, "--json")
            printed = [-1.0 if k["weight"] is None else k["weight"] for k in json.loads(said.out)["row"]]
            assert served == printed


def test_csv_has_a_line_a_token_and_reads_back_exactly(say: Any, folder: Path) -> None:
    said = say("look", folder, "--text", "b:\nso", *PLACE, "--query", -1, "--csv")
    lines = list(csv.DictReader(io.StringIO(said.out)))
    assert [line["token"] for line in lines] == ["b", ":", "↵", "s", "o"]
    weights = open_model(str(folder)).run("b:\nso").recording.site(1).weights(2, 4)[0]
    assert [float(line["weight"]) for line in lines] == weights.tolist()


def test_a_person_gets_seven_places_and_the_marks(say: Any, folder: Path) -> None:
    said = say("look", folder, "--text", "b:\nso me", *PLACE, "--query", 5)
    assert said.code == 0
    first, *rows, last = said.out.splitlines()
    assert first == "small, layer 1, head 2: query 5 “␣” looks at"
    assert len(rows) == 8
    assert re.fullmatch(r" {6}0 {4}0\.\d{7}  b", rows[0])
    assert rows[2].endswith("↵")
    assert rows[6] == "      6  not visible  m"
    assert re.fullmatch(
        r"6 keys visible; entropy \d\.\d{4} nats; certificate passed "
        r"\(residual \d+\.\d, allowed 8; scale \d+\.\d, allowed 8\), heard by attnscope; "
        r"logits bit-equal with and without looking",
        last,
    )


def test_the_largest_come_first_when_some_are_asked_for(say: Any, folder: Path) -> None:
    said = say("look", folder, "--text", TEXT, *PLACE, "--top", 3, "--json")
    weights = [key["weight"] for key in json.loads(said.out)["row"]]
    assert len(weights) == 3
    assert weights == sorted(weights, reverse=True)


def test_a_cell_is_a_receipt(say: Any, folder: Path) -> None:
    said = say("look", folder, "--text", TEXT, *PLACE, "--query", 9, "--key", 4)
    assert said.code == 0
    assert said.out.startswith("small, layer 1, head 2: query 9 “t”, key 4 “O”\n")
    assert "the terms re-add to the weight: difference" in said.out
    assert said.out.count("×") == 8 + 1  # d = 8 terms, and the scale
    cell = json.loads(say("look", folder, "--text", TEXT, *PLACE, "--query", 9, "--key", 4, "--json").out)[
        "cell"
    ]
    assert sum(cell["terms"]) == pytest.approx(cell["products"], abs=1e-12)
    lines = say("look", folder, "--text", TEXT, *PLACE, "--query", 9, "--key", 4, "--csv").out.splitlines()
    assert lines[0] == "d,q,k,term,verdict,z,allowed_z,t,allowed_t,route"
    assert len(lines) == 9


def test_a_cell_of_the_future_says_why_it_is_not_visible(say: Any, folder: Path) -> None:
    said = say("look", folder, "--text", TEXT, *PLACE, "--query", 2, "--key", 7)
    assert "not visible" in said.out
    assert "-inf" in said.out


def test_a_text_may_come_from_a_file_or_standard_input(
    say: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes(b"\xef\xbb\xbfso\r\nme")
    from_file = json.loads(say("look", folder, "--file", file, *PLACE, "--json").out)
    assert from_file["text"] == "so\nme"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"so\nme")))
    assert json.loads(say("look", folder, "--file", "-", *PLACE, "--json").out) == from_file


def test_a_text_that_is_too_long_may_be_cut(say: Any, folder: Path) -> None:
    said = say("look", folder, "--text", "so me light, " * 9, *PLACE)
    assert said.code == 1
    assert said.err == (
        "117 characters, the limit is 40. This model reads at most 40 characters. Nothing was run. "
        "The first 40 fit; --cut takes them.\n"
    )
    cut = json.loads(say("look", folder, "--text", "so me light, " * 9, *PLACE, "--cut", "--json").out)
    assert cut["text"] == ("so me light, " * 9)[:40]


def test_a_recording_may_be_saved_and_is_told_by_info(say: Any, folder: Path, tmp_path: Path) -> None:
    where = tmp_path / "kept"
    assert say("look", folder, "--text", TEXT, *PLACE, "--save", where).code == 0
    said = say("info", where)
    assert said.code == 0
    assert "every file checked" in said.out
    assert "2 calls of attention" in said.out
    assert "3 heads on 3" in said.out
    assert "3 passed" in said.out
    facts = json.loads(say("info", where, "--json", "--quick").out)
    assert facts["tokens"] == len(TEXT)
    assert [site["tq"] for site in facts["runs"][0]["sites"]] == [len(TEXT)] * 2
    numbers = re.findall(r"^  site (\d+) +layer (\d+) ", said.out, re.MULTILINE)
    assert numbers == [("0", "0"), ("1", "1")]
    for number, layer in numbers:  # what `info` prints is what the other commands take
        cells = say("cells", where, "--site", number, "-n", 1, "--json").out
        assert {cell["layer"] for cell in json.loads(cells)["cells"]} == {int(layer)}
    again = say("look", folder, "--text", TEXT, *PLACE, "--save", where)
    assert (again.code, f"{where} holds a recording: it stays" in again.err) == (0, True)


def test_a_broken_recording_is_named_with_its_fault(say: Any, folder: Path, tmp_path: Path) -> None:
    where = tmp_path / "kept"
    say("look", folder, "--text", TEXT, *PLACE, "--save", where)
    file = next(where.glob("*.safetensors"))
    raw = bytearray(file.read_bytes())
    raw[-5] ^= 1
    file.write_bytes(raw)
    said = say("info", where)
    assert said.code == 1
    assert file.name in said.err
    file.write_bytes(raw[:-9])
    assert file.name in say("info", where, "--quick").err
    assert say("info", tmp_path / "nowhere").code == 1


BAD = [
    (["--text", ""], "The text is empty. At least one character is wanted."),
    (
        ["--file", "nowhere.txt"],
        "nowhere.txt cannot be read (No such file or directory). A text file is wanted.",
    ),
    (["--text", "naïve"], "This model has never seen “ï” (first at position 2)."),
    (["--text", "a\ud800"], "Character 1 is U+D800, half of a pair"),
    (["--text", "so", "--query", "2"], "There is no query 2. 0 to 1, or -1 for the last to -2, is wanted."),
    (["--text", "so", "--query", "-3"], "There is no query -3."),
    (["--text", "so", "--key", "9"], "There is no key 9."),
]


@pytest.mark.parametrize(("words", "sentence"), BAD)
def test_what_cannot_be_is_a_sentence_and_exit_1(
    say: Any, folder: Path, words: list[str], sentence: str
) -> None:
    said = say("look", folder, "--layer", 0, "--head", 0, *words)
    assert said.code == 1
    assert said.out == ""
    assert said.err.startswith(sentence)


@pytest.mark.parametrize(("layer", "head"), [(2, 0), (0, 3), (-1, 0)])
def test_a_layer_or_head_that_is_not_there_is_named(say: Any, folder: Path, layer: int, head: int) -> None:
    said = say("look", folder, "--text", "so", "--layer", layer, "--head", head)
    assert said.code == 1
    assert said.err.startswith("There is no")


def test_a_missing_folder_and_a_text_that_is_not_utf8_are_sentences(
    say: Any, folder: Path, tmp_path: Path
) -> None:
    said = say("look", "/nowhere", "--text", "so", *PLACE)
    assert (said.code, said.err.split(".")[0]) == (1, "There is no folder /nowhere")
    file = tmp_path / "latin"
    file.write_bytes(b"na\xefve")
    said = say("look", folder, "--file", file, *PLACE)
    assert said.code == 1
    assert f"{file} is not UTF-8: byte 2 is EF." in said.err


def test_no_text_and_two_texts_are_usage_errors(say: Any, folder: Path) -> None:
    assert say("look", folder, *PLACE).code == 2
    assert say("look", folder, "--text", "a", "--file", "b", *PLACE).code == 2


def test_tokens_are_shown_with_marks() -> None:
    assert shown(of_text(0, " a\n\tb").to_dict()) == "␣a↵⇥b"
    assert shown(of_bytes(0, b"\xe2\x9c").to_dict()) == "[E2 9C]"
    assert shown(of_text(0, "a\u200db").to_dict()) == "a[U+200D]b"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--json", "--csv"], "--json and --csv exclude each other."),
        (["--csv", "--json"], "--json and --csv exclude each other."),
        (["--top", "3", "--key", "0"], "--top and --key exclude each other"),
        (["--save", ""], "--save wants the name of a folder."),
        (["--file", ""], "--file wants the name of a file"),
    ],
)
def test_options_that_cannot_be_together_or_empty_are_usage_errors(
    say: Any, folder: Path, words: list[str], sentence: str
) -> None:
    text = [] if "--file" in words else ["--text", "so"]
    said = say("look", folder, *text, *PLACE, *words)
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err
    assert say("info", "").code == 2


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (["--layer", 99, "--head", 0], "There is no layer 99. 0 or 1 is wanted.\n"),
        (["--layer", -1, "--head", 0], "There is no layer -1. 0 or 1 is wanted.\n"),
        (["--layer", 0, "--head", -1], "There is no head -1. 0 to 2 is wanted.\n"),
        (["--layer", 0, "--head", -1, "--key", 0], "There is no head -1. 0 to 2 is wanted.\n"),
        (["--layer", 0, "--head", 3], "There is no head 3. 0 to 2 is wanted.\n"),
    ],
)
def test_layers_and_heads_are_counted_from_0_and_those_there_are_named(
    say: Any, folder: Path, place: list[Any], sentence: str
) -> None:
    assert say("look", folder, "--text", "so", *place) == (1, "", sentence)


def test_a_layer_that_could_not_be_shown_says_why(folder: Path) -> None:
    recording = open_model(str(folder)).run("so").recording
    recording.missing.append(NotShown(7, "layer 7", "It computes no softmax"))
    with pytest.raises(NotKept, match=r"Layer 7 cannot be shown\. It computes no softmax\."):
        site(recording, 7)


def test_a_row_from_word_to_word_is_a_sum_over_keys_and_a_mean_over_queries(say: Any, folder: Path) -> None:
    text = "so me, light"
    place = ["look", folder, "--text", text, "--layer", 1, "--head", 2]
    found = json.loads(say(*place, "--query", -2, "--words", "--json").out)
    rows = [json.loads(say(*place, "--query", i, "--json").out)["row"] for i in range(len(text))]
    assert [key["token"]["text"] for key in found["row"]] == ["so", " ", "me", ",", " ", "light"]
    assert found["query"]["places"] == list(range(7, 12)) and found["i"] == 7
    for key in found["row"]:
        cells = [rows[i][j]["weight"] or 0.0 for i in range(7, 12) for j in key["token"]["places"]]
        assert key["weight"] == pytest.approx(sum(cells) / 5, abs=1e-6)
    told = say(*place, "--words", "--top", 2).out.splitlines()
    assert "query 7 “light”" in told[0] and "6 words visible" in told[-1] and len(told) == 4


def test_words_do_not_go_with_a_single_cell(say: Any, folder: Path) -> None:
    place = ["look", folder, "--text", "so", "--layer", 0, "--head", 0]
    assert "--words and --key exclude each other" in say(*place, "--words", "--key", 0).err
    assert "--fold-specials goes with --words." in say(*place, "--fold-specials").err


def test_values_put_the_length_of_each_value_beside_its_weight(say: Any, folder: Path) -> None:
    asked = ["look", folder, "--text", TEXT, *PLACE, "--values"]
    here = open_model(str(folder)).run(TEXT).recording.site(1)
    mixes = here.mixes(2, here.tq - 1)
    told = json.loads(say(*asked, "--top", 5, "--json").out)
    best = mixes.values[0].topk(5)
    assert [key["weight_times_length"] for key in told["row"]] == best.values.tolist()
    assert [key["value_length"] for key in told["row"]] == mixes.lengths[best.indices].tolist()
    assert told["times"] == "weight × |v W_O|"
    assert told["value_length"].startswith(
        "|v W_O|: the length of the key's value after W_O, layers.1.attention"
    )
    lines = list(csv.DictReader(io.StringIO(say(*asked, "--csv").out)))
    assert [float(line["weight_times_length"]) for line in lines] == mixes.values[0].tolist()
    text = say(*asked, "--top", 3)
    assert text.code == 0 and "weight × |v W_O|  token" in text.out
    assert "in the unit of the hidden states" in text.out
    one = say(*asked, "--key", 4).out
    assert f"weight × |v W_O|: {float(here.weights(2, here.tq - 1, 4)):.7g} × " in one


def test_values_that_mean_nothing_are_refused(say: Any, folder: Path) -> None:
    said = say("look", folder, "--text", TEXT, *PLACE, "--values", "--words")
    assert said.code != 0 and "a word is several tokens, each with a value of its own" in said.err
