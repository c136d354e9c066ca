"""The compiled library: where it lies, whether it is ours, and which instruction set of it runs.

ATTNSCOPE_LIBRARY names another file, ATTNSCOPE_ISA an instruction set other than the best of this machine.
"""

from __future__ import annotations

import ctypes
import os
import textwrap
from functools import cache
from pathlib import Path

import torch

from attnscope.core.native.call import Call
from attnscope.core.native.sums import SumsCall
from attnscope.errors import EngineError

ABI = 6
"""What the library must say of itself: the number in native/call.h, raised with each change of it."""

SETS = ("avx512", "avx2", "plain", "wide")
"""Instruction sets, the widest first; NEON is the plain one of its machines. "wide" has the shape of AVX-512
on AVX2: it is slow, and only a library compiled with the sanitizers holds it."""

LONGEST = 400
"""Characters of the reason why there is no library."""

PASSES = {"normalise": 0, "fold": 1, "weigh": 2, "both": 3, "output": 4}


class Library:
    """The functions of the compiled library."""

    def __init__(self, path: Path) -> None:
        """Raises OSError or AttributeError where the file is no such library, EngineError where it is of
        another version.
        """
        self._code = ctypes.CDLL(str(path))
        for name, result, arguments in (
            ("attnscope_abi", ctypes.c_int32, []),
            ("attnscope_call_size", ctypes.c_int64, []),
            ("attnscope_isa", ctypes.c_char_p, [ctypes.c_char_p]),
            ("attnscope_run", ctypes.c_int32, [ctypes.POINTER(Call), ctypes.c_int32, ctypes.c_char_p]),
            ("attnscope_pool", None, [ctypes.c_void_p]),
            ("attnscope_sums", None, [ctypes.POINTER(SumsCall), ctypes.c_char_p]),
        ):
            function = getattr(self._code, name)
            function.restype, function.argtypes = result, arguments
        found = (self._code.attnscope_abi(), self._code.attnscope_call_size())
        if found != (ABI, ctypes.sizeof(Call)):
            raise EngineError(
                f"{path.name} is of version {found[0]} ({found[1]} bytes a call)",
                wanted=f"Version {ABI} ({ctypes.sizeof(Call)} bytes a call)",
                hint="Compile it again: python native/compile.py in a checkout, or install attnscope again",
            )

        self.pool()

    def isa(self) -> str:
        """The instruction set that runs. Raises EngineError where ATTNSCOPE_ISA names one that cannot."""
        name = os.environ.get("ATTNSCOPE_ISA", "")
        found = self._code.attnscope_isa(name.encode())
        if found is None:
            raise EngineError(
                f"ATTNSCOPE_ISA={name!r:.40}", wanted=f"One that this machine has: {', '.join(self.sets())}"
            )
        return str(found.decode())

    def sets(self) -> list[str]:
        """The instruction sets that this machine has and the library was compiled for, the widest first."""
        return [name for name in SETS if self._code.attnscope_isa(name.encode()) is not None]

    def pool(self, of: str | None = "torch") -> None:
        """Lets work be done by the threads that torch has; by our own where `of` is None, or torch's are not
        to be found.
        """
        self._code.attnscope_pool(None if of is None else _parallel())

    def run(self, call: Call, name: str) -> None:
        """One pass over the rows of a call; other Python threads go on meanwhile. Raises MemoryError."""
        isa = self.isa()
        if self._code.attnscope_run(ctypes.byref(call), PASSES[name], isa.encode()):
            raise MemoryError("The native engine found no room for its packed keys")

    def sums(self, call: SumsCall) -> None:
        """Sums over the rows of a tensor."""
        self._code.attnscope_sums(ctypes.byref(call), self.isa().encode())


def _parallel() -> int | None:
    """The address of GOMP_parallel in the OpenMP whose threads torch has; None where that is not to be found.

    Threads of our own would share the cores with torch's, which stay awake for a while.
    """
    packages = Path(torch.__file__).parent
    loaded = getattr(os, "RTLD_NOLOAD", None)
    for path in sorted([*packages.glob("lib/libgomp*"), *packages.parent.glob("torch.libs/libgomp*")]):
        try:
            found = ctypes.CDLL(str(path), mode=os.RTLD_NOW | loaded) if loaded is not None else None
        except OSError:  # another OpenMP took its place
            continue
        if found is not None:
            return ctypes.cast(found.GOMP_parallel, ctypes.c_void_p).value
    return None


def library_path() -> Path:
    """Where the library lies, or would."""
    return Path(os.environ.get("ATTNSCOPE_LIBRARY") or Path(__file__).with_name("_fold.so")).absolute()


@cache
def library() -> Library | str:
    """The library, opened once, or why there is none, in a sentence."""
    path = library_path()
    if not path.exists():
        return f"{path.name} was not compiled{_why(path)}"
    try:
        return Library(path)
    except (OSError, AttributeError, EngineError) as error:
        return f"{path.name} cannot be opened: {error}"


def _why(path: Path) -> str:
    """What the installation said of it, where that lies in its place."""
    try:
        said = " ".join(path.with_suffix(".txt").read_text("utf-8", "replace").split())
    except OSError:
        return ""
    return f": {textwrap.shorten(said, LONGEST, placeholder=' …')}" if said else ""
