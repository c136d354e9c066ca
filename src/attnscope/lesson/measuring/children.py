"""The processes that measure, from their parent's side: started, asked, and ended, each by its own handle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from types import TracebackType
from typing import IO, Any, Self, cast

_PROGRAM = [sys.executable, "-P", "-m", "attnscope.lesson.measuring.child"]
_FREED_AT_ONCE = str(2**20)  # bytes; glibc would keep freed blocks below a size that it raises as it goes


class Stopped(Exception):
    """Raised out of a measurement that was stopped."""


class ChildFailed(Exception):
    """A child that said why it cannot, or ended without a word."""


class Stop:
    """Stops a measurement from another thread: ends its own children and no other process."""

    def __init__(self) -> None:
        self._lock, self._children, self._asked = threading.Lock(), set[Child](), False

    def ask(self) -> None:
        """Stop the measurement now, in the middle of whatever it does."""
        with self._lock:
            self._asked = True
            children = list(self._children)
        for child in children:
            child.kill()

    def check(self) -> None:
        """Raise Stopped where someone asked."""
        if self._asked:
            raise Stopped

    def holds(self, child: Child) -> None:
        """Take a child that has begun."""
        with self._lock:
            self._children.add(child)
        self.check()

    def lets_go(self, child: Child) -> None:
        """Let a child go that has ended."""
        with self._lock:
            self._children.discard(child)


class Child:
    """One process that measures one way at one length. A context manager: at its end the process is over."""

    def __init__(self, wish: dict[str, Any], stop: Stop) -> None:
        threads = str(wish["threads"])
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
            "MALLOC_MMAP_THRESHOLD_": _FREED_AT_ONCE,
        }
        self.wish, self.baseline, self._stop = wish, 0, stop
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        # A session of its own: Ctrl-C in the terminal is for the parent, which then ends its children.
        self._process = subprocess.Popen(
            [*_PROGRAM, json.dumps(wish)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
            start_new_session=True,
        )
        self._asks = cast(IO[str], self._process.stdin)
        self._answers = cast(IO[str], self._process.stdout)

    def __enter__(self) -> Self:
        try:
            self._stop.holds(self)
        except Stopped:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Return the process's id."""
        return self._process.pid

    def ready(self) -> None:
        """Wait until its inputs are made; raises ChildFailed or Stopped."""
        self.baseline = self._hear()["ready"]

    def run(self) -> tuple[float, int]:
        """Run it once: seconds, and bytes held at most so far; raises ChildFailed or Stopped."""
        try:
            self._asks.write("run\n")
            self._asks.flush()
        except OSError as error:
            self._stop.check()
            raise ChildFailed(self._last_words()) from error
        answer = self._hear()
        return answer["seconds"], answer["peak"]

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def close(self) -> None:
        """End the process and wait for its end."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._asks, self._answers, self._errors):
            with suppress(OSError):  # what was still to be written to it is lost, which is meant
                pipe.close()
        self._stop.lets_go(self)

    def _hear(self) -> dict[str, Any]:
        line = self._answers.readline()
        self._stop.check()
        if not line:
            raise ChildFailed(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        if "problem" in answer:
            raise ChildFailed(answer["problem"])
        return answer

    def _last_words(self) -> str:
        """What a process that ended said last: the last line of its errors, or its exit code."""
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return lines[-1][:200] if lines else f"The process ended by itself ({code})"
