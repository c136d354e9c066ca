"""Loading: mapped in when asked for, and every fault named with its file."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attnscope.errors import BrokenRecording, RecordingError
from attnscope.recording import Recording, Site, load
from attnscope.recording.manifest import seal

MakeSite = Callable[..., Site]
RecordingOf = Callable[..., Recording]


def touch_all(recording: Recording) -> None:
    for site in recording.sites:
        site.weights(0)
        site.cell(1, 5, 3)
        site.summary()


def test_nothing_is_read_before_it_is_asked_for(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    from attnscope.recording import reading

    whole = reading.OnDisk.check
    monkeypatch.setattr(reading.OnDisk, "check", lambda self: (opened.append(self.path), whole(self))[1])
    recording = load(saved)
    assert opened == []
    recording.site(1).weights(0, 3)
    recording.site(1).weights(2, 5)
    assert [path.name for path in opened] == ["run0000-site0001.safetensors"]


def broken(path: Path, *, verify: bool = True) -> str:
    """The message of the BrokenRecording that reading everything raises."""
    with pytest.raises(BrokenRecording) as error:
        touch_all(load(path, verify=verify))
    return str(error.value)


@pytest.mark.parametrize("verify", [False, True])
def test_every_truncated_and_every_flipped_file_is_named(verify: bool, saved: Path) -> None:
    chance = random.Random(9)
    for file in sorted(saved.iterdir()):
        whole = file.read_bytes()
        for _ in range(6):
            file.write_bytes(whole[: chance.randrange(len(whole))])
            assert file.name in broken(saved, verify=verify)
            flipped = bytearray(whole)
            flipped[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            file.write_bytes(flipped)
            assert file.name in broken(saved, verify=verify)
        file.write_bytes(whole)
        file.unlink()
        assert file.name in broken(saved, verify=verify)
        file.write_bytes(whole)
    touch_all(load(saved, verify=True))


def test_a_recording_of_the_first_format_is_read(saved: Path) -> None:
    path = saved / "manifest.json"
    manifest: dict[str, Any] = json.loads(path.read_text())
    for run in manifest["runs"]:
        del run["forwards"]
        for site in run["sites"]:
            del site["segment"]
    old = manifest | {"version": 1}
    path.write_text(json.dumps(old | {"checksum": seal(old)}))
    recording = load(saved, verify=True)
    touch_all(recording)
    assert [(site.segment, site.calls) for site in recording.sites] == [(0, None), (0, None)]


def test_folders_of_others_and_of_the_future_are_told_apart(saved: Path, tmp_path: Path) -> None:
    path = saved / "manifest.json"
    manifest: dict[str, Any] = json.loads(path.read_text())

    def rewritten(**changes: Any) -> None:
        changed = manifest | changes
        path.write_text(json.dumps(changed | {"checksum": seal(changed)}))

    rewritten(version=3, libraries={"attnscope": "9.1"})
    text = broken(saved)
    assert "format 3, written by attnscope 9.1" in text and "Update attnscope to read it" in text
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
        except (
            RecordingError,
            ValueError,
        ):  # ours, or a shape that core refuses: never a crash of another kind
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
