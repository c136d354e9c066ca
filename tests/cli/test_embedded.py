"""The main job on the model that ships: the app's default text, and the row that `look` prints of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from attnscope.web.app import create_app
from attnscope.web.catalogue import SAMPLE, catalogue_with


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(catalogue_with(None)), base_url="http://127.0.0.1:8017") as one:
        yield one


@pytest.fixture(scope="module")
def run(client: TestClient) -> dict[str, Any]:
    wish = client.get("/api/models").json()["default"]
    assert wish == {"model": "embedded", "text": SAMPLE}
    key = client.post("/api/runs", json=wish).json()["id"]
    while (state := client.get(f"/api/runs/{key}").json())["state"] not in ("done", "failed"):
        time.sleep(0.05)
    assert state["state"] == "done", state["error"]
    return dict(state)


def test_the_default_text_has_28_tokens_and_every_head_is_certified(run: dict[str, Any]) -> None:
    result = run["result"]
    (place,) = result["places"].values()
    assert len(place["tokens"]) == 28
    assert place["tokens"][6]["kind"] == "newline"
    assert result["certificate"]["heads"] == result["certificate"]["passed"] == 36
    assert result["bit_equal"] is True
    assert result["missing"] == []
    assert result["model"]["context"] == 256


def test_the_row_on_the_page_is_the_row_that_look_prints(
    client: TestClient, run: dict[str, Any], say: Any
) -> None:
    answer = client.get(f"/api/runs/{run['id']}/sites/2/heads/1/row?i=27")
    served = np.frombuffer(answer.content, "<f4").astype(float).tolist()
    words = ["look", "embedded", "--text", SAMPLE, "--layer", 2, "--head", 1, "--query", -1]
    printed = json.loads(say(*words, "--json").out)
    assert [key["weight"] for key in printed["row"]] == served
    assert printed["query"]["text"] == "t"
    lines = say(*words).out.splitlines()
    assert [float(line.split()[1]) for line in lines[1:29]] == pytest.approx(served, abs=5.1e-8)


def test_it_expects_something_after_light(client: TestClient, run: dict[str, Any]) -> None:
    found = client.get(f"/api/runs/{run['id']}/next?i=27&top=5").json()
    assert len(found["top"]) == 5
    assert 0 < found["entropy"] < np.log(65)
    assert sum(one["p"] for one in found["top"]) <= 1


def test_a_text_past_its_context_offers_the_first_256(client: TestClient) -> None:
    key = client.post("/api/runs", json={"model": "embedded", "text": "light " * 70}).json()["id"]
    while (state := client.get(f"/api/runs/{key}").json())["state"] not in ("done", "failed"):
        time.sleep(0.05)
    assert state["error"]["title"] == "420 characters, the limit is 256"
    assert state["error"]["offer"]["text"] == ("light " * 70)[:256]
