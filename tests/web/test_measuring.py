"""The measurement over HTTP: one at a time, cancelled at once, refused in a sentence, ended with the app."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from attnscope.errors import LessonError
from attnscope.lesson.measuring.children import Stopped
from attnscope.lesson.measuring.measure import Progress
from attnscope.lesson.measuring.measured import Measured, Row
from attnscope.web import measuring
from attnscope.web.app import create_app
from attnscope.web.catalogue import Catalogue
from attnscope.web.measuring import Measuring, measure_routes

DOCS = Path(__file__).parents[2] / "docs"
SMALL = {"budget_mb": 64, "longest": 512}


@pytest.fixture
def app(tools: SimpleNamespace) -> Iterator[TestClient]:
    """An app of its own, closed at the end of the test."""
    with TestClient(create_app(Catalogue({})), base_url=tools.HOST) as one:
        yield one


class Held:
    """Stands for a measurement that waits until it is let go or stopped, and tells two rows meanwhile."""

    def __init__(self) -> None:
        self.begun, self.gate, self.calls = threading.Event(), threading.Event(), 0

    def __call__(self, *, stop: Any, progress: Callable[[Progress], None], **wish: Any) -> Measured:
        self.calls += 1
        row = Row("tiles", 512, 2**20, "measured", seconds=0.1, least=0.1, most=0.1, repeats=1, peak=7)
        progress(Progress("512 tokens, our tiles", 1, 4, 3.0, (row,)))
        self.begun.set()
        while not self.gate.wait(0.01):
            stop.check()
        return Measured(64, 512, wish["budget_mb"], 1, 1, 7, "2", "here", "sdpa", 5, 1.0, (row, row))


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    one = Held()
    monkeypatch.setattr(measuring, "measure_cost", one)
    return one


def state(app: TestClient, job: str, *wanted: str, seconds: float = 120) -> dict[str, Any]:
    """Return the state of a measurement once it is one of `wanted`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now: dict[str, Any] = app.get(f"/api/measure/{job}").json()
        if now["state"] in wanted:
            return now
        time.sleep(0.02)
    raise AssertionError(f"It did not become {wanted}: {now}")


def test_a_real_measurement_goes_to_its_end(app: TestClient) -> None:
    answer = app.post("/api/measure", json=SMALL)
    assert answer.status_code == 202
    done = state(app, answer.json()["id"], "done", "failed")
    assert done["state"] == "done", done["error"]
    assert [row["way"] for row in done["rows"]] == ["dense", "tiles", "sdpa", "window"]
    assert all(row["seconds"] > 0 for row in done["rows"])
    assert (done["done"], done["seconds_left"]) == (done["total"], None)
    assert done["result"]["threads"] == 1
    assert done["result"]["baseline"] > 2**20


def test_rows_and_time_left_are_told_on_the_way(app: TestClient, held: Held) -> None:
    job = app.post("/api/measure", json=SMALL).json()["id"]
    assert held.begun.wait(20)
    now = app.get(f"/api/measure/{job}").json()
    assert (now["state"], now["step"], now["seconds_left"]) == ("running", "512 tokens, our tiles", 3.0)
    assert [row["peak"] for row in now["rows"]] == [7]
    held.gate.set()
    assert len(state(app, job, "done")["rows"]) == 2


def test_a_second_client_with_the_same_wish_follows_the_same_measurement(app: TestClient, held: Held) -> None:
    first = app.post("/api/measure", json=SMALL).json()["id"]
    assert app.post("/api/measure", json=SMALL).json()["id"] == first
    assert held.begun.wait(20)
    assert held.calls == 1


def test_another_wish_is_refused_while_one_is_under_way(app: TestClient, held: Held) -> None:
    app.post("/api/measure", json=SMALL)
    answer = app.post("/api/measure", json=SMALL | {"longest": 1024})
    assert answer.status_code == 409
    error = answer.json()["error"]
    assert error["title"] == "Another measurement is under way, to 512 tokens within 64 MB"
    assert error["message"] == "One at a time is run: two would disturb each other."
    assert error["hint"] == "Wait for its end, or cancel it"


def test_a_cancelled_one_keeps_its_rows_and_makes_room(app: TestClient, held: Held) -> None:
    job = app.post("/api/measure", json=SMALL).json()["id"]
    assert held.begun.wait(20)
    assert app.delete(f"/api/measure/{job}").json()["state"] == "cancelled"
    after = app.get(f"/api/measure/{job}").json()
    assert (after["state"], after["step"], len(after["rows"])) == ("cancelled", "Cancelled", 1)
    again = app.post("/api/measure", json=SMALL | {"budget_mb": 128}).json()["id"]
    assert again != job
    held.gate.set()
    assert state(app, again, "done")["result"]["budget_mb"] == 128


