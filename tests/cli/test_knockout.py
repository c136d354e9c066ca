"""`attnscope knockout`: the numbers of the function, with tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attnscope.knocking import Cut
from attnscope.knocking.of_text import bench_of
from attnscope.models import open_model

TEXT = "so much light,\nso me light"
PLACE = ["--site", 1, "--head", 2]


def test_json_holds_what_the_function_tells(say: Any, folder: Path) -> None:
    said = say(
        "knockout", folder, "--text", TEXT, *PLACE, "--rows", 9, "--cols", "3", "--how", "zero", "--json"
    )
    assert said.code == 0, said.err
    told = json.loads(said.out)
    found = bench_of(open_model(str(folder)), TEXT).without(Cut(1, 2, 9, 3, "zero"))
    at = found.at(9, top=8)
    assert told["next"]["kl"] == at.kl
    assert told["next"]["position"] == 9
    assert [one["id"] for one in told["next"]["after"]] == [one.id for one in at.after]
    assert told["next"]["before"][0]["token"]["id"] == at.before[0].id
    assert told["nothing"] == {"bit_equal": True, "largest": 0.0}
    assert len(told["kl"]) == len(told["realised"]) == 26
    assert told["kl"][:9] == [0.0] * 9
    assert told["realised"][-1] is None
    (one,) = told["taken_out"]
    assert (one["rows"], one["cols"], one["how"], one["head"]) == ([9, 10], [3, 4], "zero", 2)
    assert one["weight"] == found.taken_out[0].weight
    assert one["verdict"] == ["passed"]


def test_the_table_has_both_probabilities_and_what_they_mean(say: Any, folder: Path) -> None:
    said = say("knockout", folder, "--text", TEXT, *PLACE, "--rows", "4:9")
    assert said.code == 0, said.err
    assert "head 2 of" in said.out
    assert "queries 4 to 8: output set to 0" in said.out
    assert "after position 25" in said.out
    assert "With nothing taken out the answer is the model's own, bit for bit." in said.out
    assert "A large weight whose removal moves nothing explains nothing of the answer" in said.out


def test_a_site_has_its_name_too(say: Any, folder: Path) -> None:
    by_number = say("knockout", folder, "--text", TEXT, *PLACE, "--json")
    name = json.loads(by_number.out)["taken_out"][0]["site"]
    by_name = say("knockout", folder, "--text", TEXT, "--site", name, "--head", 2, "--json")
    assert by_name.out == by_number.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--rows", "a:b"], 2, "'a:b' is no place; 9, or first:end such as 4:12, is wanted."),
        (["--rows", "1:2:3"], 2, "is no place"),
        (["--rows", ""], 2, "is no place"),
        (["--rows", "26"], 1, "There is no row 26. 0 to 25."),
        (
            ["--rows", "3", "--cols", "1", "--how", "mean"],
            1,
            "a mean stands in the place of the whole output",
        ),
        (["--position", "26"], 1, "There is no position 26. 0 to 25."),
    ],
)
def test_what_is_not_there_is_said(say: Any, folder: Path, words: list[str], code: int, said: str) -> None:
    found = say("knockout", folder, "--text", TEXT, *PLACE, *words)
    assert found.code == code
    assert said in found.err


def test_a_text_is_wanted(say: Any, folder: Path) -> None:
    assert "A text is wanted" in say("knockout", folder, *PLACE).err
