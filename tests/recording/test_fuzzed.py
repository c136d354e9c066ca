"""Files that somebody broke: each is an error that names the file and the fault, or loads and is named by
verify. No crash, no wait, no gigabyte, nothing unpickled, nothing opened outside the folder.

ATTNSCOPE_FUZZED=500 makes as many; 60 otherwise.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import random
import resource
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attnscope.cli.main import run
from attnscope.errors import AttnscopeError, BrokenRecording
from attnscope.recording import Recording, load, verify
from attnscope.recording.manifest import seal

FUZZED = int(os.environ.get("ATTNSCOPE_FUZZED", "60"))
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000")
JUNK: list[Any] = [
    None, "x", "", -1, 10**9, 2**63, 10**40, 0.5, True, [], {}, "../../etc/passwd", "/etc/passwd", [[]], [-1],
    {"a": 1}, "\0", "nan",
]  # fmt: skip


class Ran:
    """What unpickling would do."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


def archive() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as made:
        made.writestr("archive/data.pkl", pickle.dumps(Ran()))
    return held.getvalue()


FOREIGN = [
    PNG,
    archive(),
    pickle.dumps(Ran()),
    b"",
    b"\0" * 64,
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"\xff\xfe",
]


def touch(recording: Recording) -> None:
    """Asks for everything that is on disk."""
    for run_ in recording.runs:
        for site in run_.sites:
            for name in ("q", "k", "v", "out"):
                site.shelf.tensor(name)
            site.weights(0, allow_uncertified=True)
            site.cell(1, 5, 3, allow_uncertified=True)
            site.summary()


def sealed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the manifest as somebody would who also makes its checksum anew."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest | {"checksum": seal(manifest)}))


