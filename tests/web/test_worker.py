"""Runs wait in a line, can be stopped, and are let go by bytes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from attnscope.errors import AttnscopeError, BrokenModel
from attnscope.models import Subject
from attnscope.web.app import create_app
from attnscope.web.catalogue import Catalogue, Entry
from attnscope.web.job import Cancelled, Job, Step
from attnscope.web.refusals import Refusal
from attnscope.web.runs import Run
from attnscope.web.worker import LONGEST_LINE, Worker


class Held:
    """A real model whose opening waits until it is let go."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.gate, self.reached = subject, threading.Event(), threading.Event()

    def open(self) -> Subject:
        self.reached.set()
        assert self.gate.wait(20)
        return self.subject


@pytest.fixture
def held(own: Subject) -> Held:
    return Held(own)


@pytest.fixture
def worker(held: Held) -> Any:
    one = Worker(Catalogue({"small": Entry(held.subject.description, held.open)}))
    yield one
    held.gate.set()
    one.close()


def until(happens: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "It did not happen"
        time.sleep(0.005)


def test_a_run_goes_from_waiting_through_loading_to_done(worker: Worker, held: Held) -> None:
    first, second = worker.submit("small", "so"), worker.submit("small", "me")
    held.reached.wait(20)
    assert (first.state, first.step.text) == ("loading", "Opening the model")
    assert second.to_dict()["state"] == "waiting"
    assert worker.submit("small", "so") is first
    held.gate.set()
    until(lambda: second.state == "done")
    assert first.state == "done"


def test_a_run_that_waits_or_loads_can_be_cancelled_and_started_again(worker: Worker, held: Held) -> None:
    first, second = worker.submit("small", "so"), worker.submit("small", "me")
    held.reached.wait(20)
    first.cancel()
    second.cancel()
    assert first.to_dict()["state"] == second.to_dict()["state"] == "cancelled"
    again = worker.submit("small", "so")
    assert again is not first
    assert again.id == first.id
    held.gate.set()
    until(lambda: again.state == "done")
    assert (first.state, second.state) == ("cancelled", "cancelled")
    assert first.found is None


def test_a_run_is_stopped_in_the_middle_of_the_model(own: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(Catalogue({"small": Entry(own.description, lambda: own)}))
    steps: list[str] = []
    plain = Run.advance

    def advance(run: Run, text: str, done: int, total: int) -> None:
        steps.append(text)
        if text == "Recording layer 2 of 2":
            run.cancel()
        plain(run, text, done, total)

    monkeypatch.setattr(Run, "advance", advance)
    run = worker.submit("small", "so me light")
    until(lambda: run.state == "cancelled")
    worker.close()
    assert steps[-1] == "Recording layer 2 of 2"
    monkeypatch.undo()
    # what listened has gone: the model runs as before
    assert own.run("so me light").bit_equal is True


def test_progress_only_goes_up_and_ends_at_its_total(own: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(Catalogue({"small": Entry(own.description, lambda: own)}))
    seen: list[Step] = []
    plain = Run.enter

    def enter(run: Run, state: Any, step: Step) -> None:
        seen.append(step)
        plain(run, state, step)

    monkeypatch.setattr(Run, "enter", enter)
    run = worker.submit("small", "so me")
    until(lambda: run.state == "done")
    worker.close()
    running = [step for step in seen if step.total]
    assert {step.total for step in running} == {6}
    assert [step.done for step in running] == sorted(step.done for step in running)
    texts = list(dict.fromkeys(step.text for step in running))
    assert texts == [
        "Reading the text",
        "Recording layer 1 of 2",
        "Recording layer 2 of 2",
        "Running once more without looking, to compare the answers",
        "Summing up call 1 of 2",
        "Summing up call 2 of 2",
    ]


def test_seconds_left_follow_the_speed_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("attnscope.web.job.time.monotonic", lambda: now[0])
    run = Job[int]("x", what="run")
    run.advance("Recording layer 1 of 30", 0, 30)
    assert run.to_dict()["seconds_left"] is None
    now[0] += 5
    run.advance("Recording layer 11 of 30", 10, 30)
    assert run.to_dict()["seconds_left"] == 10.0


def test_a_cancelled_run_cannot_be_finished(own: Subject) -> None:
    run = Job[int]("x", what="run")
    run.cancel()
    with pytest.raises(Cancelled):
        run.advance("Recording", 1, 2)
    run.carry_out(lambda: 3)
    assert (run.state, run.found) == ("cancelled", None)


def test_finished_runs_are_let_go_by_bytes_the_oldest_first(own: Subject) -> None:
    catalogue = Catalogue({"small": Entry(own.description, lambda: own)})
    probe = Worker(catalogue)
    size = probe.submit("small", "so me light")
    until(lambda: size.state == "done")
    probe.close()
    worker = Worker(catalogue, kept_bytes=int(size.nbytes * 2.5))
    runs = [worker.submit("small", text) for text in ("so me light", "me so light", "light so me")]
    until(lambda: runs[2].state == "done")
    worker.submit("small", "a")
    until(lambda: worker.submit("small", "a").state == "done")
    with pytest.raises(Refusal, match="not held any more"):
        worker.get(runs[0].id)
    assert worker.get(runs[2].id) is runs[2]
    worker.close()


def test_the_newest_run_is_kept_whatever_its_size(own: Subject) -> None:
    worker = Worker(Catalogue({"small": Entry(own.description, lambda: own)}), kept_bytes=1)
    run = worker.submit("small", "so me light")
    until(lambda: run.state == "done")
    assert worker.views(run.id).nbytes > 1
    worker.close()


def test_the_line_has_an_end(worker: Worker, held: Held) -> None:
    worker.submit("small", "first")
    held.reached.wait(20)
    for number in range(LONGEST_LINE):
        worker.submit("small", "so" + "o" * number)
    with pytest.raises(Refusal) as caught:
        worker.submit("small", "one too many")
    assert caught.value.status == 429


def test_a_model_that_does_not_open_fails_its_run_with_the_sentence() -> None:
    def broken() -> Subject:
        raise BrokenModel("model.safetensors is cut short", hint="Copy it again")

    description = SimpleNamespace(to_dict=dict)
    worker = Worker(Catalogue({"bad": Entry(description, broken)}))  # type: ignore[arg-type]
    run = worker.submit("bad", "so")
    until(lambda: run.state == "failed")
    assert run.error == {
        "title": "model.safetensors is cut short",
        "message": "",
        "hint": "Copy it again",
        "offer": None,
    }
    worker.close()


def test_a_fault_of_ours_fails_the_run_and_the_next_one_works(
    own: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(Catalogue({"small": Entry(own.description, lambda: own)}))
    with monkeypatch.context() as patched:
        patched.setattr("attnscope.web.worker.result_of", lambda _: 1 / 0)
        run = worker.submit("small", "so")
        until(lambda: run.state == "failed")
    assert run.error is not None
    assert run.error["title"] == "The run met something it did not expect (ZeroDivisionError)"
    again = worker.submit("small", "so")
    until(lambda: again.state == "done")
    worker.close()


def test_deleting_a_run_over_http_cancels_it_and_keeps_a_finished_one(
    held: Held, tools: SimpleNamespace
) -> None:
    app = create_app(Catalogue({"small": Entry(held.subject.description, held.open)}))
    with TestClient(app, base_url=tools.HOST) as client:
        run = client.post("/api/runs", json={"model": "small", "text": "so"}).json()["id"]
        held.reached.wait(20)
        answer = client.delete(f"/api/runs/{run}")
        assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
        held.gate.set()
        done = client.post("/api/runs", json={"model": "small", "text": "me"}).json()["id"]
        assert tools.wait(client, done)["state"] == "done"
        assert client.delete(f"/api/runs/{done}").json()["state"] == "done"
        assert client.delete("/api/runs/none").status_code == 404


def test_a_refused_head_is_told_and_never_drawn(own: Subject, tools: SimpleNamespace) -> None:
    look = own.run("so me light")
    site = look.recording.sites[1]
    certificate = site.certificate
    assert certificate is not None
    verdict = tuple("refused" if head == 2 else one for head, one in enumerate(certificate.verdict[0]))
    object.__setattr__(certificate, "verdict", (verdict,))
    certificate.z[0, 2] = 31.0
    from attnscope.web.results import result_of
    from attnscope.web.views import Views

    views = Views(look)
    assert views.thumbnails()[5].isnan().all()
    assert not views.thumbnails()[4].isnan().any()
    with pytest.raises(AttnscopeError, match=r"Layer 1 head 2 refused\. Its rows do not re-add"):
        views.row(1, 2, 3)
    for ask in (views.sides, views.cell, views.grid, views.column):
        args = {"sides": (), "cell": (3, 1), "grid": (slice(0, 2), slice(0, 2)), "column": (1,)}[ask.__name__]
        with pytest.raises(Refusal) as caught:
            ask(1, 2, *args)
        assert caught.value.status == 409
    told = result_of(views)
    assert told["sites"][1]["certificate"][2]["verdict"] == "refused"
    assert told["certificate"]["passed"] == 5