def test_a_real_one_is_cancelled_in_the_middle(app: TestClient) -> None:
    job = app.post("/api/measure", json={"budget_mb": 64, "longest": 8192}).json()["id"]
    jobs = threading.enumerate()
    thread = next(one for one in jobs if one.name == "attnscope-measurement")
    app.delete(f"/api/measure/{job}")
    thread.join(20)
    assert not thread.is_alive()
    assert app.get(f"/api/measure/{job}").json()["state"] == "cancelled"


def test_the_end_of_the_app_ends_the_measurement_and_its_processes(tools: SimpleNamespace) -> None:
    with TestClient(create_app(Catalogue({})), base_url=tools.HOST) as one:
        one.post("/api/measure", json={"budget_mb": 64, "longest": 8192})
        thread = next(other for other in threading.enumerate() if other.name == "attnscope-measurement")
        time.sleep(0.3)
    assert not thread.is_alive()


def test_nothing_is_begun_once_the_app_is_ending() -> None:
    closed = Measuring()
    closed.jobs.close()
    with pytest.raises(measuring.Refusal, match="The app is ending"):
        closed.submit(64, 512)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"not json", "is not JSON"),
        (b"[]", "no JSON object"),
        (b"{}", "'budget_mb' is missing"),
        (b'{"budget_mb": "64", "longest": 512}', "'budget_mb' is missing or no whole number"),
        (b'{"budget_mb": 64, "longest": true}', "'longest' is missing or no whole number"),
        (b'{"budget_mb": 64, "longest": 600}', "longest=600"),
        (b'{"budget_mb": 1, "longest": 512}', "budget_mb=1"),
        (b'{"budget_mb": 1e400, "longest": 512}', "no whole number"),
        (b'{"budget_mb": 99999999999, "longest": 512}', "budget_mb=99999999999"),
    ],
)
def test_a_wish_that_cannot_be_is_refused_with_a_sentence(
    app: TestClient, held: Held, body: bytes, said: str
) -> None:
    answer = app.post("/api/measure", content=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert said in error["title"]
    assert error["message"].endswith(".")
    assert held.calls == 0


def test_an_unknown_measurement_is_said_to_be_unknown(app: TestClient) -> None:
    for ask in (app.get, app.delete):
        answer = ask("/api/measure/nothing")
        assert answer.status_code == 404
        assert answer.json()["error"]["title"] == "This measurement is not held any more"


@pytest.mark.parametrize(
    ("failure", "title"),
    [
        (LessonError("A budget of 64 MB", wanted="Less"), "A budget of 64 MB"),
        (OSError("no more processes"), "The measurement met something it did not expect (OSError)"),
    ],
)
def test_a_failure_is_told_in_a_sentence(
    app: TestClient, monkeypatch: pytest.MonkeyPatch, failure: Exception, title: str
) -> None:
    def fails(**_: Any) -> Measured:
        raise failure

    monkeypatch.setattr(measuring, "measure_cost", fails)
    job = app.post("/api/measure", json=SMALL).json()["id"]
    assert state(app, job, "failed")["error"]["title"] == title


def test_a_stop_from_elsewhere_is_no_failure(app: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(*, stop: Any, **_: Any) -> Measured:
        raise Stopped

    monkeypatch.setattr(measuring, "measure_cost", stops)
    job = app.post("/api/measure", json=SMALL).json()["id"]
    assert state(app, job, "cancelled")["error"] is None


def test_only_the_last_ones_are_remembered(app: TestClient, held: Held) -> None:
    held.gate.set()
    first = app.post("/api/measure", json=SMALL).json()["id"]
    state(app, first, "done")
    for _ in range(measuring.REMEMBERED):
        state(app, app.post("/api/measure", json=SMALL).json()["id"], "done")
    assert app.get(f"/api/measure/{first}").status_code == 404


def test_every_route_of_the_measurement_is_in_the_docs() -> None:
    text = (DOCS / "app.md").read_text("utf-8")
    for route in measure_routes(Measuring()).routes:
        assert isinstance(route, APIRoute)
        for method in route.methods:
            assert f"| `{method} {route.path}` |" in text, (method, route.path)
