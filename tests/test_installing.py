"""What an installation makes: a wheel with the native engine, or one without where it cannot be compiled."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = "attnscope/core/native/_fold.so"
SHARED = ["pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore", "native/compile.py"]
COMPILER = next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)
compiled = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler here")

DISPATCH = """
extern "C" int plain();
extern "C" __attribute__((visibility("default"))) int face() { return 40 + plain(); }
"""
KERNEL = """
#define NAMED(set) int set() { return 2; }
#define OF(set) NAMED(set)
extern "C" { OF(ATTNSCOPE_ISA) }
"""


class Built(NamedTuple):
    """What one build gave: its file, or None where it failed, and what it said."""

    file: Path | None
    said: str

    def names(self) -> list[str]:
        assert self.file is not None, self.said
        with zipfile.ZipFile(self.file) as wheel:
            return wheel.namelist()

    def tag(self) -> str:
        assert self.file is not None, self.said
        return self.file.stem.split("-", 2)[2]


Build = Callable[..., Built]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a project that is built as ours is, with an engine that is quickly compiled."""
    project = tmp_path / "project"
    for name in SHARED:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, project / name)
    (project / "src/attnscope").mkdir(parents=True)
    (project / "src/attnscope/__init__.py").write_text("")
    (project / "native/dispatch.cpp").write_text(DISPATCH)
    (project / "native/kernel.cpp").write_text(KERNEL)
    return project


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Return what builds a project in a process of its own, as pip has it done."""

    def one(project: Path, target: str = "wheel", **environment: str) -> Built:
        into = tmp_path / "built"
        clean = {name: value for name, value in os.environ.items() if name not in ("CXX", "ATTNSCOPE_NATIVE")}
        done = subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(into)],
            cwd=project, env=clean | environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        files = list(into.iterdir()) if done.returncode == 0 else []
        return Built(files[0] if files else None, done.stdout + done.stderr)

    return one


def compile_here(project: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run compile.py of a project, as a person does."""
    program = [sys.executable, str(project / "native/compile.py"), *words]
    clean = {name: value for name, value in os.environ.items() if name not in ("CXX", "ATTNSCOPE_NATIVE")}
    return subprocess.run(program, env=clean | environment, capture_output=True, text=True, timeout=120)


@compiled
def test_a_wheel_holds_the_engine_and_is_for_this_platform_and_every_python(
    build: Build, small: Path, tmp_path: Path
) -> None:
    built = build(small)
    assert LIBRARY in built.names()
    assert built.tag().startswith("py3-none-") and not built.tag().endswith("-any")
    with zipfile.ZipFile(built.file or "") as wheel:
        library = ctypes.CDLL(wheel.extract(LIBRARY, tmp_path))
    assert library.face() == 42
    assert not hasattr(library, "plain")  # only what is meant to be seen from outside is
    assert "compiled by" in built.said and not (small / "src" / LIBRARY).exists()


def test_without_a_compiler_the_wheel_is_a_pure_one_and_says_why(build: Build, tmp_path: Path) -> None:
    built = build(ROOT, CC="/bin/false", CXX="/bin/false")
    assert LIBRARY not in built.names() and "attnscope/core/fold.py" in built.names()
    assert built.tag() == "py3-none-any"
    assert "not compiled, /bin/false on " in built.said and "the torch engine serves" in built.said


def test_a_compiler_that_is_not_there_is_named(build: Build, small: Path) -> None:
    built = build(small, CXX="no-such-compiler -O1")
    assert built.tag() == "py3-none-any"
    assert "CXX names no-such-compiler, which is not to be found" in built.said


NONSENSE = {
    "says nothing": ("#!/bin/sh\n", "makes no library that this Python opens"),
    "writes what is no library": (
        '#!/bin/sh\nfor last; do :; done; echo nonsense > "$last"; echo nonsense; yes | head -100000\n',
        "makes no library that this Python opens",
    ),
    "complains at length": (
        "#!/bin/sh\nyes no | head -100000 >&2; exit 3\n",
        "on first.cpp failed: no no no",
    ),
    "is no program": ("\0nonsense", "cannot be run: Exec format error"),
    "hangs": ("#!/bin/sh\nsleep 100000 & wait\n", "on first.cpp took more than 0.5 s"),
}


