"""Two runs of the app held against each other: the list, the slots and the three planes."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient

from attnscope.comparison import compare
from attnscope.comparison.contrast import Contrast
from attnscope.models import Subject

from .conftest import ended

A, B = "the cat, so me light", "the black cat, so light"


@pytest.fixture(scope="module")
def pair(finish: Any) -> tuple[str, str]:
    """Both runs."""
    return finish("small", A)["id"], finish("small", B)["id"]


@pytest.fixture(scope="module")
def done(client: TestClient, pair: tuple[str, str]) -> str:
    """Where the finished comparison of both is, by tokens."""
    return _finished(client, *pair, "token")


def _started(client: TestClient, a: str, b: str, align: str = "auto") -> str:
    answer = client.post("/api/comparisons", json={"a": a, "b": b, "align": align})
    assert answer.status_code == 202, answer.text
    return f"/api/comparisons/{answer.json()['id']}"


def _finished(client: TestClient, a: str, b: str, align: str = "auto") -> str:
    where = _started(client, a, b, align)
    assert ended(client, where)["state"] == "done"
    return where


def test_the_list_is_that_of_the_command(client: TestClient, done: str, own: Subject) -> None:
    told = client.get(f"{done}/heads").json()
    wanted = compare(own.run(A).recording, own.run(B).recording, "token").to_dict()
    assert [(one["layer"], one["head"], one["mean"]) for one in told["heads"]] == [
        (one["layer"], one["head"], one["mean"]) for one in wanted["heads"]
    ]
    assert told["align"] == "token" and told["left_out"] == []


def test_the_same_comparison_is_made_once(client: TestClient, done: str, pair: tuple[str, str]) -> None:
    assert _started(client, *pair, "token") == done
    assert _started(client, *pair, "position") != done


def test_planes_and_slots_fit_one_another(
    client: TestClient, done: str, own: Subject, tools: SimpleNamespace
) -> None:
    told = client.get(f"{done}/heads").json()["heads"][1]
    planes = tools.floats(client.get(f"{done}/heads/1/picture"))
    slots = client.get(f"{done}/heads/1/slots").json()
    assert slots["cells"] == 1 and planes.shape == (3, len(slots["rows"]), len(slots["columns"]))
    grids = [own.run(text).recording.site(told["layer"]).weights(told["head"]) for text in (A, B)]
    for i, row in enumerate(slots["rows"]):
        for j, column in enumerate(slots["columns"]):
            a, b, difference = planes[:, i, j]
            for side, value, grid in (("a", a, grids[0]), ("b", b, grids[1])):
                if row[side] is None or column[side] is None:
                    assert np.isnan(value)
                elif column[side]["at"] > row[side]["at"]:
                    assert value == -1
                else:
                    assert value == pytest.approx(float(grid[row[side]["at"], column[side]["at"]]), abs=1e-6)
            if row["a"] and row["b"] and column["a"] and column["b"]:
                unseen = a == -1 and b == -1
                assert np.isinf(difference) if unseen else difference == pytest.approx(max(b, 0) - max(a, 0))
            else:
                assert np.isnan(difference)


def test_a_slot_says_who_speaks_there(client: TestClient, finish: Any) -> None:
    from attnscope.models.groups import Groups
    from attnscope.web.comparing import _slots

    words = ["<|im_start|>", "user", "\n", "hi", "<|im_end|>", "<|im_start|>", "assistant", "\n", "yo"]
    tokens = [
        {"text": word, "kind": "special" if word[0] == "<" else "text", "bytes": None, "continues": False}
        for word in words
    ]
    of = Groups(torch.arange(len(words)), len(words))
    told = _slots([tokens, tokens], (of, of))
    assert [slot["b"]["role"] for slot in told] == ["user"] * 5 + ["assistant"] * 4
    assert [slot["a"]["text"] for slot in told][2] == "↵"


def test_one_under_way_tells_how_far_it_is_and_can_be_cancelled(
    client: TestClient, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    walked, go = threading.Event(), threading.Event()
    whole = Contrast.distances

    def slow(contrast: Contrast, told: Any) -> Any:
        walked.set()
        assert go.wait(20)
        return whole(contrast, told)

    monkeypatch.setattr(Contrast, "distances", slow)
    where = _started(client, *pair, "text")
    assert walked.wait(20)
    assert client.get(where).json()["state"] in ("loading", "running")
    assert client.get(f"{where}/heads").status_code == 409
    assert client.delete(where).json()["state"] == "cancelled"
    go.set()
    assert client.get(f"{where}/heads").json()["error"]["title"] == "This comparison is cancelled"
    monkeypatch.undo()
    assert _finished(client, *pair, "text") != where


def test_how_far_it_is_is_told_in_heads(pair: tuple[str, str], own: Subject) -> None:
    told: list[tuple[str, int, int]] = []
    compare(own.run(A).recording, own.run(B).recording, progress=lambda *step: told.append(step))
    heads = told[-1][2]
    assert {done for _, done, _ in told} == set(range(heads + 1)) and told[0][0].endswith("head 0")


@pytest.mark.parametrize(
    ("form", "begins"),
    [("csv", b"# attnscope {"), ("json", b"{"), ("png", b"\x89PNG"), ("svg", b"<?xml")],
)
def test_a_comparison_is_handed_out_as_a_file(
    form: str, begins: bytes, client: TestClient, done: str
) -> None:
    answer = client.get(f"{done}/heads/0/export/{form}?scale=linear&by=largest")
    assert answer.status_code == 200 and answer.content.startswith(begins)
    assert f".{form}" in answer.headers["Content-Disposition"]
    assert b"versions" in answer.content and b"certificate" in answer.content


def test_an_export_that_is_not_there_is_refused(client: TestClient, done: str) -> None:
    for address in ("heads/0/export/xls", "heads/0/export/csv?by=x", "heads/0/export/png?scale=%00"):
        assert client.get(f"{done}/{address}").status_code == 404
    for address in ("heads/99/picture", "heads/-1/slots", "heads/x/export/csv"):
        assert client.get(f"{done}/{address}").status_code == 400


@pytest.mark.parametrize(
    ("body", "status", "title"),
    [
        (b"", 400, "The request's body is not JSON"),
        (b"[]", 400, "The request's body is no JSON object"),
        (b"{}", 400, "Two runs are wanted"),
        (b'{"a": 1, "b": []}', 400, "Two runs are wanted"),
        (b'{"a": "x", "b": "y"}', 404, "This run is not held any more"),
        (b'{"a": "x", "b": "y", "align": "letters"}', 400, "There is no alignment 'letters'"),
        (b'{"a": "x", "b": "y", "align": {}}', 400, "There is no alignment {}"),
    ],
)
def test_what_cannot_be_compared_is_refused(body: bytes, status: int, title: str, client: TestClient) -> None:
    answer = client.post("/api/comparisons", content=body)
    assert answer.status_code == status and answer.json()["error"]["title"] == title


def test_models_of_two_shapes_are_told_what_can_be_compared(client: TestClient, finish: Any) -> None:
    where = _started(client, finish("small", A)["id"], finish("tiny-llama", "the light")["id"])
    state = ended(client, where)
    assert state["state"] == "failed"
    assert "no head of one is a head of the other" in state["error"]["title"]


def test_what_is_too_large_is_told_before_and_left_to_the_command(
    client: TestClient, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/api/comparisons").json()["most"] == 2**32
    monkeypatch.setattr("attnscope.web.comparing.MOST_CELLS", 10)
    assert client.get("/api/comparisons").json()["most"] == 10
    answer = client.post("/api/comparisons", json=dict(zip("ab", pair, strict=True)))
    assert answer.status_code == 409 and "attnscope compare A B" in answer.json()["error"]["hint"]
