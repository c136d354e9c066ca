"""Every export opens in what it is for, brings back the weights bit for bit, and says what it is."""

from __future__ import annotations

import csv
import io
import json
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

import attnscope as ats
from attnscope.errors import RecordingError, ShapeError, TooLarge, Uncertified
from attnscope.exports import encode, wanted, write
from attnscope.recording import Recording, Run
from tests.heard import embedded
from tests.recording.conftest import make_site  # noqa: F401

TEXT = 'But, "soft"!\n#1'


@pytest.fixture(scope="module")
def recording() -> Recording:
    return embedded("But, soft! what", TEXT)


def sealed(text: str, heads: int) -> None:
    """Model, versions and certificates are told."""
    told = json.loads(text)
    assert told["model"]["class"] == "GPT"
    assert set(told["versions"]) >= {"attnscope", "torch"}
    assert len(told["heads"]) == heads
    assert all(
        one["certificate"]["verdict"] == "passed" and one["certificate"]["z"] < 8 for one in told["heads"]
    )


def dense(rows: Any, head: int) -> torch.Tensor:
    """A grid from the rows of a table."""
    grid = torch.zeros(15, 15)
    for one in rows:
        if int(one["head"]) == head:
            grid[int(one["i"]), int(one["j"])] = float(one["weight"])
    return grid


def test_csv_brings_back_every_weight_and_token(recording: Recording, tmp_path: Path) -> None:
    path = write(recording, tmp_path / "new" / "head.csv", 2, 1)
    first, _, rest = path.read_text("utf-8").partition("\n")
    assert first.startswith("# attnscope {")
    sealed(first.removeprefix("# attnscope "), 1)
    rows = list(csv.DictReader(io.StringIO(rest)))
    assert len(rows) == 15 * 16 // 2  # causal
    assert torch.equal(dense(rows, 1), recording.site(2).weights(1))
    assert {(int(row["j"]), row["key"]) for row in rows} == set(enumerate(TEXT))


def test_npz_brings_back_the_grids_without_pickle(recording: Recording, tmp_path: Path) -> None:
    path = write(recording, tmp_path / "heads.npz", 2, rows=slice(3, 9), cols=slice(0, 9))
    with np.load(path, allow_pickle=False) as held:
        sealed(str(held["attnscope"]), 6)
        for at, head in enumerate(held["head"].tolist()):
            block = recording.site(2).weights(head, slice(3, 9), slice(0, 9))
            assert np.array_equal(held["weights"][at], block.numpy())
        assert held["visible"].sum() == 6 * sum(range(4, 10))
        assert "".join(held["queries"]) == TEXT[3:9] and "".join(held["keys"]) == TEXT[:9]
        assert held["rows"].tolist() == list(range(3, 9)) and held["layer"].tolist() == [2] * 6


