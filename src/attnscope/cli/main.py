"""The entry point: runs a command and turns every failure into one sentence and an exit code.

0    done
1    something came that attnscope cannot work with; stderr says what, and what to try
2    a command line that does not parse
130  stopped by Ctrl-C
141  the reader of the output went away

It imports nothing slow before it stands ready to catch Ctrl-C.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

REFUSED, INTERRUPTED, BROKEN_PIPE = 1, 130, 141
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line `argv` (sys.argv without it) and leave with its exit code."""
    try:
        _open_streams()
        code = run(list(sys.argv[1:] if argv is None else argv))
        _leave_quietly(code)
    except KeyboardInterrupt:
        _leave_quietly(INTERRUPTED)
        code = _stopped()
    sys.exit(code)


def run(words: list[str]) -> int:
    """Run one command line; returns the exit code and never raises for a user's mistake."""
    try:
        return _run(words)
    except KeyboardInterrupt:
        return _stopped()


def __getattr__(name: str) -> Any:
    """Fetch `group` when it is asked for, since it brings click."""
    if name != "group":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from attnscope.cli.group import group

    return group


def _run(words: list[str]) -> int:
    debug, stdout = "--debug" in words[:1], sys.stdout
    import click

    from attnscope.cli.group import group
    from attnscope.errors import AttnscopeError

    try:
        code = group.main(args=words, prog_name="attnscope", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.Abort:
        return _stopped()
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except SystemExit as left:
        # click leaves in this way where the reader of stdout went away, with a stdout that flushes quietly
        return BROKEN_PIPE if sys.stdout is not stdout else _code(left)
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            error.show()
        return error.exit_code
    except AttnscopeError as error:
        return _refuse(str(error), debug)
    except OSError as error:
        return _refuse(_told(error), debug)
    except MemoryError:
        return _refuse("This machine ran out of memory. Try a shorter text or a smaller model.", debug)
    except Exception as error:
        return _refuse(_unexpected(error, words), debug)


def _unexpected(error: Exception, words: list[str]) -> str:
    import shlex

    again = shlex.join(["attnscope", "--debug", *words])
    what = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    return f"Something went wrong that attnscope did not expect ({what}). Details: {again}"


def _told(error: OSError) -> str:
    """Return the system's own refusal as a sentence, with the path where it is known."""
    reason = (error.strerror or str(error) or type(error).__name__).rstrip(".")
    reason = reason[:1].lower() + reason[1:]
    if error.filename is not None:
        named = error.filename if error.filename2 is None else error.filename2
        path = os.fsdecode(named) if isinstance(named, str | bytes | os.PathLike) else str(named)
        verb = "written" if error.errno in _FULL else "used"
        return f"{path} cannot be {verb}: {reason}. Choose another file or folder."
    if _of_stdout(error):
        return f"The output cannot be written: {reason}. Send it to another place."
    if error.errno in _FULL:
        return f"A file cannot be written: {reason}. Make room, or choose another folder."
    return f"The system refused what attnscope needs: {reason}."


def _of_stdout(error: OSError) -> bool:
    """Return whether writing to stdout failed: it still does, or the error comes from what prints.

    An unbuffered stdout has dropped the line and would flush without a complaint.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = last.tb_frame.f_globals.get("__name__", "") if last is not None else ""
    return where.startswith(("click.", "rich.")) or not _flushes()


def _flushes() -> bool:
    """Return whether stdout takes what still waits for it."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        return False
    return True


def _refuse(sentence: str, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    _say(sentence)
    if not _flushes():
        _silence_stdout()
    return REFUSED


def _stopped() -> int:
    _say("Stopped.")
    if not _flushes():
        _silence_stdout()
    return INTERRUPTED


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def _code(left: SystemExit) -> int:
    return left.code if isinstance(left.code, int) else int(left.code is not None)


def _open_streams() -> None:
    """Put something in the place of a stdout or stderr that was closed before the start.

    Python has None there. What is written to this stdout fails as it does on any closed one.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _silence_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not complain."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError):
        os.dup2(nothing, sys.stdout.fileno())


def _leave_quietly(code: int) -> None:
    """See that Ctrl-C from here on, while the interpreter takes itself down, changes nothing that is seen.

    It still ends a wait for threads; later, where Python would fall back to dying by the signal, it is
    ignored.
    """
    with contextlib.suppress(ValueError):  # outside the main thread there are no signals to set
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
