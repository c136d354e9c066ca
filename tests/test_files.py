"""What is written whole or not at all: by two at once, and by one that is killed in the middle."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from attnscope.errors import AttnscopeError
from attnscope.files import partial, write_whole

# Writes "new" to the file it is given, and is killed at the moment that is named.
KILLED = """
import os, pathlib, signal, sys
from attnscope.errors import AttnscopeError
from attnscope.files import write_whole
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "before the flush": os.fsync = die
else: pathlib.Path.replace = die
write_whole(pathlib.Path(sys.argv[1]), b"new" * 100_000, AttnscopeError)
"""


def test_two_that_write_one_file_at_once_leave_one_of_the_two_whole(tmp_path: Path) -> None:
    path, contents = tmp_path / "file", [bytes([65 + at]) * 2_000_000 for at in range(4)]
    problems: list[BaseException] = []

    def write(content: bytes) -> None:
        try:
            for _ in range(6):
                write_whole(path, content, AttnscopeError)
                assert path.read_bytes() in contents
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="There is no SIGKILL on Windows")
@pytest.mark.parametrize("moment", ["before the flush", "before the rename"])
def test_one_that_is_killed_leaves_the_old_file_and_no_litter_that_grows(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "file"
    for old in (None, b"old"):
        if old is not None:
            path.write_bytes(old)
        for _ in range(2):
            done = subprocess.run([sys.executable, "-c", KILLED, str(path), moment], check=False, timeout=60)
            assert done.returncode == -signal.SIGKILL
            assert path.exists() == (old is not None)
            assert old is None or path.read_bytes() == old
            assert {one.name for one in tmp_path.iterdir()} - {path.name} == {partial(path).name}
    write_whole(path, b"whole", AttnscopeError)
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]
