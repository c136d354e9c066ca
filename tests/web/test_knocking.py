"""Knock-outs asked for by a page: the function's numbers, watched and cancelled, on models and recordings."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from attnscope.knocking import Cut
from attnscope.knocking.of_text import bench_of
from attnscope.models import Subject, open_recording, record_text
from attnscope.web.app import create_app
from attnscope.web.catalogue import Catalogue, catalogue_with
from tests.web.conftest import HOST, ended, wait

TEXT = "ROMEO:\nBut, so me light"


@pytest.fixture(scope="module")
def run(finish: Any) -> str:
    return str(finish("small", TEXT)["id"])


def done(client: TestClient, run: str, wanted: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    answer = client.post(f"/api/runs/{run}/knockouts", json=wanted)
    assert answer.status_code == 202, answer.text
    address = f"/api/runs/{run}/knockouts/{answer.json()['id']}"
    return address, ended(client, address)


@pytest.mark.parametrize(
    ("place", "cut"),
    [
        ({"i": 12, "j": 4, "how": "zero"}, Cut(1, 2, 12, 4, "zero")),
        ({"i": None, "j": None}, Cut(1, 2)),
        ({"how": "mean"}, Cut(1, 2, how="mean")),
    ],
)
def test_it_tells_what_the_function_tells(
    client: TestClient, own: Subject, run: str, place: dict[str, Any], cut: Cut
) -> None:
    address, state = done(client, run, {"site": 1, "head": 2, **place})
    assert state["state"] == "done", state["error"]
    told = client.get(f"{address}/next?i=15&top=4").json()
    found = bench_of(own, TEXT).without(cut)
    assert told["next"]["kl"] == found.at(15).kl
    assert [one["after"] for one in told["next"]["before"]] == [
        one.after for one in found.at(15, top=4).before
    ]
    assert told["next"]["before"][0]["token"]["spoken"]
    assert told["nothing"]["bit_equal"] is True
    assert len(told["kl"]) == len(TEXT)
    assert client.get(f"{address}/next").json()["next"]["position"] == found.position()


def test_the_same_wish_is_one_job(client: TestClient, run: str) -> None:
    wanted = {"site": 0, "head": 1}
    first, second = (done(client, run, wanted)[0] for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("wanted", "status", "said"),
    [
        ({"site": 9, "head": 0}, 400, "There is no site 9 here"),
        ({"site": 0, "head": True}, 400, "There is no head True here"),
        ({"site": 0, "head": 0, "i": 3}, 400, "There is no j None here"),
        ({"site": 0, "head": 0, "i": 23, "j": 0}, 400, "There is no i 23 here"),
        ({"site": 0, "head": 0, "how": "median"}, 400, "how is 'median'"),
        ([], 400, "no JSON object"),
    ],
)
def test_a_bad_wish_gets_a_sentence(
    client: TestClient, run: str, wanted: Any, status: int, said: str
) -> None:
    answer = client.post(f"/api/runs/{run}/knockouts", json=wanted)
    assert answer.status_code == status
    assert said in answer.json()["error"]["title"]


def test_a_mean_of_a_cell_is_refused_with_the_reason(client: TestClient, run: str) -> None:
    answer = client.post(
        f"/api/runs/{run}/knockouts", json={"site": 0, "head": 0, "i": 3, "j": 1, "how": "mean"}
    )
    assert answer.status_code == 400
    assert "a mean stands in the place of the whole output" in answer.json()["error"]["title"]


def test_what_is_not_held_is_said(client: TestClient, run: str) -> None:
    assert client.get(f"/api/runs/{run}/knockouts/nobody").status_code == 404
    assert client.delete(f"/api/runs/{run}/knockouts/nobody").status_code == 404


def test_it_is_cancelled_at_the_next_call(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    from attnscope.knocking import bench as module

    slow = module.Bench._answer

    def patient(self: Any) -> Any:
        time.sleep(0.3)
        return slow(self)

    monkeypatch.setattr(module.Bench, "_answer", patient)
    with TestClient(create_app(catalogue), base_url=HOST) as client:
        started = client.post("/api/runs", json={"model": "small", "text": TEXT}).json()["id"]
        wait(client, started)
        key = client.post(f"/api/runs/{started}/knockouts", json={"site": 0, "head": 0}).json()["id"]
        address = f"/api/runs/{started}/knockouts/{key}"
        assert client.delete(address).json()["state"] == "cancelled"
        time.sleep(0.8)
        assert client.get(address).json()["state"] == "cancelled"
        assert client.get(f"{address}/next").status_code == 409
        assert done(client, started, {"site": 0, "head": 0})[1]["state"] == "done"


@pytest.fixture(scope="module", params=["own", "llama"])
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Subject, Path]:
    subject: Subject = request.getfixturevalue(request.param)
    folder = tmp_path_factory.mktemp("recorded") / "one"
    record_text(subject, subject.encode(TEXT), path=folder)
    return subject, folder


def test_a_recording_whose_model_is_still_there_has_them_too(recorded: tuple[Subject, Path]) -> None:
    subject, folder = recorded
    looks = open_recording(folder, name="one")
    with TestClient(create_app(catalogue_with(None, looks=looks)), base_url=HOST) as client:
        started = client.post("/api/runs", json={"model": "one", "text": ""}).json()["id"]
        wait(client, started)
        assert client.get(f"/api/runs/{started}/sites/1/knockout").json() == {"why_not": None}
        address, state = done(client, started, {"site": 1, "head": 1, "i": 9, "j": 3})
        assert state["state"] == "done", state["error"]
        told = client.get(f"{address}/next").json()
    assert told["next"]["kl"] == bench_of(subject, TEXT).without(Cut(1, 1, 9, 3)).at(9).kl


def test_a_recording_whose_model_is_gone_says_why_not(own: Subject, tmp_path: Path) -> None:
    folder = tmp_path / "one"
    gone = str(tmp_path / "gone")
    source, own.source = own.source, gone
    try:
        record_text(own, own.encode(TEXT), path=folder)
    finally:
        own.source = source
    with TestClient(
        create_app(catalogue_with(None, looks=open_recording(folder, name="one"))), base_url=HOST
    ) as client:
        started = client.post("/api/runs", json={"model": "one", "text": ""}).json()["id"]
        wait(client, started)
        said = f"The folder of its model is not there any more: {gone}"
        assert client.get(f"/api/runs/{started}/sites/0/knockout").json() == {"why_not": said}
        answer = client.post(f"/api/runs/{started}/knockouts", json={"site": 0, "head": 0})
        assert answer.status_code == 409
        assert answer.json()["error"]["message"] == f"{said}."
