"""Loading: mapped in when asked for, and every fault named with its file."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attnscope.errors import AttnscopeError, BrokenRecording
from attnscope.recording import Recording, Site, load, ondisk, verify
from attnscope.recording.header import read_header
from attnscope.recording.manifest import seal

MakeSite = Callable[..., Site]
RecordingOf = Callable[..., Recording]


def as_format(folder: Path, number: int) -> None:
    """Rewrites what the manifest says, as attnscope wrote it in an older format."""
    path = folder / "manifest.json"
    manifest: dict[str, Any] = json.loads(path.read_text())
    for run in manifest["runs"]:
        for site in run["sites"]:
            del site["header"], site["sums"]
            site["sha256"] = hashlib.sha256((folder / site["file"]).read_bytes()).hexdigest()
            if number == 1:
                del site["segment"]
        if number == 1:
            del run["forwards"]
    old = manifest | {"version": number}
    path.write_text(json.dumps(old | {"checksum": seal(old)}))


def touch_all(recording: Recording) -> None:
    for site in recording.sites:
        site.weights(0)
        site.cell(1, 5, 3)
        site.summary()


def test_nothing_is_read_before_it_is_asked_for(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    whole = ondisk.bytes_of
    monkeypatch.setattr(ondisk, "bytes_of", lambda x: (asked.append(str(tuple(x.shape))), whole(x))[1])
    recording = load(saved)
    assert asked == []
    recording.site(1).normaliser  # noqa: B018
    recording.site(1).normaliser  # noqa: B018
    assert asked == ["(2, 6, 37)", "(2, 6, 37)"]  # peak and logsum, once each
    recording.site(1).weights(0, 3)
    assert "(2, 37, 6, 13)" in asked and "(2, 37, 3, 11)" not in asked  # q, as it lies; not v


def broken(path: Path, *, verify: bool = True) -> str:
    """The message of the BrokenRecording that reading everything raises."""
    with pytest.raises(BrokenRecording) as error:
        touch_all(load(path, verify=verify))
    return str(error.value)


def test_every_truncated_and_every_flipped_file_is_named(saved: Path) -> None:
    chance = random.Random(9)
    for file in sorted(saved.iterdir()):
        whole = file.read_bytes()
        for _ in range(6):
            file.write_bytes(whole[: chance.randrange(len(whole))])
            assert file.name in broken(saved, verify=False)
            flipped = bytearray(whole)
            flipped[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            file.write_bytes(flipped)
            assert file.name in broken(saved)
        file.write_bytes(whole)
        file.unlink()
        assert file.name in broken(saved, verify=False)
        file.write_bytes(whole)
    touch_all(load(saved, verify=True))


def test_a_changed_number_is_never_handed_out(saved: Path) -> None:
    file = saved / "run0000-site0000.safetensors"
    place = read_header(file, file.stat().st_size).tensors["k"]
    changed = bytearray(file.read_bytes())
    changed[place.end - 1] ^= 1
    file.write_bytes(changed)
    site = load(saved).site(0)
    assert site.q.shape == (2, 6, 37, 13) and site.normaliser.peak.shape == (2, 6, 37)
    with pytest.raises(BrokenRecording, match=r"site0000\.safetensors: in k, its content does not fit"):
        site.weights(0)


@pytest.mark.parametrize("number", [1, 2])
def test_recordings_of_older_formats_are_read_and_verified_by_the_file(number: int, saved: Path) -> None:
    as_format(saved, number)
    recording = load(saved, verify=True)
    touch_all(recording)
    assert [(site.segment, site.calls) for site in recording.sites] == [(0, None), (0, None)]
    found = verify(saved)
    assert (found.whole, found.version, found.files) == (True, number, 3)
    file = saved / "run0000-site0001.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert [fault.file for fault in verify(saved).faults] == [file.name]
    with pytest.raises(BrokenRecording, match=r"site0001\.safetensors: its content does not fit"):
        load(saved).site(1).weights(0)


def test_folders_of_others_and_of_the_future_are_told_apart(saved: Path, tmp_path: Path) -> None:
    path = saved / "manifest.json"
    manifest: dict[str, Any] = json.loads(path.read_text())

    def rewritten(**changes: Any) -> None:
        changed = manifest | changes
        path.write_text(json.dumps(changed | {"checksum": seal(changed)}))

    rewritten(version=4, libraries={"attnscope": "9.1"})
    text = broken(saved)
    assert "format 4, written by attnscope 9.1" in text and "Update attnscope to read it" in text
    rewritten(format="somebody else's")
    assert "some other program wrote it" in broken(saved)
    path.write_text("[]")
    assert "some other program wrote it" in broken(saved)
    path.write_text('{"format": ')
    assert "cannot be read as JSON" in broken(saved)
    (tmp_path / "strange").mkdir()
    assert "manifest.json: it is missing" in broken(tmp_path / "strange")
    (tmp_path / "file").write_text("x")
    assert "a recording is a folder" in broken(tmp_path / "file")
    assert "There is no recording at" in broken(tmp_path / "nowhere")


def test_a_manifest_that_was_edited_by_hand_never_gets_past_loading(saved: Path) -> None:
    path = saved / "manifest.json"
    original = path.read_text()
    chance = random.Random(2)
    for _ in range(25):
        manifest = json.loads(original)
        where: Any = manifest
        while True:
            key = chance.choice(sorted(where) if isinstance(where, dict) else range(len(where)))
            if isinstance(where[key], dict | list) and where[key] and chance.random() < 0.8:
                where = where[key]
                continue
            where[key] = chance.choice([None, "x", -1, 10**9, [], {}, "../../etc/passwd", 0.5, True])
            break
        path.write_text(json.dumps(manifest | {"checksum": seal(manifest)}))
        try:
            touch_all(load(saved, verify=True))
        except AttnscopeError:  # of recording, or of core, which refuses a scoring that cannot be
            continue


def test_a_manifest_cannot_reach_out_of_its_folder(saved: Path) -> None:
    path = saved / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["runs"][0]["sites"][0]["file"] = "../secret.safetensors"
    path.write_text(json.dumps(manifest | {"checksum": seal(manifest)}))
    assert "'../secret.safetensors', which does not lie in the folder" in broken(saved)


def test_no_module_of_the_package_unpickles() -> None:
    import attnscope

    for file in Path(attnscope.__file__).parent.rglob("*.py"):
        if "recording" in file.parts:
            text = file.read_text()
            assert "pickle" not in text.replace("unpickled", "") and "torch.load" not in text, file
