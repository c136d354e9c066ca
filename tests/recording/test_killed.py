"""kill -9 at random moments of writing: what is left is the old recording, none, or a whole new one.

ATTNSCOPE_KILLS=200 kills as often; 12 times otherwise.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import attnscope
from attnscope.errors import BrokenRecording
from attnscope.recording import Recording, Site, load, verify

MakeSite = Callable[..., Site]
RecordingOf = Callable[..., Recording]

KILLS = int(os.environ.get("ATTNSCOPE_KILLS", "12"))

NURSERY = """
import json, os, signal, sys
sys.path[:0] = [{source!r}]
from pathlib import Path
from attnscope.recording import load
from attnscope.recording.writing import Partial
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who is killed is gone at once

def write_for_ever(given, target, name):
    recording = load(given)
    sites, recording.tokens = recording.sites[:], [name]
    while True:
        partial = Partial(Path(target))
        recording.sites[:] = [partial.keep(x, f"run0000-site{{x.index:04d}}.safetensors") for x in sites]
        partial.commit(recording)

for line in sys.stdin:
    child = os.fork()
    if not child:
        write_for_ever(*json.loads(line))
    print(child, flush=True)
"""


@pytest.fixture
def given(saved: Path, make_site: MakeSite, recording_of: RecordingOf) -> Path:
    """A recording of several files, so that there are many moments."""
    names = ("padded", "bias", "rule", "window", "sinks")
    return recording_of(*(make_site(name, index=i) for i, name in enumerate(names))).save(
        saved.parent / "given"
    )


class Nursery:
    """A process that forks writers, so that each is there at once."""

    def __init__(self) -> None:
        source = str(Path(attnscope.__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY.format(source=source)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        self.alive: set[int] = set()

    def start(self, given: Path, target: Path, name: str) -> int:
        """The number of a process that writes recordings whose token is `name`, until it is killed."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(given), str(target), name]) + "\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        self.alive.add(child)
        return child

    def kill(self, child: int) -> None:
        """Ends a writer where it stands."""
        os.kill(child, signal.SIGKILL)
        self.alive.remove(child)
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.kill(child, 0)
                time.sleep(0.001)

    def close(self) -> None:
        """Ends all of them."""
        for child in list(self.alive):
            self.kill(child)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """One for all tests, since it has torch to load."""
    one = Nursery()
    yield one
    one.close()


def found_at(target: Path) -> list[str] | None:
    """The tokens of the recording there, read whole; None where there is none."""
    try:
        recording = load(target, verify=True)
    except BrokenRecording as error:
        assert str(error).startswith("There is no recording at"), error
        return None
    found = verify(target)
    assert found.whole and found.files == 6
    assert [site.layer for site in recording.sites] == [0, 1, 2, 3, 4]
    return list(recording.tokens or [])  # type: ignore[arg-type]


def wait_for(target: Path) -> float:
    """Seconds until a recording is there."""
    began = time.monotonic()
    while not target.exists():
        assert time.monotonic() < began + 60
        time.sleep(0.002)
    return time.monotonic() - began


def test_a_writer_that_is_killed_leaves_the_old_recording_none_or_a_whole_new_one(
    given: Path, tmp_path: Path, nursery: Nursery
) -> None:
    chance, target = random.Random(7), tmp_path / "killed" / "look"
    before: list[str] | None = None
    seen: set[str] = set()
    child = nursery.start(given, target, "first")
    took = wait_for(target)
    for number in range(KILLS):
        nursery.kill(child)
        after = found_at(target)
        assert after in (before, [str(number - 1)]) if number else after == ["first"]
        seen.add("none" if after is None else "old" if after == before else "new")
        if chance.random() < 0.3:  # from a free place again
            shutil.rmtree(target.parent, ignore_errors=True)  # it may not be there yet
            after = None
        before = after
        child = nursery.start(given, target, str(number))
        time.sleep(chance.random() * 1.5 * took)
    nursery.kill(child)
    assert not target.parent.exists() or len(list(target.parent.iterdir())) <= 3  # the next one clears
    assert "new" in seen and (KILLS < 100 or seen == {"none", "old", "new"})


def test_two_writers_onto_one_place_and_a_reader_never_meet_halfway(
    given: Path, tmp_path: Path, nursery: Nursery
) -> None:
    target, chance = tmp_path / "both" / "look", random.Random(3)
    seen: set[str] = set()
    took = 0.0
    for _ in range(max(KILLS // 50, 1)):
        writers = [nursery.start(given, target, name) for name in ("one", "two")]
        took = max(took, wait_for(target))
        until = time.monotonic() + 8 * took
        while time.monotonic() < until:
            try:
                recording = load(target)
                recording.sites[chance.randrange(5)].weights(chance.randrange(6), 3)
            except BrokenRecording as error:
                assert "Load it again" in str(error)
                continue
            seen.update(recording.tokens or [])  # type: ignore[arg-type]
        for child in writers:
            nursery.kill(child)
        assert found_at(target) in (["one"], ["two"])
    assert seen == {"one", "two"}
    last = load(target)
    last.tokens = ["last"]
    last.save(target)
    assert [path.name for path in target.parent.iterdir()] == ["look"]
    assert found_at(target) == ["last"]
