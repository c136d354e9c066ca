"""Every route over real runs: the numbers are the recording's own, and every bad wish gets a sentence."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from attnscope.models import Subject

TEXT = "ROMEO:\nBut, so me light"
HARD = "light ✓👩‍🚀\n\tمرحبا"


@pytest.fixture(scope="module")
def done(finish: Any) -> dict[str, Any]:
    state: dict[str, Any] = finish("small", TEXT)
    assert state["state"] == "done", state["error"]
    return state


@pytest.fixture(scope="module")
def hard(finish: Any) -> dict[str, Any]:
    state: dict[str, Any] = finish("tiny-llama", HARD)
    assert state["state"] == "done", state["error"]
    return state


def test_the_models_are_listed_with_the_default_first(client: TestClient) -> None:
    answer = client.get("/api/models").json()
    assert answer["models"][0] == {
        "id": "small",
        "label": "small",
        "context": 96,
        "unit": "character",
        "layers": 2,
        "heads": 3,
        "kind": "causal",
        "recorded": False,
    }
    assert answer["default"] == {"model": "small", "text": "ROMEO:\nBut, soft! what light"}


def test_a_finished_run_tells_all_that_was_recorded(done: dict[str, Any]) -> None:
    result = done["result"]
    assert result["text"] == TEXT
    (axis,) = result["places"].values()
    assert [token["text"] for token in axis["tokens"]] == list(TEXT)
    assert [token["i"] for token in axis["tokens"]] == list(range(len(TEXT)))
    assert axis["generated"] is None
    assert result["bit_equal"] is True
    assert result["predicts"] is True
    assert result["missing"] == []
    assert result["certificate"]["heads"] == result["certificate"]["passed"] == 6
    assert 0 < result["certificate"]["largest_z"] < result["certificate"]["allowed_z"] == 8
    first = result["sites"][0]
    assert (first["site"], first["layer"], first["heads"], first["d"]) == (0, 0, 3, 16)
    assert (first["tq"], first["tk"], first["causal"]) == (len(TEXT), len(TEXT), True)
    assert len(first["entropy"]) == len(first["certificate"]) == 3
    assert all(one["verdict"] == "passed" for one in first["certificate"])
    assert done["error"] is None


def test_the_same_text_is_run_once(client: TestClient, done: dict[str, Any], finish: Any) -> None:
    again = client.post("/api/runs", json={"model": "small", "text": TEXT}).json()
    assert again["id"] == done["id"]
    assert finish("small", TEXT + "s")["id"] != done["id"]


def test_the_grid_is_the_recording_with_the_future_marked(
    client: TestClient, done: dict[str, Any], own: Subject, tools: SimpleNamespace
) -> None:
    site = own.run(TEXT).recording.site(1)
    grid = tools.floats(client.get(f"/api/runs/{done['id']}/sites/1/heads/2/grid"))
    past = np.tril(np.ones(grid.shape, bool))
    assert np.array_equal(grid == -1, ~past)
    assert np.abs(grid[past] - site.weights(2).numpy()[past]).max() < 1e-7
    assert np.allclose(np.where(past, grid, 0).sum(1), 1, atol=1e-6)


def test_row_column_cell_and_window_agree_with_the_grid_to_the_last_bit(
    client: TestClient, done: dict[str, Any], tools: SimpleNamespace
) -> None:
    head = f"/api/runs/{done['id']}/sites/0/heads/1"
    grid = tools.floats(client.get(f"{head}/grid"))
    size = len(TEXT)
    for place in (0, 7, 16, size - 1):
        assert np.array_equal(tools.floats(client.get(f"{head}/row?i={place}")), grid[place])
        assert np.array_equal(tools.floats(client.get(f"{head}/column?j={place}")), grid[:, place])
    window = tools.floats(client.get(f"{head}/grid?rows=5:20&cols=3:9"))
    assert np.array_equal(window, grid[5:20, 3:9])
    cell = client.get(f"{head}/cell?i=20&j=4").json()
    assert np.float32(cell["shown"]) == grid[20, 4]


def test_a_cell_is_a_receipt_that_adds_up(client: TestClient, done: dict[str, Any]) -> None:
    cell = client.get(f"/api/runs/{done['id']}/sites/1/heads/0/cell?i=12&j=3").json()
    assert (cell["layer"], cell["head"], cell["i"], cell["j"], cell["d"]) == (1, 0, 12, 3, 16)
    assert sum(cell["terms"]) == pytest.approx(cell["products"], abs=1e-12)
    assert cell["products"] * cell["scale"] == pytest.approx(cell["scaled"], abs=1e-12)
    assert np.exp(cell["score"] - cell["peak"] - cell["logsum"]) == pytest.approx(
        cell["recomputed"], abs=1e-12
    )
    assert cell["readds"] is True
    assert cell["difference"] <= cell["allowed"]
    assert cell["mix"] == pytest.approx(cell["recomputed"] * cell["value"], rel=1e-9)
    assert len(cell["v"]) == len(cell["part"]) == 16
    assert cell["softcap"] is None
    assert 1 <= cell["rank"] <= cell["row_keys"] == 13


def test_a_cell_that_is_not_visible_says_so_with_its_infinity_as_a_word(
    client: TestClient, done: dict[str, Any]
) -> None:
    cell = client.get(f"/api/runs/{done['id']}/sites/0/heads/0/cell?i=3&j=12").json()
    assert cell["visible"] is False
    assert cell["score"] == "-inf"
    assert cell["shown"] == cell["recomputed"] == 0


def test_the_sides_are_sums_of_the_grid(
    client: TestClient, done: dict[str, Any], tools: SimpleNamespace
) -> None:
    head = f"/api/runs/{done['id']}/sites/1/heads/1"
    answer = client.get(f"{head}/sides")
    names = [part.split(":") for part in answer.headers["x-layout"].split(",")]
    known = {"entropy", "largest", "first", "sink", "received", "received_mean", "length"}
    assert {name for name, _ in names} == known
    values = np.frombuffer(answer.content, "<f4")
    ends = np.cumsum([int(size) for _, size in names])
    parts = {name: values[end - int(size) : end] for (name, size), end in zip(names, ends, strict=True)}
    grid = tools.floats(client.get(f"{head}/grid"))
    weights = np.where(grid == -1, 0, grid).astype(np.float64)
    assert parts["received"] == pytest.approx(weights.sum(0), abs=1e-5)
    assert parts["received_mean"] == pytest.approx(weights.sum(0) / (grid != -1).sum(0), abs=1e-6)
    assert parts["largest"] == pytest.approx(weights.max(1), abs=1e-6)
    assert parts["first"] == pytest.approx(weights[:, 0], abs=1e-6)
    logs = np.log(np.where(weights > 0, weights, 1))
    assert parts["entropy"] == pytest.approx(-(weights * logs).sum(1), abs=1e-5)


def test_thumbnails_of_a_short_text_are_its_grids(
    client: TestClient, done: dict[str, Any], tools: SimpleNamespace
) -> None:
    pictures = tools.floats(client.get(f"/api/runs/{done['id']}/thumbnails"))
    assert pictures.shape == (6, len(TEXT), len(TEXT))
    grid = tools.floats(client.get(f"/api/runs/{done['id']}/sites/1/heads/0/grid"))
    assert np.array_equal(pictures[3], grid)


def test_thumbnails_of_a_longer_text_are_the_largest_of_their_blocks(
    client: TestClient, finish: Any, tools: SimpleNamespace
) -> None:
    state = finish("small", ("so me light, " * 8)[:93])
    pictures = tools.floats(client.get(f"/api/runs/{state['id']}/thumbnails"))
    assert pictures.shape == (6, 47, 47)
    grid = tools.floats(client.get(f"/api/runs/{state['id']}/sites/0/heads/2/grid"))
    padded = np.full((94, 94), -1, np.float32)
    padded[:93, :93] = grid
    largest = padded.reshape(47, 2, 47, 2).max((1, 3))
    np.testing.assert_allclose(pictures[2], largest, rtol=1e-6, atol=0)  # tiles of other shapes
    assert np.array_equal(pictures[2] == -1, largest == -1)
    assert (pictures[2][0, 1:] == -1).all()


def test_the_second_picture_is_weight_times_the_length_of_the_value(
    client: TestClient, done: dict[str, Any], finish: Any, tools: SimpleNamespace
) -> None:
    long = finish("small", ("so me light, " * 8)[:93])
    for run, step in ((done["id"], 1), (long["id"], 2)):
        head = f"/api/runs/{run}/sites/0/heads/2"
        answer = client.get(f"{head}/sides")
        places = [part.split(":") for part in answer.headers["x-layout"].split(",")]
        assert places[-1][0] == "length"
        length = np.frombuffer(answer.content, "<f4")[-int(places[-1][1]) :]
        grid = tools.floats(client.get(f"{head}/grid"))
        size = -(-len(grid) // step)
        padded = np.full((size * step, size * step), -1, np.float32)
        padded[: len(grid), : len(grid)] = np.where(grid == -1, -1, grid * length)
        largest = padded.reshape(size, step, size, step).max((1, 3))
        pictures = tools.floats(client.get(f"/api/runs/{run}/thumbnails?values=1"))
        np.testing.assert_allclose(pictures[2], largest, rtol=1e-6, atol=0)
        assert np.array_equal(pictures[2] == -1, largest == -1)
        cell = client.get(f"{head}/cell?i=7&j=5").json()
        assert cell["length"] == length[5]
        assert cell["through"] == done["result"]["sites"][0]["lengths"]["through"]
    assert done["result"]["sites"][0]["lengths"]["why"] is None


def test_the_next_token_is_predicted_after_every_position(
    client: TestClient, done: dict[str, Any], own: Subject
) -> None:
    answer = client.get(f"/api/runs/{done['id']}/next?i=5&top=3").json()
    assert answer["after"] == 5
    assert len(answer["top"]) == 3
    mine = own.run(TEXT).predictions(5, 3)
    assert [one["p"] for one in answer["top"]] == [p for _, p in mine.top]
    assert answer["entropy"] == mine.entropy
    assert answer["top"][0]["token"] == mine.top[0][0].to_dict()


def test_byte_pieces_and_right_to_left_text_arrive_whole(hard: dict[str, Any]) -> None:
    tokens = next(iter(hard["result"]["places"].values()))["tokens"]
    raw = b"".join(
        bytes.fromhex("".join(token["bytes"])) if token["bytes"] else token["text"].encode()
        for token in tokens
    )
    assert raw.decode() == HARD
    assert {"byte", "newline", "tab"} <= {token["kind"] for token in tokens}
    assert next(t for t in tokens if t["kind"] == "byte")["spoken"].startswith("byte ")


def test_grouped_heads_are_counted_by_query_head(hard: dict[str, Any]) -> None:
    site = hard["result"]["sites"][0]
    assert (site["heads"], site["key_heads"]) == (4, 2)
    assert hard["result"]["certificate"]["passed"] == 8
    assert hard["result"]["bit_equal"] is True


def test_numbers_of_a_run_may_be_kept_by_the_browser_and_its_state_may_not(
    client: TestClient, done: dict[str, Any]
) -> None:
    grid = client.get(f"/api/runs/{done['id']}/sites/0/heads/0/grid")
    assert "immutable" in grid.headers["cache-control"]
    assert client.get(f"/api/runs/{done['id']}").headers["cache-control"] == "no-store"


BAD_PLACES = [
    ("sites/2/heads/0/grid", "There is no site '2' here"),
    ("sites/-1/heads/0/grid", "There is no site '-1' here"),
    ("sites/x/heads/0/grid", "There is no site 'x' here"),
    ("sites/0/heads/3/row?i=0", "There is no head '3' here"),
    ("sites/0/heads/0/row", "i is missing"),
    ("sites/0/heads/0/row?i=99", "There is no i '99' here"),
    ("sites/0/heads/0/row?i=1e3", "There is no i '1e3' here"),
    ("sites/0/heads/0/row?i=٣", "There is no i '٣' here"),
    ("sites/0/heads/0/row?i=" + "9" * 5000, "There is no i '" + "9" * 20 + "' here"),
    ("sites/0/heads/0/column?j=-1", "There is no j '-1' here"),
    ("sites/0/heads/0/cell?i=1", "j is missing"),
    ("sites/0/heads/0/grid?rows=5:2", "There are no rows '5:2' here"),
    ("sites/0/heads/0/grid?rows=5", "There are no rows '5' here"),
    ("sites/0/heads/0/grid?rows=0:999", "There are no rows '0:999' here"),
    ("sites/0/heads/0/grid?rows=0:0", "There are no rows '0:0' here"),
    ("sites/0/heads/0/grid?cols=-1:2", "There are no cols '-1:2' here"),
    ("sites/0/heads/0/grid?cols=:", "There are no cols ':' here"),
    ("next?i=99", "There is no i '99' here"),
    ("next", "i is missing"),
]


@pytest.mark.parametrize(("path", "title"), BAD_PLACES)
def test_a_place_that_is_not_there_is_named(
    client: TestClient, done: dict[str, Any], path: str, title: str
) -> None:
    answer = client.get(f"/api/runs/{done['id']}/{path}")
    assert answer.status_code == 400
    assert answer.json()["error"]["title"] == title
    assert answer.json()["error"]["message"].endswith("wanted.")


@pytest.mark.parametrize(
    ("body", "title"),
    [
        (b"", "The request's body is not JSON"),
        (b"{", "The request's body is not JSON"),
        (b"\xff\xfe", "The request's body is not JSON"),
        (b"[" * 100_000, "The request's body is not JSON that can be read: it is nested too deeply"),
        (
            b'{"model": ' + b"9" * 5000 + b"}",
            "The request's body is not JSON that can be read: a number in it has thousands of digits",
        ),
        (b"[]", "The request's body is no JSON object"),
        (b'{"model": "small"}', "'text' is missing or no string"),
        (b'{"model": 3, "text": "a"}', "'model' is missing or no string"),
        (b'{"model": "small", "text": ""}', "The text is empty"),
        (
            b'{"model": "small", "text": "a\\ud83d"}',
            "Character 1 is U+D83D, half of a pair and no character of its own",
        ),
    ],
)
def test_a_wish_that_cannot_be_is_refused_at_once(client: TestClient, body: bytes, title: str) -> None:
    answer = client.post("/api/runs", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["title"] == title


def test_half_a_character_comes_with_an_offer(client: TestClient) -> None:
    answer = client.post("/api/runs", content=b'{"model": "small", "text": "a\\ud83d"}')
    assert answer.json()["error"]["offer"] == {"label": "Leave them out", "text": "a"}


@pytest.mark.parametrize("model", ["../../etc", "/etc", "gpt2", "small\0", "SMALL", "\ud800"])
def test_a_request_opens_no_model_but_those_on_offer(client: TestClient, model: str) -> None:
    answer = client.post("/api/runs", content=json.dumps({"model": model, "text": "a"}).encode())
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "On offer are small, tiny-llama."


def test_a_text_that_is_too_long_offers_what_fits(finish: Any) -> None:
    state = finish("small", "light, " * 59)
    assert state["state"] == "failed"
    assert state["result"] is None
    assert state["error"] == {
        "title": "413 characters, the limit is 96",
        "message": "This model reads at most 96 characters. Nothing was run.",
        "hint": "The first 96 fit",
        "offer": {"label": "Use the first 96", "text": ("light, " * 59)[:96]},
    }
    assert finish("small", state["error"]["offer"]["text"])["state"] == "done"


def test_too_many_tokens_are_cut_where_one_ends(finish: Any) -> None:
    state = finish("tiny-llama", "the light ✓ " * 200)
    assert state["state"] == "failed"
    assert state["error"]["title"].endswith("tokens, the limit is 48")
    assert finish("tiny-llama", state["error"]["offer"]["text"])["state"] == "done"


def test_ten_megabytes_get_a_sentence(finish: Any) -> None:
    state = finish("tiny-llama", "the light " * 1_000_000)
    assert state["state"] == "failed"
    assert state["error"]["title"] == "More than 48 tokens, the limit is 48"
    assert len(state["error"]["offer"]["text"]) < 1000


def test_an_unknown_character_is_named_and_an_offer_made(finish: Any) -> None:
    state = finish("small", "naïve ✓")
    assert state["state"] == "failed"
    assert state["error"]["title"] == "This model has never seen “ï”, “✓” (first at position 2)"
    assert state["error"]["offer"] == {"label": "Leave them out", "text": "nave "}


def test_a_nul_is_a_token_of_a_byte_level_model(finish: Any) -> None:
    state = finish("tiny-llama", "a\0b")
    assert state["state"] == "done"
    assert next(iter(state["result"]["places"].values()))["tokens"][1]["bytes"] == ["00"]


@pytest.mark.parametrize("path", ["", "/thumbnails", "/next?i=0", "/sites/0/heads/0/grid"])
def test_a_run_that_is_not_held_is_404(client: TestClient, path: str) -> None:
    answer = client.get(f"/api/runs/0000{path}")
    assert answer.status_code == 404
    assert answer.json()["error"]["hint"] == "Run the text again"


def test_a_failed_run_shows_nothing(client: TestClient, finish: Any) -> None:
    state = finish("small", "✓")
    answer = client.get(f"/api/runs/{state['id']}/thumbnails")
    assert answer.status_code == 409
    assert answer.json()["error"]["title"] == "This run is failed"


def test_two_clients_at_once_each_get_their_own(
    client: TestClient, finish: Any, tools: SimpleNamespace
) -> None:
    found: dict[str, Any] = {}

    def one(text: str) -> None:
        found[text] = finish("small", text)

    texts = [f"so{'me' * n} light" for n in range(1, 7)]
    threads = [threading.Thread(target=one, args=(text,)) for text in texts * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[text]["result"]["text"] == text for text in texts)
    assert len({found[text]["id"] for text in texts}) == len(texts)
    for text in texts:
        grid = tools.floats(client.get(f"/api/runs/{found[text]['id']}/sites/0/heads/0/grid"))
        assert grid.shape == (len(text), len(text))
