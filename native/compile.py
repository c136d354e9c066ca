"""Compile the native engine: the C++ of this folder into one library, which Python opens with ctypes.

    python native/compile.py                             into its place in src/, for this checkout
    python native/compile.py --sanitize --into FOLDER    with the address and undefined sanitizers

Files named kernel*.cpp are compiled once for each instruction set, with ATTNSCOPE_ISA defined as its name;
every other file once. CXX names the compiler, else c++, g++ or clang++ is taken. Where nothing can be
compiled the torch engine serves: that is said, and is an error only where ATTNSCOPE_NATIVE is 1. With
ATTNSCOPE_NATIVE 0 nothing is compiled. Needs the standard library alone, so that an installation can use it.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
NAME = "_fold.so"  # under this name on every system: it is opened by its path
PLACE = FOLDER.parent / "src" / "attnscope" / "core" / "native" / NAME
COMMON = ["-std=c++17", "-fPIC", "-pthread", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
QUICK = ["-O3", "-ffp-contract=off", "-DNDEBUG"]
SANITIZED = [
    "-O1", "-g", "-ffp-contract=off", "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-DATTNSCOPE_TESTED",
]  # fmt: skip
# instruction set -> its flags, for x86-64; elsewhere the plain one alone
SETS = {
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx2", "-mfma", "-mf16c"],
    "avx2": ["-mavx2", "-mfma", "-mf16c"],
    "plain": [],
}
# what the sanitized library has beside them: the 16 lanes of AVX-512 where there is AVX2 alone
TESTED = {"wide": [*SETS["avx2"], "-DATTNSCOPE_WIDE"]}
TIMEOUT = 900  # seconds for one file
SOON = 60  # seconds for the first one, of one line: a compiler that hangs is not waited for 15 minutes
FIRST = 'extern "C" __attribute__((visibility("default"))) int first() { return 42; }\n'
OPENED = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).first() != 42)"
LONGEST = 4_000  # characters of what a compiler said


class NotCompiled(Exception):
    """There is no library; the message is the reason, in part of a sentence."""


def compile_into(target: Path, *, sanitize: bool = False) -> str:
    """Compile the engine and put it at `target`, whole or not at all; returns what was done, as a sentence.

    Raises NotCompiled with the reason where there is no library. One that lay there before is then removed:
    it would be of other sources. The reason lies in its place, as text, for `attnscope check` to tell.
    """
    why = target.with_suffix(".txt")
    started = time.monotonic()
    try:
        compiler = _compiler()
        with tempfile.TemporaryDirectory(prefix="attnscope-") as folder:
            _try_out(compiler, Path(folder))
            made = _linked(compiler, Path(folder), sanitize)
            target.parent.mkdir(parents=True, exist_ok=True)
            beside = target.with_name(f".{target.name}.{os.getpid()}")
            shutil.copyfile(made, beside)
            beside.replace(target)
            why.unlink(missing_ok=True)
    except (NotCompiled, OSError) as error:
        target.unlink(missing_ok=True)
        with suppress(OSError):
            target.parent.mkdir(parents=True, exist_ok=True)
            why.write_text(f"{error}\n", "utf-8")
        raise NotCompiled(str(error)) from error
    sets = ", ".join(_sets(sanitize=sanitize))
    return f"native engine for {sets}: compiled by {' '.join(compiler)} in {time.monotonic() - started:.0f} s"


def asked(variable: str = "ATTNSCOPE_NATIVE") -> str:
    """Return what the environment says of the native engine: "0" skip it, "1" insist on it, "" neither."""
    said = os.environ.get(variable, "")
    if said not in {"", "0", "1"}:
        raise SystemExit(f"{variable}={said!r}: 0 skips the native engine, 1 insists on it")
    return said


def _sets(*, sanitize: bool = False) -> dict[str, list[str]]:
    if platform.machine().lower() not in {"x86_64", "amd64"}:
        return {"plain": SETS["plain"]}
    return SETS | TESTED if sanitize else SETS


def _compiler() -> list[str]:
    if sys.platform == "win32":
        raise NotCompiled("Windows is not among the systems it is compiled on")
    given = os.environ.get("CXX", "")
    try:
        named = shlex.split(given)
    except ValueError as error:
        raise NotCompiled(f"CXX={given!r} is no command: {error}") from None
    if named:
        if shutil.which(named[0]) is None:
            raise NotCompiled(f"CXX names {named[0]}, which is not to be found")
        return named
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return [name]
    raise NotCompiled("there is no C++ compiler (c++, g++ or clang++; CXX may name another)")


def _try_out(compiler: list[str], folder: Path) -> None:
    """Compile one line and open what comes out, in a Python of its own. Raises NotCompiled."""
    source, made = folder / "first.cpp", folder / "first.so"
    source.write_text(FIRST)
    _run([*compiler, *COMMON, "-shared", str(source), "-o", str(made)], SOON)
    opened = subprocess.run([sys.executable, "-c", OPENED, str(made)], capture_output=True)
    if opened.returncode != 0:
        raise NotCompiled(f"{compiler[0]} makes no library that this Python opens")


def _linked(compiler: list[str], folder: Path, sanitize: bool) -> Path:
    """Compile every source into `folder`, two at a time, and link them."""
    flags, jobs = [*COMMON, *(SANITIZED if sanitize else QUICK)], []
    for source in sorted(FOLDER.glob("*.cpp")):
        sets = _sets(sanitize=sanitize) if source.name.startswith("kernel") else {"": []}
        for name, own in sets.items():
            made = folder / f"{source.stem}{'-' if name else ''}{name}.o"
            defined = [f"-DATTNSCOPE_ISA={name}"] if name else []
            jobs.append([*compiler, *flags, *own, *defined, "-c", str(source), "-o", str(made)])
    # The kernels take longest, so they come first.
    jobs.sort(key=lambda job: "-DATTNSCOPE_ISA" not in " ".join(job))
    with ThreadPoolExecutor(max_workers=2) as pool:
        try:
            list(pool.map(_run, jobs))
        except BaseException:
            for process in list(RUNNING):  # an interrupted installation leaves none behind
                _end(process)
            raise
    objects, library = [job[-1] for job in jobs], folder / NAME
    link = [*compiler, *flags, "-shared", *objects, "-o", str(library)]
    fixed = ["-static-libstdc++", "-static-libgcc"]
    if sanitize or sys.platform == "darwin":
        _run(link)
    else:
        try:
            _run([*link, *fixed])
        except NotCompiled:  # the static library of C++ is a package of its own in some systems
            _run(link)
    return library


RUNNING: set[subprocess.Popen[str]] = set()


def _run(command: list[str], seconds: float = TIMEOUT) -> None:
    """Run a compiler, and end it with all that it started where it takes too long. Raises NotCompiled."""
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise NotCompiled(f"{command[0]} cannot be run: {error.strerror}") from error
    RUNNING.add(process)
    with process:
        try:
            said = process.communicate(timeout=seconds)[1].strip()[:LONGEST]
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise NotCompiled(f"{_told(command)} took more than {seconds:g} s") from None
            raise
        finally:
            RUNNING.discard(process)
    if process.returncode != 0:
        raise NotCompiled(f"{_told(command)} failed{f': {said}' if said else ''}")


def _end(process: subprocess.Popen[str]) -> None:
    """End a process that runs, and what it started: a compiler is several programs."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _told(command: list[str]) -> str:
    sources = [Path(word).name for word in command if word.endswith(".cpp")]
    return f"{command[0]} {'on ' + sources[0] if sources else 'at linking'}"


def main(argv: Sequence[str] | None = None) -> int:
    """Compile as the command line says; returns the exit code."""
    parser = argparse.ArgumentParser(description="Compile attnscope's native engine.")
    parser.add_argument("--into", type=Path, help="a folder for the library, in place of src/")
    parser.add_argument("--sanitize", action="store_true", help="with the address and undefined sanitizers")
    given = parser.parse_args(argv)
    target = PLACE if given.into is None else given.into / NAME
    if asked() == "0":
        target.unlink(missing_ok=True)
        print("native engine: skipped, since ATTNSCOPE_NATIVE is 0; the torch engine serves")
        return 0
    try:
        print(compile_into(target, sanitize=given.sanitize))
    except NotCompiled as reason:
        print(f"native engine: not compiled, {reason}; the torch engine serves", file=sys.stderr)
        return int(asked() == "1")
    return 0


if __name__ == "__main__":
    sys.exit(main())