@pytest.mark.parametrize("fault", NONSENSE)
def test_a_compiler_that_is_none_is_told_soon_and_the_reason_goes_into_the_wheel(
    fault: str, build: Build, small: Path, tmp_path: Path
) -> None:
    program, said = NONSENSE[fault]
    compiler = tmp_path / "made up" / "c++"
    compiler.parent.mkdir()
    compiler.write_text(program)
    compiler.chmod(0o755)
    compiling = small / "native/compile.py"
    compiling.write_text(compiling.read_text().replace("SOON = 60 ", "SOON = 0.5 "))
    built = build(small, CXX=f"'{compiler}'")
    assert built.tag() == "py3-none-any" and LIBRARY not in built.names()
    with zipfile.ZipFile(built.file or "") as wheel:
        why = wheel.read(LIBRARY.replace(".so", ".txt")).decode()
    assert " ".join(why.split()).startswith(f"{compiler} {said}") and len(why) < 4_200
    assert not subprocess.run(["pgrep", "-f", "sleep 100000"], capture_output=True, check=False).stdout


def test_a_compiler_that_no_shell_can_read_is_told(build: Build, small: Path) -> None:
    built = build(small, CXX="'c++")
    assert built.tag() == "py3-none-any" and "is no command: No closing quotation" in built.said


@compiled
def test_source_that_does_not_compile_gives_a_pure_wheel_and_the_compilers_words(
    build: Build, small: Path
) -> None:
    (small / "native/kernel.cpp").write_text("#error made to fail\n")
    built = build(small)
    assert built.tag() == "py3-none-any" and "made to fail" in built.said


def test_where_the_engine_is_insisted_on_an_installation_fails_without_it(build: Build, small: Path) -> None:
    built = build(small, CXX="/bin/false", ATTNSCOPE_NATIVE="1")
    assert built.file is None and "/bin/false on first.cpp failed" in built.said


def test_where_the_engine_is_not_wanted_nothing_is_compiled_and_none_is_shipped(
    build: Build, small: Path
) -> None:
    stale = small / "src" / LIBRARY
    stale.parent.mkdir(parents=True)
    stale.write_text("of a checkout")
    built = build(small, ATTNSCOPE_NATIVE="0")
    assert built.tag() == "py3-none-any" and LIBRARY not in built.names()
    assert stale.read_text() == "of a checkout"


def test_the_source_package_can_compile_the_engine(build: Build) -> None:
    built = build(ROOT, "sdist")
    with tarfile.open(built.file or "") as package:
        names = {name.split("/", 1)[1] for name in package.getnames()}
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "native").iterdir() if path.is_file()}
    assert sources <= names and "hatch_build.py" in names
    assert f"src/{LIBRARY}" not in names


@compiled
def test_a_checkout_gets_the_engine_and_loses_it_where_it_can_no_longer_be_compiled(small: Path) -> None:
    place = small / "src" / LIBRARY
    done = compile_here(small)
    assert done.returncode == 0 and done.stdout.count("\n") == 1 and place.exists()
    done = compile_here(small, CXX="/bin/false")
    assert done.returncode == 0 and "the torch engine serves" in done.stderr and not place.exists()
    assert [left.name for left in place.parent.iterdir()] == ["_fold.txt"]
    assert "/bin/false" in place.with_suffix(".txt").read_text()
    assert compile_here(small, CXX="/bin/false", ATTNSCOPE_NATIVE="1").returncode == 1
    assert compile_here(small).returncode == 0
    assert [left.name for left in place.parent.iterdir()] == ["_fold.so"]


def test_a_word_in_the_environment_that_means_nothing_is_refused(small: Path) -> None:
    done = compile_here(small, ATTNSCOPE_NATIVE="yes")
    assert done.returncode == 1
    assert done.stderr == "ATTNSCOPE_NATIVE='yes': 0 skips the native engine, 1 insists on it\n"
