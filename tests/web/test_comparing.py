"""Two runs of the app held against each other: the list, the slots and the three planes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from attnscope.comparison import compare
from attnscope.models import Subject

A, B = "the cat, so me light", "the black cat, so light"


@pytest.fixture(scope="module")
def pair(finish: Any) -> str:
    """The query that names both runs."""
    return f"a={finish('small', A)['id']}&b={finish('small', B)['id']}"


def test_the_list_is_that_of_the_command(client: TestClient, pair: str, own: Subject) -> None:
    told = client.get(f"/api/compare?{pair}&align=token").json()
    wanted = compare(own.run(A).recording, own.run(B).recording, "token").to_dict()
    assert [(one["layer"], one["head"], one["mean"]) for one in told["heads"]] == [
        (one["layer"], one["head"], one["mean"]) for one in wanted["heads"]
    ]
    assert told["align"] == "token" and told["left_out"] == []


def test_planes_and_slots_fit_one_another(
    client: TestClient, pair: str, own: Subject, tools: SimpleNamespace
) -> None:
    told = client.get(f"/api/compare?{pair}&align=token").json()["heads"][1]
    planes = tools.floats(client.get(f"/api/compare/picture?{pair}&align=token&head=1"))
    slots = client.get(f"/api/compare/slots?{pair}&align=token&head=1").json()
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


@pytest.mark.parametrize(
    ("query", "status", "title"),
    [
        ("", 400, "Two runs are wanted"),
        ("a=x&b=y", 404, "This run is not held any more"),
        ("PAIR&align=letters", 400, "There is no alignment 'letters'"),
        ("PAIR&head=99", 400, "There is no head '99' here"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    query: str, status: int, title: str, client: TestClient, pair: str
) -> None:
    answer = client.get(f"/api/compare/picture?{query.replace('PAIR', pair)}")
    assert answer.status_code == status and answer.json()["error"]["title"] == title


def test_models_of_two_shapes_are_told_what_can_be_compared(client: TestClient, finish: Any) -> None:
    runs = f"a={finish('small', A)['id']}&b={finish('tiny-llama', 'the light')['id']}"
    answer = client.get(f"/api/compare?{runs}")
    assert (
        answer.status_code == 400
        and "no head of one is a head of the other" in answer.json()["error"]["title"]
    )


def test_a_run_that_is_too_long_is_left_to_the_command(
    client: TestClient, pair: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnscope.web.comparing.MOST_CELLS", 10)
    answer = client.get(f"/api/compare?{pair}")
    assert answer.status_code == 409 and "attnscope compare A B" in answer.json()["error"]["hint"]
