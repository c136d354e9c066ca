"""A table of heads comes back from its file as it was; what is no such file is refused in a sentence."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from attnscope.errors import AttnscopeError
from attnscope.gpt import GPT
from attnscope.measure import HeadTable, heads
from attnscope.measure.files import table_data
from attnscope.measure.reading import read_table

from .conftest import TEXTS


@pytest.fixture(scope="module")
def table(model: GPT) -> HeadTable:
    return heads(model, TEXTS[:2], draws=1)


def test_json_gives_back_every_number_and_every_text(table: HeadTable, tmp_path: Path) -> None:
    again = read_table(table.save(tmp_path / "heads.json"))
    assert table_data(again) == table_data(table)
    assert [text.spelled for text in again.texts[:2]] == list(TEXTS[:2])


def test_parquet_gives_back_the_numbers_of_every_head(table: HeadTable, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    again = read_table(table.save(tmp_path / "heads.parquet"))
    assert [row.classes for row in again.rows] == [row.classes for row in table.rows]
    for one, other in zip(again.rows, table.rows, strict=True):
        assert {k: v for k, v in one.to_dict().items() if v == v} == {
            k: v for k, v in other.to_dict().items() if v == v
        }
    assert again.texts == table.texts and again.seed == table.seed


def test_random_characters_are_kept_as_the_text_that_is_read_so(table: HeadTable, model: GPT) -> None:
    random = next(text for text in table.texts if text.kind == "twice")
    assert len(random.spelled) == random.tokens
    assert random.spelled[: random.tokens // 2] * 2 == random.spelled


def broken(table: HeadTable, change: Any) -> str:
    told = json.loads(json.dumps(table_data(table)))
    change(told)
    return json.dumps(told)


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told.pop("heads"),
        lambda told: told.update(heads=[]),
        lambda told: told["heads"].append(told["heads"][0]),
        lambda told: told["heads"][0].update(head="one"),
        lambda told: told["heads"][0].update(scores={}),
        lambda told: told["heads"][0]["scores"]["sink"].update(value="much"),
        lambda told: told.update(texts=[{"kind": "plain"}]),
        lambda told: told.update(seed=None),
        lambda told: told.update(model=7),
    ],
)
def test_a_table_that_is_not_whole_is_no_table(table: HeadTable, tmp_path: Path, change: Any) -> None:
    (tmp_path / "heads.json").write_text(broken(table, change))
    with pytest.raises(AttnscopeError, match="is no table of heads"):
        read_table(tmp_path / "heads.json")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("heads.json", b"[" * 100_000, "nested too deeply"),
        ("heads.json", b"\xff\xfe", "is not JSON"),
        ("heads.json", b"[1, 2]", "is no table of heads"),
        ("heads.csv", b"layer,head", "is no name of a survey"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AttnscopeError, match=said):
        read_table(tmp_path / name)
    with pytest.raises(AttnscopeError, match="cannot be read"):
        read_table(tmp_path / "none.json")


def test_parquet_of_something_else_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "heads.parquet").write_bytes(b"PAR1")
    with pytest.raises(AttnscopeError, match="is no table of heads"):
        read_table(tmp_path / "heads.parquet")


def test_what_an_older_table_does_not_hold_is_undefined_with_a_reason(
    table: HeadTable, tmp_path: Path
) -> None:
    (tmp_path / "heads.json").write_text(broken(table, lambda told: told["heads"][0]["scores"].pop("sink")))
    sink = read_table(tmp_path / "heads.json").rows[0].scores["sink"]
    assert math.isnan(sink.value) and sink.reason == "the file does not have it"
