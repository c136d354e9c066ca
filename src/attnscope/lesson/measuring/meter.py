"""How much memory this process has held at its most since the meter was set, as the system counts it."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path

_STATUS, _FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_PEAK = "5"  # what clear_refs is told, to begin the peak anew (proc(5), since Linux 4.0)


class Meter:
    """Set when it is made. Elsewhere than on Linux it counts from the most that was held before."""

    def __init__(self) -> None:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back, so that the baseline is what is held
        self.baseline = _most()
        with suppress(OSError):
            _FORGET.write_text(_PEAK)
            self.baseline = _read("VmRSS") or self.baseline

    def peak(self) -> int:
        """Return the bytes held at most past the baseline."""
        return max(0, _most() - self.baseline)


def refuse_beyond(more: int) -> None:
    """Tell the system to refuse this process data of more than `more` bytes past what it has; Linux alone."""
    held = _read("VmData")
    if held is None:
        return
    import resource

    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = held + more if hard == resource.RLIM_INFINITY else min(held + more, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def available() -> int | None:
    """Return the bytes that this machine can give without swapping; None where it does not say."""
    return _read("MemAvailable", Path("/proc/meminfo"))


def _most() -> int:
    """The most this process has held. ru_maxrss alone would begin with what its parent held."""
    peak = _read("VmHWM")
    if peak is not None:
        return peak
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS


def _read(name: str, path: Path = _STATUS) -> int | None:
    """A line of /proc in bytes; it is written in kB, which are 1,024 bytes."""
    with suppress(OSError):
        for line in path.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None
