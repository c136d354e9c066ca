"""show(): what a notebook is handed, what stands where no HTML is shown, and what is refused."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import attnscope as ats
from attnscope.errors import NothingRecorded, RecordingError, ShapeError, TooLarge
from attnscope.recording import Recording
from tests.heard import embedded

TEXT = "ROMEO:\nBut, soft! what light"


@pytest.fixture(scope="module")
def recording() -> Recording:
    return embedded(TEXT)


def data_of(page: str) -> Any:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_a_notebook_gets_one_frame_that_holds_the_page(recording: Recording) -> None:
    made = ats.show(recording)
    bundle = made._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    (page,) = re.findall(r'srcdoc="([^"]*)"', bundle["text/html"])
    assert html.unescape(page) == made.html
    assert bundle["text/html"].count("<iframe") == 1
    assert 'sandbox="allow-scripts"' in bundle["text/html"]
    assert "<script" not in bundle["text/html"]


def test_the_page_asks_for_nothing(recording: Recording) -> None:
    page = ats.show(recording).html
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = {rule.split()[0]: rule.split()[1:] for rule in html.unescape(policy).split("; ")}
    assert rules["default-src"] == ["'none'"] and rules["img-src"] == ["data:"]
    assert len(rules["script-src"]) == 1 and rules["script-src"][0].startswith("'sha256-")
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", page.split("<script", 1)[0])


def test_it_carries_model_versions_and_certificates(recording: Recording) -> None:
    page = ats.show(recording).html
    assert re.search(r'<p id="made">attnscope [\d.]+.*torch [\d.]+', page)
    data = data_of(page)
    assert data["result"]["model"]["label"] == "GPT"
    assert data["result"]["certificate"]["passed"] == 36
    assert all(one["verdict"] == "passed" for site in data["result"]["sites"] for one in site["certificate"])


def test_the_head_that_was_asked_for_is_seen_first(recording: Recording) -> None:
    for site in (4, recording.sites[4], recording.sites[4].name):
        data = data_of(ats.show(recording, site, 5).html)
        assert data["start"] == {"site": 0, "head": 5, "i": 27, "theme": None, "values": False}
        assert data["python"] == ["recording.runs[0].sites[4]"]
        assert [one["head"] for one in data["heads"]] == [5]
    data = data_of(ats.show(recording, theme="dark").html)
    assert data["start"] == {"site": 2, "head": 1, "i": 27, "theme": "dark", "values": False}


def test_a_table_stands_where_no_html_is_shown(recording: Recording) -> None:
    lines = repr(ats.show(recording, 2, 1)).splitlines()
    assert lines[0] == "Attention of GPT: 6 of 6 heads passed their certificate."
    assert lines[1] == "Layer 2, head 1: where queries 16 to 27 look"
    row = recording.site(2).weights(1, 27)[0]
    best = row.topk(1)
    assert (
        f"{int(best.indices)} {TEXT[int(best.indices)]} {best.values.item():.3f}".replace(" 0.", " .")
        in lines[-1]
    )


def test_what_has_no_room_is_said_on_the_page_and_in_the_table(recording: Recording) -> None:
    whole = ats.show(recording)
    made = ats.show(recording, limit=len(whole.html) - 50_000)
    assert whole.left == "" and re.match(r"\d+ of 36 heads are here\.", made.left)
    assert len(made.html) <= len(whole.html) - 50_000
    assert html.escape(made.left) in made.html and made.left in repr(made)


def test_a_page_is_saved_as_one_file(recording: Recording, tmp_path: Path) -> None:
    made = ats.show(recording)
    path = made.save(tmp_path / "a new folder" / "romeo.html")
    assert path.read_text("utf-8") == made.html
    with pytest.raises(RecordingError, match=r"is a folder\. The name of a file\. Choose another name"):
        made.save(tmp_path)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"site": "layers.9"}, RecordingError, r"There is no site 'layers.9' in this run. One of 0 "),
        ({"site": 6}, ShapeError, "There is no site 6"),
        ({"site": 0, "head": 6}, ShapeError, "There is no head 6"),
        ({"rows": 28}, ShapeError, "There is no row 28"),
        ({"run": 1}, RecordingError, "There is no run 1"),
        ({"batch": 1}, RecordingError, "has no text 1"),
        ({"theme": "blue"}, RecordingError, "theme='blue'"),
        ({"height": 5}, RecordingError, "height=5"),
        ({"limit": 1_000}, TooLarge, "has no room in a file of 0.001 MB"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    given: dict[str, Any], error: type[Exception], message: str, recording: Recording
) -> None:
    with pytest.raises(error, match=message):
        ats.show(recording, **given)


def test_only_a_recording_can_be_shown() -> None:
    with pytest.raises(RecordingError, match=r"show\(\) got a Tensor. A Recording"):
        ats.show(torch.zeros(2, 2))  # type: ignore[arg-type]
    with pytest.raises(NothingRecorded, match="holds no call"):
        ats.show(Recording())


def test_a_recording_on_disk_is_shown_alike(recording: Recording, tmp_path: Path) -> None:
    again = ats.load(recording.save(tmp_path / "kept"))
    assert data_of(ats.show(again).html)["heads"] == data_of(ats.show(recording).html)["heads"]