def test_pandas_reads_the_csv_and_the_parquet_alike(recording: Recording, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    read = pandas.read_csv(
        write(recording, tmp_path / "h.csv", 2, 1), comment="#", keep_default_na=False,
        dtype={"weight": "float32"},
    )  # fmt: skip
    path = write(recording, tmp_path / "h.parquet", 2, 1)
    same = pandas.read_parquet(path)
    assert list(read.columns) == list(same.columns)
    for name in ("i", "j", "weight", "head", "layer"):
        assert (read[name].to_numpy() == same[name].to_numpy()).all(), name
    assert read["key"].tolist() == same["key"].tolist() == [TEXT[j] for j in same["j"]]
    assert same["weight"].dtype == np.float32
    assert torch.equal(dense(same.to_dict("records"), 1), recording.site(2).weights(1))
    sealed(parquet.read_schema(path).metadata[b"attnscope"].decode(), 1)


def test_tokens_that_look_like_nothing_or_a_sign_are_read_as_they_are(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    words = ["nan", "NA", "null", "", "#", '"a"', "a,b", "a\r\nb", "1.0", "שלום", "👩‍👧", "e\u0301", "\t"]
    layer, x = torch.nn.MultiheadAttention(4, 1, batch_first=True), torch.randn(1, len(words), 4)
    with ats.record(layer, tokens=words) as odd, torch.no_grad():
        layer(x, x, x, need_weights=False)
    read = pandas.read_csv(write(odd, tmp_path / "odd.csv"), comment="#", keep_default_na=False)
    assert read["key"].tolist() == words * len(words)
    with np.load(write(odd, tmp_path / "odd.npz")) as held:
        assert held["keys"].tolist() == words


def test_without_pyarrow_parquet_says_what_to_install(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(RecordingError, match=r"pyarrow is not installed.*pip install 'attnscope\[tables\]'"):
        write(recording, tmp_path / "head.parquet", 2, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("head", "heads"), [(1, 1), (None, 6)])
def test_a_png_is_read_by_an_image_viewer_with_what_it_says(
    head: int | None, heads: int, recording: Recording, tmp_path: Path
) -> None:
    path = write(recording, tmp_path / "head.png", 2, head)
    with Image.open(path) as image:
        image.load()
        assert image.format == "PNG" and min(image.size) > 300
        sealed(image.text["attnscope"], heads)  # type: ignore[attr-defined]


def test_an_svg_is_xml_with_what_it_says(recording: Recording, tmp_path: Path) -> None:
    tree = ElementTree.parse(write(recording, tmp_path / "head.svg", 2, 1))
    assert tree.getroot().tag == "{http://www.w3.org/2000/svg}svg"
    (said,) = tree.iter("{http://purl.org/dc/elements/1.1/}description")
    sealed(said.text or "", 1)


def test_the_same_export_twice_is_the_same_bytes(recording: Recording) -> None:
    for form in ("csv", "png", "svg"):
        asked = wanted(recording, 2, 1)
        assert zlib.crc32(encode(asked, form)) == zlib.crc32(encode(asked, form))  # type: ignore[arg-type]


def test_what_one_file_does_not_hold_is_refused(recording: Recording, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"head.xls has no name of an export. One in .csv, .parquet"):
        write(recording, tmp_path / "head.xls", 2, 1)
    with pytest.raises(ShapeError, match="There is no head 6"):
        write(recording, tmp_path / "head.csv", 2, 6)
    with pytest.raises(RecordingError, match=r"There is no site 'x' in this run. One of 0 "):
        write(recording, tmp_path / "head.csv", "x")
    with pytest.raises(ShapeError, match="There is no row 15"):
        write(recording, tmp_path / "head.csv", 2, 1, rows=15)
    assert list(tmp_path.iterdir()) == []


def test_too_many_cells_and_a_refused_head_are_refused(make_site: Any) -> None:  # noqa: F811
    refused = Recording([Run(0, "", [make_site(out=make_site().out.flip(2))])])
    for form in ("csv", "npz", "svg"):
        with pytest.raises(Uncertified):
            encode(wanted(refused, 0, 1), form)  # type: ignore[arg-type]
    many = Recording([Run(0, "", [make_site()] * 600)])
    with pytest.raises(TooLarge, match=r"3,600 heads with 4,928,400 cells together"):
        encode(wanted(many), "csv")


def test_the_tables_of_values_bring_back_every_product(recording: Recording, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    read = pandas.read_csv(
        write(recording, tmp_path / "h.csv", 2, 1, values=True), comment="#", keep_default_na=False,
        dtype={"weight": "float32", "value_length": "float32", "weight_times_length": "float32"},
    )  # fmt: skip
    same = pandas.read_parquet(write(recording, tmp_path / "h.parquet", 2, 1, values=True))
    assert list(read.columns) == list(same.columns)
    assert list(same.columns)[-3:] == ["weight", "value_length", "weight_times_length"]
    mixes = recording.site(2).mixes(1)
    for table in (read, same):
        grid = torch.zeros(15, 15)
        grid[table["i"].tolist(), table["j"].tolist()] = torch.tensor(table["weight_times_length"].tolist())
        assert torch.equal(grid, mixes.values)
        assert torch.equal(dense(table.to_dict("records"), 1), recording.site(2).weights(1))
        assert (table["value_length"].to_numpy() == mixes.lengths.numpy()[table["j"]]).all()


def test_a_picture_of_values_is_written_of_one_head_and_of_many(recording: Recording, tmp_path: Path) -> None:
    one = write(recording, tmp_path / "one.svg", 2, 1, values=True).read_text("utf-8")
    many = write(recording, tmp_path / "many.svg", 2, values=True).read_text("utf-8")
    for text in (one, many):
        assert "value_length" in text and "in the unit of the hidden states" in text
    assert "each row by its own largest" in many
