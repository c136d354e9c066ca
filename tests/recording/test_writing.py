"""Saving: what comes back is what was recorded, and a folder is whole or not there, whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from attnscope.errors import NotKept, RecordingError
from attnscope.recording import Recording, Site, folders, load, overview, packing, sheet, writing
from attnscope.recording.ondisk import KINDS

MakeSite = Callable[..., Site]
RecordingOf = Callable[..., Recording]


def touch_all(recording: Recording) -> None:
    for site in recording.sites:
        site.weights(0)
        site.cell(1, 5, 3)
        site.summary()


def same_site(ours: Site, theirs: Site) -> None:
    for name in ("q", "k", "v"):
        one, two = getattr(ours, name), getattr(theirs, name)
        assert torch.equal(one, two) and one.stride() == two.stride()
    for head in (0, 5):
        for batch in (0, 1):
            assert torch.equal(ours.weights(head, batch=batch), theirs.weights(head, batch=batch))
            assert torch.equal(ours.visible(head, batch=batch), theirs.visible(head, batch=batch))
    assert ours.cell(2, 9, 4, batch=1) == theirs.cell(2, 9, 4, batch=1)
    assert ours.certificate is not None and theirs.certificate is not None
    assert ours.certificate.verdict == theirs.certificate.verdict
    assert torch.equal(ours.certificate.z, theirs.certificate.z)
    assert ours.certificate.thresholds == theirs.certificate.thresholds


@pytest.mark.parametrize("eager", [False, True])
def test_what_is_loaded_is_what_was_saved(
    eager: bool, scoring_name: str, make_site: MakeSite, recording_of: RecordingOf, tmp_path: Path
) -> None:
    site = make_site(scoring_name, dtype=torch.bfloat16 if eager else torch.float32, eager=eager)
    folder = recording_of(site).save(tmp_path / "look")
    back = load(folder, verify=True).site(0)
    assert (back.dtype, back.route, back.bit_exact, back.reach) == (
        site.dtype,
        site.route,
        site.bit_exact,
        site.reach,
    )
    assert back.scoring.arithmetic == site.scoring.arithmetic
    same_site(back, site)
    again = recording_of(back).save(tmp_path / "again")
    same_site(load(again).site(0), site)


def test_numbers_lie_where_torch_lays_its_own_so_that_products_have_the_same_bits(
    make_site: MakeSite, recording_of: RecordingOf, tmp_path: Path
) -> None:
    """A product over mapped numbers 8 bytes off was seen to differ by 4.8e-7."""
    site = make_site("padded")
    folder = recording_of(site).save(tmp_path / "one")
    again = load(folder).sites[0]
    for name in ("q", "k", "v", "out"):
        held = again.shelf.tensor(name)
        assert held is not None
        assert held.data_ptr() % 64 == 0
    for head in range(site.heads):
        assert torch.equal(again.weights(head), site.weights(head))


def test_tensors_of_whole_blocks_are_mapped_and_not_copied(tmp_path: Path) -> None:
    file = tmp_path / "some.safetensors"
    given = {
        "a": torch.ones(3),
        "k": torch.ones(2, 16),
        "n": torch.ones(5, dtype=torch.int64),
        "q": torch.ones(4, 16),
    }
    file.write_bytes(b"".join(piece for _, pieces in sheet._parts(given) for piece in pieces))
    with safe_open(file, "pt") as opened:
        places = {name: opened.get_tensor(name).data_ptr() % 64 for name in given}
        assert all(torch.equal(opened.get_tensor(name), x) for name, x in given.items())
    assert places["q"] == places["k"] == 0


def test_a_summary_alone_comes_back(make_site: MakeSite, recording_of: RecordingOf, tmp_path: Path) -> None:
    site = make_site("padded", keep="summary")
    back = load(recording_of(site).save(tmp_path / "look")).site(0)
    for name in ("entropy", "received", "top_keys"):
        assert torch.equal(getattr(back.summary(1), name), getattr(site.summary(1), name))
    with pytest.raises(NotKept):
        back.weights(0)


def test_tokens_missing_layers_and_versions_are_in_the_manifest(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["format"] == "attnscope recording" and manifest["version"] == 3
    assert manifest["libraries"]["torch"] == torch.__version__.split("+")[0] or manifest["libraries"]["torch"]
    assert load(saved).tokens == ["a"] * 37
    assert sorted(path.name for path in saved.iterdir()) == [
        "manifest.json", "run0000-site0000.safetensors", "run0000-site0001.safetensors",
    ]  # fmt: skip


def test_replacing_leaves_nothing_beside(saved: Path, make_site: MakeSite, recording_of: RecordingOf) -> None:
    recording_of(make_site("window")).save(saved)
    assert len(load(saved).sites) == 1
    assert [path.name for path in saved.parent.iterdir()] == ["look"]
    back = load(saved)
    back.save(saved)  # onto itself
    touch_all(load(saved, verify=True))


def test_what_is_not_a_recording_is_not_replaced(
    tmp_path: Path, make_site: MakeSite, recording_of: RecordingOf
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("more")
    (tmp_path / "empty").mkdir()
    recording = recording_of(make_site())
    for name in ("folder", "file"):
        with pytest.raises(
            RecordingError, match=f"{name} exists and is not a recording.*Nothing was written"
        ):
            recording.save(tmp_path / name)
    assert (tmp_path / "folder" / "thesis.txt").read_text() == "years of work"
    assert len(load(recording.save(tmp_path / "empty")).sites) == 1
    assert len(load(recording.save(tmp_path / "new" / "deep")).sites) == 1


def test_a_folder_whose_manifest_is_a_pipe_is_no_recording_and_nobody_waits_for_it(
    tmp_path: Path, make_site: MakeSite, recording_of: RecordingOf
) -> None:
    (tmp_path / "look").mkdir()
    os.mkfifo(tmp_path / "look" / "manifest.json")
    with pytest.raises(RecordingError, match="look exists and is not a recording"):
        recording_of(make_site()).save(tmp_path / "look")
    with pytest.raises(RecordingError, match=r"manifest\.json: it is no regular file"):
        load(tmp_path / "look")


def test_a_save_that_fails_leaves_the_old_one(
    saved: Path, make_site: MakeSite, recording_of: RecordingOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    real = writing._write_bytes

    def full(path: Path, data: bytes) -> None:
        if path.name.startswith("manifest.json"):
            raise OSError(28, "No space left on device")
        real(path, data)

    monkeypatch.setattr(writing, "_write_bytes", full)
    with pytest.raises(RecordingError, match="cannot be written: No space left on device"):
        recording_of(make_site("window")).save(saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    assert [path.name for path in saved.parent.iterdir()] == ["look"]


def test_a_mask_too_large_to_write_is_refused_before_anything_is_replaced(
    saved: Path, make_site: MakeSite, recording_of: RecordingOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "LARGEST_MASK", 100)
    with pytest.raises(
        RecordingError, match=r"A mask of 37 x 37 cells for 2 x 6 .* a rule that no spans can say"
    ):
        recording_of(make_site("rule")).save(saved)
    assert len(load(saved, verify=True).sites) == 2


@pytest.mark.parametrize("state", ["old aside", "new complete, old aside", "new half, old aside", "new half"])
def test_every_half_state_of_a_save_is_understood(
    state: str, saved: Path, make_site: MakeSite, recording_of: RecordingOf
) -> None:
    fresh = recording_of(make_site("window")).save(saved.parent / "fresh")
    new, old = saved.parent / ".look.new-abc", saved.parent / ".look.old-abc"
    if "new" in state:
        fresh.rename(new)
    else:
        shutil.rmtree(fresh)
    if "half" in state:
        (new / "manifest.json").unlink()
    if "old aside" in state:
        saved.rename(old)
    recording = load(saved, verify=True)
    assert len(recording.sites) == (1 if state.startswith("new complete") else 2)
    recording_of(make_site("full")).save(saved)
    assert len(load(saved, verify=True).sites) == 1


def test_what_a_killed_save_left_is_cleared_by_the_next_unless_somebody_still_writes_it(
    saved: Path, make_site: MakeSite, recording_of: RecordingOf
) -> None:
    alive = writing.Partial(saved)
    dead = saved.parent / ".look.new-dead"
    dead.mkdir()
    recording_of(make_site()).save(saved)
    assert sorted(path.name for path in saved.parent.iterdir()) == [alive.home.path.name, "look"]
    alive.commit(recording_of(make_site(), tokens=["alive"]))
    assert [path.name for path in saved.parent.iterdir()] == ["look"]
    assert load(saved, verify=True).tokens == ["alive"]


def test_where_the_system_has_no_locks_a_folder_that_grew_within_the_hour_is_left_alone(
    saved: Path, make_site: MakeSite, recording_of: RecordingOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders.sys, "platform", "win32")
    dead, alive = saved.parent / ".look.new-dead", saved.parent / ".look.new-alive"
    for folder in (dead, alive):
        folder.mkdir()
    os.utime(dead, (time.time() - 7200, time.time() - 7200))
    recording_of(make_site()).save(saved)
    assert sorted(path.name for path in saved.parent.iterdir()) == [".look.new-alive", "look"]


def test_a_whole_recording_whose_place_is_free_is_put_there_by_the_next_writer(
    saved: Path, make_site: MakeSite, recording_of: RecordingOf
) -> None:
    saved.rename(saved.parent / ".look.old-abc")
    partial = writing.Partial(saved)
    assert load(saved, verify=True).tokens == ["a"] * 37
    partial.discard()
    assert [path.name for path in saved.parent.iterdir()] == ["look"]


def test_what_came_into_the_place_meanwhile_is_not_replaced(
    tmp_path: Path, make_site: MakeSite, recording_of: RecordingOf
) -> None:
    partial = writing.Partial(tmp_path / "look")
    (tmp_path / "look").write_text("years of work")
    with pytest.raises(RecordingError, match="look exists and is not a recording"):
        partial.commit(recording_of(make_site()))
    partial.discard()
    assert [path.name for path in tmp_path.iterdir()] == ["look"]


def test_a_save_is_done_when_its_folder_is_in_place_whatever_tidying_up_meets(
    saved: Path, make_site: MakeSite, recording_of: RecordingOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    (saved.parent / ".look.new-gone").symlink_to(saved.parent / "nowhere")
    real = os.open

    def refuses(path: Path, *more: int) -> int:
        if Path(path).is_dir():
            raise OSError(22, "Invalid argument")
        return real(path, *more)

    monkeypatch.setattr(os, "open", refuses)
    recording = recording_of(make_site("full"))
    partial = writing.Partial(saved)
    kept = partial.keep(recording.sites[0], "run0000-site0000.safetensors")
    recording.runs[0].sites[0] = kept
    monkeypatch.setattr(folders.shutil, "rmtree", lambda *args, **kwargs: None)
    partial.commit(recording)
    monkeypatch.undo()
    assert len(load(saved, verify=True).sites) == 1
    assert torch.equal(kept.weights(1), make_site("full").weights(1))


def test_a_folder_with_somebodys_file_beside_the_recording_is_not_replaced(
    make_site: MakeSite, recording_of: RecordingOf, tmp_path: Path
) -> None:
    folder = recording_of(make_site("bias")).save(tmp_path / "look")
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(RecordingError, match=r"also holds notes\.txt, which would be lost"):
        recording_of(make_site("bias")).save(folder)
    assert (folder / "notes.txt").read_text() == "mine"
    (folder / "notes.txt").unlink()
    recording_of(make_site("bias")).save(folder)


def test_a_link_is_not_replaced(make_site: MakeSite, recording_of: RecordingOf, tmp_path: Path) -> None:
    folder = recording_of(make_site("bias")).save(tmp_path / "look")
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(RecordingError, match="link is a link"):
        recording_of(make_site("bias")).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()


def test_what_the_system_refuses_is_said_in_a_sentence(
    make_site: MakeSite, recording_of: RecordingOf, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "sub", tmp_path / ("x" * 300)):
        with pytest.raises(
            RecordingError, match=r"cannot be written: (Not a directory|File exists|File name too long)"
        ):
            recording_of(make_site("bias")).save(place)


def test_a_summary_written_before_there_was_a_mass_by_distance_is_read(make_site: MakeSite) -> None:
    summary = make_site("padded", keep="summary").shelf.summary
    tensors, plain = packing.pack_record(summary, "summary")
    del tensors["summary.mass_by_distance"]
    records = packing.Records(KINDS, tensors.__getitem__, tensors)
    back = records.unpack("Summary", plain, "summary")
    assert back.mass_by_distance is None and torch.equal(back.received, summary.received)
    del tensors["summary.entropy"]
    with pytest.raises(KeyError, match=r"summary\.entropy"):
        records.unpack("Summary", plain, "summary")


@pytest.mark.parametrize("keep", ["summary", "qk", "qkv", "all"])
def test_what_a_site_takes_is_known_before_the_sums_of_its_blocks_are_made(
    keep: str, make_site: MakeSite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        overview, "SIDE", 12
    )  # so that this site's grid is too large for a picture of its own
    site = make_site(keep=keep)
    sheet.write_site(overview.with_overview(site), tmp_path / "site")
    written = (tmp_path / "site").stat().st_size
    mask, certificate, names = 2 * site.tq * 4, 9 * site.batch * site.heads * 8, 34 * 110
    assert 0 < written - sheet.size_of(site) < mask + certificate + names
