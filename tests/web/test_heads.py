"""The routes of the page Heads: surveys from files or made on the spot, what opens them, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from attnscope.listen import record
from attnscope.measure import HeadTable, heads
from attnscope.measure.files import table_data
from attnscope.models import Subject, look_of
from attnscope.recording import Recording
from attnscope.web.app import create_app
from attnscope.web.catalogue import Catalogue, Entry, catalogue_with

from .conftest import HOST, ended, wait


@pytest.fixture(scope="module")
def table(own: Subject) -> HeadTable:
    return heads(own, ["the light, so, the light.", "come, me: it is late, go, go!"], draws=1)


def recorded(own: Subject, keep: str) -> Recording:
    import torch

    with torch.no_grad(), record(own.module, keep=keep) as found:  # type: ignore[arg-type]
        for text in ("the light, so, the light.", "come, me, go, go!"):
            own.forward(own.encode(text))
    return found


@pytest.fixture(scope="module")
def app(own: Subject, table: HeadTable) -> Iterator[TestClient]:
    """An app on a small model, its survey, a recording of two texts, and one of sums alone."""
    looks = []
    for keep in ("qk", "summary"):
        recording = recorded(own, keep)
        looks += [look_of(recording, run=at) for at in range(2)]
    offered = catalogue_with(own, looks=looks)
    tiny = {
        name: entry for name, entry in offered.entries.items() if not name.startswith(("embed", "lesson"))
    }
    other = HeadTable(table.rows, {**table.model, "id": "elsewhere"}, table.texts, 0)
    catalogue = Catalogue(tiny, surveys={"small.json": table, "other.json": other})
    with TestClient(create_app(catalogue), base_url=HOST) as client:
        yield client


def measured(app: TestClient, of: str) -> dict[str, Any]:
    job = app.post("/api/heads", json={"of": of}).json()["id"]
    return ended(app, f"/api/heads/jobs/{job}")


def test_a_survey_from_a_file_is_the_table_that_was_saved(app: TestClient, table: HeadTable) -> None:
    listed = app.get("/api/heads").json()["surveys"]
    assert [one["id"] for one in listed][:3] == ["small.json", "other.json", "small"]
    assert [one["measured"] for one in listed[:3]] == [True, True, True]  # the file tells of the model, too
    told = app.get("/api/heads/table?of=small.json").json()
    opens = told.pop("opens")
    assert told == json.loads(json.dumps(table_data(table)))
    assert opens["model"] == "small"
    assert app.get("/api/heads/table?of=other.json").json()["opens"]["model"] is None


def test_a_text_of_a_survey_opens_as_the_tokens_that_were_measured(
    app: TestClient, table: HeadTable, own: Subject
) -> None:
    opens = app.get("/api/heads/table?of=small.json").json()["opens"]["texts"]
    assert len(opens) == len(table.texts) > 3
    for text, target in zip(table.texts, opens, strict=True):
        if text.kind == "needle":
            continue
        assert target["model"] == "small" and target["map"] is False
        run = wait(app, app.post("/api/runs", json=target).json()["id"])
        assert run["state"] == "done" and len(own.encode(target["text"]).ids) == text.tokens


def test_a_recording_is_measured_over_its_own_texts(app: TestClient, own: Subject) -> None:
    names = [one["id"] for one in app.get("/api/heads").json()["surveys"] if one["kind"] == "recording"]
    assert app.get("/api/heads/table", params={"of": names[0]}).status_code == 409
    assert measured(app, names[0])["state"] == "done"
    told = app.get("/api/heads/table", params={"of": names[1]}).json()  # the same recording, its other text
    wanted = table_data(heads(recorded(own, "qk")))
    assert told["heads"] == json.loads(json.dumps(wanted["heads"]))
    assert [one["model"] for one in told["opens"]["texts"]] == names[:2]


def test_sums_alone_give_what_they_tell_and_say_what_they_do_not(app: TestClient) -> None:
    name = [one["id"] for one in app.get("/api/heads").json()["surveys"] if one["kind"] == "recording"][2]
    assert measured(app, name)["state"] == "done"
    head = app.get("/api/heads/table", params={"of": name}).json()["heads"][0]
    assert head["scores"]["entropy"]["value"] > 0
    assert head["scores"]["induction_mass"]["value"] is None
    assert "q and k are not at hand" in head["scores"]["induction_mass"]["reason"]


def test_classes_are_told_for_the_model_of_a_survey(app: TestClient, table: HeadTable) -> None:
    told = app.get("/api/heads/classes?of=small").json()
    assert told["of"] == "small.json"
    assert [head["classes"] for head in told["heads"]] == [list(row.classes) for row in table.rows]
    assert {rule["score"] for rule in told["classes"]} == set(told["heads"][0]["scores"])


def test_a_survey_can_be_cancelled_and_made_again(own: Subject) -> None:
    catalogue = Catalogue({own.id: Entry(own.description, lambda: own)})
    with TestClient(create_app(catalogue), base_url=HOST) as client:
        assert client.get("/api/heads/classes", params={"of": own.id}).json() is None
        job = client.post("/api/heads", json={"of": own.id}).json()["id"]
        assert client.post("/api/heads", json={"of": own.id}).json()["id"] == job
        assert client.delete(f"/api/heads/jobs/{job}").json()["state"] == "cancelled"
        assert client.get("/api/heads/table", params={"of": own.id}).status_code == 409
        again = client.post("/api/heads", json={"of": own.id}).json()["id"]
        assert again != job
        # a text that is run meanwhile is not heard by the survey, nor waits for its end
        run = client.post("/api/runs", json={"model": own.id, "text": "so, the light"}).json()["id"]
        assert wait(client, run)["state"] == "done"
        client.delete(f"/api/heads/jobs/{again}")


@pytest.mark.parametrize("form", ["html", "csv", "json", "png", "svg"])
def test_the_table_is_handed_out_as_a_file(app: TestClient, form: str, table: HeadTable) -> None:
    answer = app.get(f"/api/heads/export/{form}?of=small.json&x=sink&y=entropy&head=1.2")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="heads.{form}"'
    begins = {
        "html": b"<!doctype html>",
        "csv": b"layer,head",
        "json": b"{",
        "png": b"\x89PNG",
        "svg": b"<?xml",
    }
    assert answer.content.startswith(begins[form])
    if form == "svg":
        assert "L1 H2" in answer.text and "entropy, nats" in answer.text


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/heads/table", None, 400),
        ("GET", "/api/heads/table?of=../../etc/passwd", None, 404),
        ("GET", "/api/heads/table?of=/etc/passwd", None, 404),
        ("GET", "/api/heads/classes?of=heads.json", None, 404),
        ("GET", "/api/heads/export/png?of=small.json", None, 400),
        ("GET", "/api/heads/export/png?of=small.json&x=sink&y=__class__", None, 400),
        ("GET", "/api/heads/export/png?of=small.json&x=sink&y=sink&head=%00", None, 200),
        ("GET", "/api/heads/export/exe?of=small.json", None, 404),
        ("GET", "/api/heads/jobs/none", None, 404),
        ("DELETE", "/api/heads/jobs/none", None, 404),
        ("POST", "/api/heads", b"{", 400),
        ("POST", "/api/heads", b'{"of": ["small"]}', 400),
        ("POST", "/api/heads", b'{"of": "small.json"}', 404),
        ("POST", "/api/heads", b'{"of": "/etc"}', 404),
        ("POST", "/api/heads", b"[" * 100_000, 400),
    ],
)
def test_what_cannot_be_done_is_refused(
    app: TestClient, method: str, path: str, body: bytes | None, status: int
) -> None:
    answer = app.request(method, path, content=body)
    assert answer.status_code == status, answer.text
    if status != 200:
        assert answer.json()["error"]["title"]
