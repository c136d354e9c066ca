"""A run in words: the same routes, with words where tokens stood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from attnscope.models import Subject, open_recording
from attnscope.web.app import create_app
from attnscope.web.catalogue import Catalogue, Entry, catalogue_with

from .conftest import HOST, wait

TEXT = "so me light, lights"
WORDS = ["so", " ", "me", " ", "light", ",", " ", "lights"]


@pytest.fixture(scope="module")
def site(own: Subject) -> Any:
    app = create_app(Catalogue({own.id: Entry(own.description, lambda: own)}))
    with TestClient(app, base_url=HOST) as client:
        yield client


def run(client: TestClient, model: str, text: str, **words: str) -> dict[str, Any]:
    answer = client.post("/api/runs", json={"model": model, "text": text, **words})
    assert answer.status_code == 202, answer.text
    return wait(client, answer.json()["id"])


def floats(client: TestClient, path: str) -> np.ndarray[Any, Any]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    shape = tuple(map(int, answer.headers["X-Shape"].split(",")))
    return np.frombuffer(answer.content, "<f4").reshape(shape)


def test_places_sizes_and_weights_are_those_of_words(site: TestClient, own: Subject) -> None:
    tokens, words = run(site, own.id, TEXT), run(site, own.id, TEXT, words="mark")
    assert tokens["id"] != words["id"]
    told = words["result"]["sites"][1]
    axis = words["result"]["places"][told["columns"]]["tokens"]
    assert [word["text"] for word in axis] == WORDS and axis[4]["places"] == [6, 7, 8, 9, 10]
    assert (told["tq"], told["tk"], told["causal"], told["offset"]) == (8, 8, True, 0)
    base = "/api/runs/{}/sites/1/heads/2/"
    whole = floats(site, base.format(tokens["id"]) + "grid")
    grid = floats(site, base.format(words["id"]) + "grid")
    assert grid.shape == (8, 8)
    for i, query in enumerate(axis):
        for j, key in enumerate(axis):
            cells = whole[np.ix_(query["places"], key["places"])]
            if bool((cells < 0).all()):
                assert grid[i, j] == -1
            else:
                assert grid[i, j] == pytest.approx(cells.clip(0).sum() / len(query["places"]), abs=1e-6)
    for name, part in (("row?i=7", grid[7]), ("column?j=4", grid[:, 4])):
        np.testing.assert_array_equal(floats(site, base.format(words["id"]) + name), part)
    cell = site.get(base.format(words["id"]) + "cell?i=7&j=4").json()
    assert cell["shown"] == pytest.approx(float(grid[7, 4]), abs=1e-6)
    assert np.allclose(cell["weights"], whole[np.ix_(cell["queries"], cell["keys"])].clip(0), atol=0)
    assert site.get(base.format(words["id"]) + "row?i=8").status_code == 400
    assert site.get(base.format(words["id"]) + "map").status_code == 409


def test_what_follows_a_word_is_what_follows_its_last_token(site: TestClient, own: Subject) -> None:
    tokens, words = run(site, own.id, TEXT), run(site, own.id, TEXT, words="mark")
    one = site.get(f"/api/runs/{words['id']}/next?i=4").json()
    assert one["top"] == site.get(f"/api/runs/{tokens['id']}/next?i=10").json()["top"]


def test_sides_are_means_over_queries_and_sums_over_keys(site: TestClient, own: Subject) -> None:
    tokens, words = run(site, own.id, TEXT), run(site, own.id, TEXT, words="mark")

    def sides(of: dict[str, Any]) -> dict[str, Any]:
        answer = site.get(f"/api/runs/{of['id']}/sites/0/heads/1/sides")
        values, at, found = np.frombuffer(answer.content, "<f4"), 0, {}
        for part in answer.headers["X-Layout"].split(","):
            name, size = part.split(":")
            found[name] = values[at : at + int(size)]
            at += int(size)
        return found

    one, two = sides(tokens), sides(words)
    assert set(two) == {"entropy", "first", "sink", "received"}
    assert two["entropy"][4] == pytest.approx(one["entropy"][6:11].mean(), abs=1e-6)
    assert two["received"][4] == pytest.approx(one["received"][6:11].sum(), abs=1e-5)


def test_special_tokens_can_be_folded_and_turns_are_told(llama: Subject) -> None:
    app = create_app(Catalogue({llama.id: Entry(llama.description, lambda: llama)}))
    with TestClient(app, base_url=HOST) as client:
        text = "<|endoftext|>the light<|endoftext|>"
        marked, folded = (run(client, llama.id, text, words=how)["result"] for how in ("mark", "fold"))
        texts = [
            [word["text"] for word in next(iter(of["places"].values()))["tokens"]] for of in (marked, folded)
        ]
        assert texts == [["<|endoftext|>", "the", " light", "<|endoftext|>"], ["<specials>", "the", " light"]]
        assert (marked["sites"][0]["causal"], folded["sites"][0]["causal"]) == (True, False)
        assert all(axis["turns"] == [] for axis in marked["places"].values())
        wrong = client.post("/api/runs", json={"model": llama.id, "text": "a", "words": "all"})
        assert wrong.status_code == 400 and "words is 'all'" in wrong.text


def test_a_recording_is_shown_in_words_and_places_without_a_text_are_refused(
    own: Subject, tmp_path: Path
) -> None:
    recording = own.run(TEXT).recording
    recording.save(tmp_path / "look")
    recording.places, recording.tokens = {}, None
    recording.save(tmp_path / "bare")
    looks = [look for name in ("look", "bare") for look in open_recording(tmp_path / name, name=name)]
    with TestClient(create_app(catalogue_with(None, looks=looks)), base_url=HOST) as client:
        assert run(client, "look", "", words="mark")["result"]["sites"][0]["tq"] == 8
        failed = client.post("/api/runs", json={"model": "bare", "text": "", "words": "mark"}).json()["id"]
        state = wait(client, failed)
        assert state["state"] == "failed"
        assert state["error"]["title"] == "The recording does not hold the tokens of this text"