def reheaded(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the header of a safetensors file, and its length and header in the manifest."""
    data = file.read_bytes()
    (count,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + count])
    change(header)
    text = json.dumps(header, separators=(",", ":")).encode().ljust(count)
    start = struct.pack("<Q", len(text)) + text
    file.write_bytes(start + data[8 + count :])

    def tell(manifest: dict[str, Any]) -> None:
        (entry,) = (one for one in manifest["runs"][0]["sites"] if one["file"] == file.name)
        entry.update(bytes=file.stat().st_size, header=hashlib.sha256(start).hexdigest())

    sealed(file.parent, tell)


def some_place(tree: Any, chance: random.Random) -> tuple[Any, Any]:
    """A container somewhere within, and one of its keys."""
    while True:
        key = chance.choice(sorted(tree) if isinstance(tree, dict) else range(len(tree)))
        if not (isinstance(tree[key], dict | list) and tree[key] and chance.random() < 0.85):
            return tree, key
        tree = tree[key]


def junk_in(tree: Any, chance: random.Random) -> None:
    where, key = some_place(tree, chance)
    if chance.random() < 0.2 and isinstance(where, dict):
        del where[key]
    else:
        where[key] = chance.choice(JUNK)


def cut(file: Path, chance: random.Random) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: chance.randrange(len(data))])


def flip(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice((1, 1, 1, 30))):
        data[chance.randrange(len(data) if chance.random() < 0.7 else 300)] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


def stretch(file: Path, chance: random.Random) -> None:
    with file.open("ab") as more:
        more.write(chance.randbytes(chance.choice((1, 64, 5000))))


def foreign(file: Path, chance: random.Random) -> None:
    file.write_bytes(chance.choice(FOREIGN))


def odd(file: Path, chance: random.Random) -> None:
    """Something else than a file."""
    file.unlink()
    what = chance.randrange(6)
    if what == 0:
        file.mkdir()
    elif what == 1:
        file.symlink_to(file.name)  # a loop
    elif what == 2:
        file.symlink_to("/dev/zero")
    elif what == 3:
        os.mkfifo(file)
    elif what == 4:
        shutil.copy(file.parent.parent / "kept" / file.name, file.parent.parent / "outside")
        file.symlink_to(file.parent.parent / "outside")


def long_header(file: Path, chance: random.Random) -> None:
    data = file.read_bytes()
    count = chance.choice((0, 1, len(data), 2**24 + 1, 2**31, 2**40, 2**63, 2**64 - 1))
    file.write_bytes(struct.pack("<Q", count) + data[8:])


def odd_header(file: Path, chance: random.Random) -> None:
    reheaded(file, lambda header: junk_in(header, chance))


def odd_offsets(file: Path, chance: random.Random) -> None:
    def change(header: dict[str, Any]) -> None:
        tensor = header[chance.choice(sorted(header))]
        at, by = chance.randrange(2), chance.choice((-(2**40), -8, -1, 1, 8, 2**40))
        tensor["data_offsets"][at] += by

    reheaded(file, change)


def odd_manifest(file: Path, chance: random.Random) -> None:
    sealed(file.parent, lambda manifest: junk_in(manifest["runs"], chance))


def odd_words(file: Path, chance: random.Random) -> None:
    """JSON that means two things, or none."""
    path = file.parent / "manifest.json"
    text = path.read_text()
    old, new = chance.choice((
        ('"version": 3', '"version": 3, "version": 3'), ('"scale": null', '"scale": NaN'),
        ('"version": 3', '"version": Infinity'), ('"version": 3', '"version": 9'), ("[", "[" * 5000),
        ('"format": "attnscope recording"', '"format": "other"'), ('"version": 3', '"version": 1e999'),
        ('"version": 3', '"version": ' + "9" * 5000), ("{", "{\ufeff"),
    ))  # fmt: skip
    assert old in text
    path.write_text(text.replace(old, new, 1))


HARMS = [cut, flip, flip, stretch, foreign, odd, long_header, odd_header, odd_offsets, odd_manifest,
         odd_manifest, odd_words]  # fmt: skip
OF_DATA = (long_header, odd_header, odd_offsets)
SEALED = (odd_manifest, odd_header, odd_offsets)
"""What somebody does who also makes the checksums anew."""


@pytest.fixture
def kept(saved: Path) -> Path:
    """The recording as it was, beside the one that is broken."""
    return Path(shutil.copytree(saved, saved.parent / "kept"))


def test_every_broken_file_is_named_with_its_fault(
    saved: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(saved.parent)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    names = sorted(path.name for path in kept.iterdir())
    for seed in range(FUZZED):
        chance = random.Random(seed)
        harm = chance.choice(HARMS)
        name = chance.choice(names[1:] if harm in OF_DATA else names)
        shutil.rmtree(saved)
        shutil.copytree(kept, saved)
        harm(saved / name, chance)
        where = f"seed {seed}: {harm.__name__} of {name}"
        found = verify(saved)
        try:
            touch(load(saved))
        except BrokenRecording as error:
            assert error.file and error.fault and error.file in str(error), where
            assert found.faults or harm in SEALED, where
        except AttnscopeError:
            assert harm in SEALED, where  # it says of itself what core refuses
        else:
            assert harm in SEALED or found.faults, where
        if harm not in SEALED:
            assert {fault.file for fault in found.faults} & {name, "manifest.json"}, where
    assert not Path("unpickled").exists()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 2**10  # KB


@pytest.mark.parametrize("harm", [cut, foreign, odd, long_header, odd_words])
def test_every_command_says_it_in_a_sentence(
    harm: Callable[[Path, random.Random], None], saved: Path, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harm(saved / "run0000-site0001.safetensors", random.Random(5))
    for command in (["info"], ["info", "--quick"], ["app", "--no-browser", "--port", "0"], ["verify"]):
        assert run([*command, str(saved)]) == 1
        told = capsys.readouterr()
        said = told.err + told.out
        assert "Traceback" not in said and "did not expect" not in said
        assert "site0001.safetensors: " in said or "manifest.json: " in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../outside", "'../outside', which does not lie in the folder"),
        ("/etc/passwd", "which does not lie in the folder"),
        ("..", "which does not lie in the folder"),
        ("a\0b", "which does not lie in the folder"),
        (["x"], "which does not lie in the folder"),
        ("manifest.json", r"manifest\.json: it holds"),
    ],
)
def test_a_manifest_cannot_name_what_is_no_file_of_its_folder(name: Any, said: str, saved: Path) -> None:
    shutil.copy(saved / "run0000-site0000.safetensors", saved.parent / "outside")
    sealed(saved, lambda manifest: manifest["runs"][0]["sites"][0].update(file=name))
    with pytest.raises(BrokenRecording, match=said):
        load(saved)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shape": [2, -37, 6, 13]}, r"q has a shape of \[2, -37, 6, 13\]"),
        ({"shape": [2, 37, 6, 12]}, r"q has a shape of \[2, 37, 6, 12\] of F32 in 23,088 bytes"),
        ({"shape": [2, 6, 37, 13]}, r"q is \(2, 37, 6, 13\), and \(2, 6, 37, 13\) fits its site"),
        ({"shape": [2**40, 2**40]}, "q has a shape of"),
        ({"data_offsets": [64, 64 + 23088]}, "begins at"),
        ({"data_offsets": [-8, 23080]}, "q has a shape of"),
        ({"data_offsets": [0]}, "its header cannot be read"),
        ({"dtype": "F31"}, "its header cannot be read"),
        ({"dtype": None}, "its header cannot be read"),
        ({"shape": None}, "its header cannot be read"),
    ],
)
def test_a_header_that_cannot_be_is_refused_though_every_checksum_fits(
    change: dict[str, Any], said: str, saved: Path
) -> None:
    reheaded(saved / "run0000-site0000.safetensors", lambda header: header["q"].update(change))
    with pytest.raises(BrokenRecording, match=rf"run0000-site0000\.safetensors: .*{said}"):
        load(saved)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tq", 36), ("tk", -1), ("heads", 5), ("key_heads", True), ("layer", "x"), ("kind", "both"),
        ("d", 12), ("dv", None), ("kept", [5, 2]), ("kept", [9]), ("dtype", "int8"), ("reach", []),
        ("orders", {"q": [0]}), ("segment", 0.5), ("batch", 2**60), ("stored", {}),
    ],
)  # fmt: skip
def test_a_site_that_says_what_does_not_fit_its_tensors_is_refused(
    field: str, value: Any, saved: Path
) -> None:
    sealed(saved, lambda manifest: manifest["runs"][0]["sites"][1].update({field: value}))
    with pytest.raises(BrokenRecording) as error:
        load(saved)
    assert error.value.file in ("manifest.json", "run0000-site0001.safetensors"), error.value
