"""Jobs of one kind: the same is one, one at a time, cancelled, failed with a sentence, ended with the app."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from attnscope.errors import NotKept
from attnscope.web.job import Job
from attnscope.web.jobs import Jobs
from attnscope.web.refusals import Refusal


class Gate:
    """Work that waits until it is let go, and tells how many of it run at once."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.now = self.most = 0

    def __call__(self, job: Job[int]) -> int:
        self.now += 1
        self.most = max(self.most, self.now)
        self.begun.set()
        try:
            while not self.go.wait(0.005):
                job.advance("Half", 1, 2)
        finally:
            self.now -= 1
        return 7


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def jobs() -> Iterator[Jobs[Job[int]]]:
    one = Jobs[Job[int]]("thing", Job[int], remembered=3)
    yield one
    one.close()


def over(job: Job[Any]) -> str:
    end = time.monotonic() + 20
    while not job.ended:
        assert time.monotonic() < end, job.to_dict()
        time.sleep(0.005)
    return job.state


def test_the_same_is_one_job_while_it_is_under_way_and_once_it_is_done(
    jobs: Jobs[Job[int]], gate: Gate
) -> None:
    job = jobs.submit(("a", 1), gate)
    assert jobs.submit(("a", 1), gate) is job
    gate.go.set()
    assert over(job) == "done"
    assert jobs.submit(("a", 1), gate) is job is jobs.last(("a", 1))
    assert job.outcome() == 7
    assert jobs.submit(("a", 1), gate, anew=True) is not job


def test_one_is_carried_out_at_a_time_and_the_other_waits(jobs: Jobs[Job[int]], gate: Gate) -> None:
    first = jobs.submit(1, gate)
    assert gate.begun.wait(20)
    second = jobs.submit(2, gate)
    assert (first.ended, second.to_dict()["state"]) == (False, "waiting")
    assert second.to_dict()["step"] == "Waiting for the one before"
    gate.go.set()
    assert (over(first), over(second), gate.most) == ("done", "done", 1)


def test_a_cancelled_one_is_left_and_asked_for_again_is_another(jobs: Jobs[Job[int]], gate: Gate) -> None:
    job = jobs.submit(1, gate)
    assert gate.begun.wait(20)
    job.cancel()
    with pytest.raises(Refusal, match="This thing is cancelled"):
        job.outcome()
    gate.go.set()
    again = jobs.submit(1, gate)
    assert again is not job
    assert (over(again), job.state, job.found) == ("done", "cancelled", None)


def test_one_that_waits_and_is_cancelled_never_begins(jobs: Jobs[Job[int]], gate: Gate) -> None:
    jobs.submit(1, gate)
    assert gate.begun.wait(20)
    ran = list[int]()
    second = jobs.submit(2, lambda job: ran.append(1) or 1)
    second.cancel()
    gate.go.set()
    jobs.close()
    assert ran == []


@pytest.mark.parametrize(
    ("failure", "title", "hint"),
    [
        (NotKept("No q", wanted="One with q", hint="Record again"), "No q", "Record again"),
        (MemoryError(), "This machine ran out of memory", "Try a shorter text, or close other views"),
        (
            ZeroDivisionError(),
            "The thing met something it did not expect (ZeroDivisionError)",
            "The terminal in which attnscope runs says more",
        ),
    ],
)
def test_a_failure_is_told_in_a_sentence_and_the_next_one_begins_anew(
    jobs: Jobs[Job[int]], gate: Gate, failure: Exception, title: str, hint: str
) -> None:
    def fails(_: Job[int]) -> int:
        raise failure

    job = jobs.submit(1, fails)
    assert over(job) == "failed"
    assert job.error is not None
    assert (job.error["title"], job.error["hint"]) == (title, hint)
    gate.go.set()
    assert over(jobs.submit(1, gate)) == "done"


def test_a_job_is_found_by_its_id_and_its_owner_alone(jobs: Jobs[Job[int]], gate: Gate) -> None:
    gate.go.set()
    job = jobs.submit(1, gate, owner="run")
    assert jobs.get(job.id, owner="run") is job
    for key, owner in ((job.id, ""), (job.id, "other"), ("nothing", "run")):
        with pytest.raises(Refusal, match="This thing is not held any more") as refusal:
            jobs.get(key, owner=owner)
        assert refusal.value.status == 404


def test_only_the_last_ones_are_remembered_and_the_oldest_is_cancelled(
    jobs: Jobs[Job[int]], gate: Gate
) -> None:
    every = [jobs.submit(at, gate) for at in range(4)]
    assert every[0].state == "cancelled"
    with pytest.raises(Refusal, match="not held any more"):
        jobs.get(every[0].id)
    gate.go.set()
    assert [over(job) for job in every[1:]] == ["done"] * 3


def test_the_end_of_the_app_ends_every_thread_and_begins_no_more(jobs: Jobs[Job[int]], gate: Gate) -> None:
    job, other = jobs.submit(1, gate), jobs.submit(2, gate)
    assert gate.begun.wait(20)
    jobs.close()
    assert (job.state, other.state) == ("cancelled", "cancelled")
    assert not [one for one in threading.enumerate() if one.name == "attnscope-thing"]
    with pytest.raises(Refusal, match="The app is ending"):
        jobs.submit(3, gate)
