"""kill -9 at random moments of writing: what is left is the old recording, none, or a whole new one.

ATTNSCOPE_KILLS=200 kills as often; 12 times otherwise.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import attnscope
from attnscope.errors import BrokenRecording
from attnscope.recording import Recording, Site, load, verify

MakeSite = Callable[..., Site]
RecordingOf = Callable[..., Recording]

KILLS = int(os.environ.get("ATTNSCOPE_KILLS", "12"))

WRITER = """
import os, sys
sys.path[:0] = [{source!r}]
from pathlib import Path
from attnscope.recording import load
from attnscope.recording.writing import Partial
given, target = load(sys.argv[1]), Path(sys.argv[2])
sites = given.sites[:]

def write(name):
    given.tokens = [name]
    partial = Partial(target)
    given.sites[:] = [partial.keep(site, f"run0000-site{{site.index:04d}}.safetensors") for site in sites]
    partial.commit(given)

for line in sys.stdin:  # a name a line: each is a writer of its own, that is killed
    child = os.fork()
    while not child:
        write(line.strip())
    print(child, flush=True)
    os.waitpid(child, 0)
    print("dead", flush=True)
"""


@pytest.fixture
def given(saved: Path, make_site: MakeSite, recording_of: RecordingOf) -> Path:
    """A recording of several files, so that there are many moments."""
    names = ("padded", "bias", "rule", "window", "sinks")
    return recording_of(*(make_site(name, index=i) for i, name in enumerate(names))).save(
        saved.parent / "given"
    )


class Writers:
    """Writers that are started one after the other, quickly: each is a fork of one that has loaded all."""

    def __init__(self, given: Path, target: Path) -> None:
        source = str(Path(attnscope.__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER.format(source=source), str(given), str(target)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip

    def start(self, name: str) -> None:
        """A process that writes recordings whose token is `name`, until it is killed."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        self.last = int(self.process.stdout.readline())

    def kill(self) -> None:
        """Ends the last one where it stands."""
        assert self.process.stdout is not None
        os.kill(self.last, signal.SIGKILL)
        assert self.process.stdout.readline() == "dead\n"

    def close(self) -> None:
        """No more are started."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


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
    given: Path, tmp_path: Path
) -> None:
    chance, target = random.Random(7), tmp_path / "killed" / "look"
    writers, before, seen = Writers(given, target), None, set()
    try:
        writers.start("warm")
        took = wait_for(target)
        for number in range(KILLS):
            writers.kill()
            after = found_at(target)
            assert after in (before, [str(number - 1)]) if number else after == ["warm"]
            seen.add("none" if after is None else "old" if after == before else "new")
            if chance.random() < 0.3:  # from a free place again
                shutil.rmtree(target.parent)
                after = None
            before = after
            writers.start(str(number))
            time.sleep(chance.random() * 1.5 * took)
        writers.kill()
        assert len(list(target.parent.iterdir())) <= 3  # each cleared what the one before had left
    finally:
        writers.close()
    assert "new" in seen and (KILLS < 100 or seen == {"none", "old", "new"})


def test_two_writers_onto_one_place_and_a_reader_never_meet_halfway(given: Path, tmp_path: Path) -> None:
    target, chance = tmp_path / "both" / "look", random.Random(3)
    one, two = Writers(given, target), Writers(given, target)
    seen: set[str] = set()
    took = 0.0
    try:
        for _ in range(max(KILLS // 50, 1)):
            one.start("one")
            two.start("two")
            took = max(took, wait_for(target))
            until = time.monotonic() + 8 * took
            while time.monotonic() < until:
                try:
                    recording = load(target)
                    tokens = recording.tokens
                    recording.sites[chance.randrange(5)].weights(chance.randrange(6), 3)
                except BrokenRecording as error:
                    assert str(error).startswith("There is no recording") or "Load it again" in str(error)
                    continue
                seen.update(tokens or [])  # type: ignore[arg-type]
            one.kill()
            two.kill()
            assert found_at(target) in (["one"], ["two"])
    finally:
        one.close()
        two.close()
    assert seen == {"one", "two"}
    last = load(target)
    last.tokens = ["last"]
    last.save(target)
    assert [path.name for path in target.parent.iterdir()] == ["look"]
    assert found_at(target) == ["last"]
