"""Places: what stands along the rows and columns of a site, kept with a recording and read back."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attnscope.errors import BrokenRecording, RecordingError
from attnscope.recording import Places, Recording, Run, Site, load
from attnscope.recording.manifest import seal
from attnscope.recording.places import places_of

MakeSite = Callable[..., Site]


def words(count: int, name: str = "w") -> tuple[dict[str, Any], ...]:
    return tuple({"text": f"{name}{i}"} for i in range(count))


def png(height: int, width: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(range(width)) for _ in range(height))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def test_places_are_read_back_as_they_were_saved(make_site: MakeSite, tmp_path: Path) -> None:
    places = {
        "decoder": Places(words(40), generated=31),
        "encoder": Places(words(13), picture=png(3, 4), grid=(3, 4)),
    }
    recording = Recording([Run(0, "", [make_site()])], places=places)
    again = load(recording.save(tmp_path / "look"), verify=True)
    assert again.places == places
    assert again.places["encoder"].picture == png(3, 4)
    recording.places = {}
    assert load(recording.save(tmp_path / "look")).places == {}
    assert not (tmp_path / "look" / "picture-encoder.png").exists()


def test_a_recording_of_an_older_version_has_no_places(make_site: MakeSite, tmp_path: Path) -> None:
    folder = Recording([Run(0, "", [make_site()])]).save(tmp_path / "look")
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["places"]
    manifest["checksum"] = seal(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert load(folder).places == {}


def test_rows_stand_at_their_own_stack_and_columns_of_cross_attention_at_the_encoder(
    make_site: MakeSite,
) -> None:
    own, cross = make_site(), replace(make_site(), kind="cross", offset=None)
    places = {"decoder": Places(words(37, "d")), "encoder": Places(words(40, "e"))}
    recording = Recording([Run(0, "", [own, cross])], places=places)
    found = {
        (site.kind, side): places_of(recording, site, side)
        for site in (own, cross)
        for side in ("rows", "columns")
    }
    assert found["self", "rows"] is found["self", "columns"] is found["cross", "rows"] is places["decoder"]
    assert found["cross", "columns"] is places["encoder"]


def test_places_that_end_before_the_rows_do_are_none(make_site: MakeSite) -> None:
    site = make_site()
    late = replace(site, offset=3)
    recording = Recording([Run(0, "", [site])], places={"decoder": Places(words(37))})
    assert places_of(recording, site, "rows") is recording.places["decoder"]
    assert places_of(recording, late, "rows") is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tokens": ["a"]}, "A place without a text"),
        ({"tokens": words(3), "generated": 4}, "generated=4"),
        ({"tokens": words(3), "grid": (1, 3)}, "A picture without a grid"),
        ({"tokens": words(3), "grid": (1, 3), "picture": b"GIF89a"}, "The picture is no PNG"),
        ({"tokens": words(3), "grid": (2, 2), "picture": png(2, 2)}, "A grid of 2 x 2 over 3 positions"),
    ],
)
def test_places_that_do_not_fit_together_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(RecordingError, match=said):
        Places(**given)


def test_a_picture_that_was_changed_is_named(make_site: MakeSite, tmp_path: Path) -> None:
    places = {"encoder": Places(words(4), picture=png(2, 2), grid=(2, 2))}
    folder = Recording([Run(0, "", [make_site()])], places=places).save(tmp_path / "look")
    (folder / "picture-encoder.png").write_bytes(png(2, 3))
    with pytest.raises(BrokenRecording, match=r"picture-encoder\.png: its content does not fit its checksum"):
        load(folder)
    (folder / "picture-encoder.png").unlink()
    with pytest.raises(BrokenRecording, match=r"picture-encoder\.png: it is missing"):
        load(folder)
