"""The maps over real runs: every tile is a reduction of the head's own weights, and every bad wish gets a
sentence.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

TEXT = "ROMEO:\nBut, so me light " * 4


@pytest.fixture(scope="module")
def head(finish: Any) -> str:
    """The address of a head."""
    state = finish("small", TEXT[:90])
    assert state["state"] == "done", state["error"]
    return f"/api/runs/{state['id']}/sites/1/heads/2"


@pytest.fixture(scope="module")
def ready(client: TestClient, head: str) -> dict[str, Any]:
    """The answer of a map that is made."""
    return made(client, head)


def made(client: TestClient, head: str, asked: str = "") -> dict[str, Any]:
    for _ in range(200):
        answer: dict[str, Any] = client.get(f"{head}/map{asked}").json()
        if answer["state"] != "making":
            return answer
        time.sleep(0.02)
    raise AssertionError("no map after 4 s")


def length_of(client: TestClient, head: str) -> np.ndarray[Any, Any]:
    """What stands among the sides as the length of each key's value."""
    answer = client.get(f"{head}/sides")
    names, sizes = zip(*(part.split(":") for part in answer.headers["x-layout"].split(",")), strict=True)
    ends = np.cumsum([int(size) for size in sizes])
    at = names.index("length")
    return np.frombuffer(answer.content, "<f4")[ends[at] - int(sizes[at]) : ends[at]]


def planes(client: TestClient, address: str) -> np.ndarray[Any, Any]:
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    shape = [int(size) for size in answer.headers["x-shape"].split(",")]
    return np.frombuffer(answer.content, "<f4").reshape(shape)


def test_a_map_says_its_size(ready: dict[str, Any]) -> None:
    wanted = {
        "state": "ready",
        "done": 90,
        "total": 90,
        "tile": 256,
        "levels": 1,
        "kept_from": 2,
        "error": None,
    }
    assert ready == wanted


@pytest.mark.usefixtures("ready")
def test_a_tile_of_single_cells_is_the_grid(client: TestClient, head: str) -> None:
    tile = planes(client, f"{head}/map/tiles/0/0/0")
    grid = planes(client, f"{head}/grid")
    assert tile.shape == (1, 90, 90)
    assert np.array_equal(tile[0], grid)
    for path in ("tiles/0/0/0", "largest"):
        assert json.loads(client.get(f"{head}/map/{path}").headers["x-certificate"])["verdict"] == "passed"


@pytest.mark.usefixtures("ready")
def test_the_largest_cells_are_those_of_the_grid(client: TestClient, head: str) -> None:
    grid = planes(client, f"{head}/grid").copy()
    found = client.get(f"{head}/map/largest?n=5").json()
    assert [cell["weight"] for cell in found] == pytest.approx(sorted(grid.ravel())[:-6:-1], abs=1e-7)
    assert all(grid[cell["i"], cell["j"]] == np.float32(cell["weight"]) for cell in found)
    apart = client.get(f"{head}/map/largest?n=5&skip_first=1&near=2").json()
    assert all(cell["j"] > 0 and cell["i"] - cell["j"] >= 2 for cell in apart)


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("tiles/1/0/0", "There is no level '1' here"),
        ("tiles/0/1/0", "There is no tile row '1' here"),
        ("tiles/0/0/-1", "There is no tile column '-1' here"),
        ("tiles/x/0/0", "There is no level 'x' here"),
        ("largest?n=0", "There is no n '0' here"),
        ("largest?n=1001", "There is no n '1001' here"),
        ("largest?skip_first=yes", "There is no skip_first 'yes' here"),
        ("tiles/0/0/0?values=2", "There is no values '2' here"),
    ],
)
def test_a_bad_address_is_refused_with_what_is_wanted(
    client: TestClient, head: str, path: str, said: str
) -> None:
    answer = client.get(f"{head}/map/{path}")
    assert answer.status_code == 400
    assert said in answer.json()["error"]["title"]
    assert answer.json()["error"]["message"]


def test_single_cells_are_there_before_the_map_is_made_and_the_list_of_the_largest_is_not(
    client: TestClient, head: str
) -> None:
    other = head.replace("heads/2", "heads/0")
    grid = planes(client, f"{other}/grid")
    assert np.array_equal(planes(client, f"{other}/map/tiles/0/0/0")[0], grid)
    answer = client.get(f"{other}/map/largest")
    assert answer.status_code == 409
    assert "not made yet" in answer.json()["error"]["title"]


def test_the_map_of_weight_times_value_is_that_of_the_grid_and_its_lengths(
    client: TestClient, head: str
) -> None:
    grid, lengths = planes(client, f"{head}/grid"), length_of(client, head)
    wanted = np.where(grid < 0, np.float32(-1), grid * lengths)
    assert np.array_equal(planes(client, f"{head}/map/tiles/0/0/0?values=1")[0], wanted)
    for path in ("largest?values=1", "rows"):
        assert client.get(f"{head}/map/{path}").status_code == 409
    assert made(client, head, "?values=1")["state"] == "ready"
    found = client.get(f"{head}/map/largest?n=5&values=1").json()
    assert [cell["weight"] for cell in found] == sorted(wanted.ravel().tolist())[:-6:-1]
    assert np.array_equal(planes(client, f"{head}/map/rows"), wanted.max(axis=1))
    assert np.array_equal(planes(client, f"{head}/map/tiles/0/0/0")[0], grid)


def test_a_map_that_was_given_up_is_made_when_it_is_asked_for_again(client: TestClient, head: str) -> None:
    other = head.replace("heads/2", "heads/1")
    client.get(f"{other}/map")
    assert client.delete(f"{other}/map").json() == {"state": "stopped"}
    assert made(client, other)["state"] == "ready"
