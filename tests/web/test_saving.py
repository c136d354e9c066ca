"""A head as a file from the app: its type, its name, its certificate, and what is refused."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.web.conftest import Finish

BEGINS = {
    "html": b"<!doctype html>",
    "png": b"\x89PNG",
    "svg": b"<?xml",
    "csv": b"# attnscope {",
    "npz": b"PK",
}


@pytest.mark.parametrize("form", list(BEGINS))
def test_a_head_is_handed_out_as_a_file(form: str, client: TestClient, finish: Finish) -> None:
    run = finish("small", "But, so me")["id"]
    answer = client.get(f"/api/runs/{run}/sites/1/heads/2/export/{form}")
    assert answer.status_code == 200, answer.text
    assert answer.content.startswith(BEGINS[form])
    assert answer.headers["content-disposition"] == f'attachment; filename="layer-1-head-2.{form}"'
    assert json.loads(answer.headers["x-certificate"])["verdict"] == "passed"


def test_its_weights_are_those_that_the_page_draws(client: TestClient, finish: Finish) -> None:
    run = finish("small", "But, so me")["id"]
    head = f"/api/runs/{run}/sites/1/heads/2"
    drawn = np.frombuffer(client.get(f"{head}/grid").content, "<f4")
    with np.load(io.BytesIO(client.get(f"{head}/export/npz").content)) as held:
        assert np.array_equal(np.where(held["visible"][0], held["weights"][0], -1).ravel(), drawn)


def test_the_picture_of_weight_times_value_is_handed_out_as_such(client: TestClient, finish: Finish) -> None:
    run = finish("small", "But, so me")["id"]
    export = f"/api/runs/{run}/sites/1/heads/2/export"
    answer = client.get(f"{export}/npz?values=1")
    assert answer.headers["content-disposition"] == 'attachment; filename="layer-1-head-2-values.npz"'
    with np.load(io.BytesIO(answer.content)) as held:
        product = held["weights"] * held["value_lengths"][:, None]
        assert np.array_equal(held["weights_times_lengths"], product)
    assert "weight × |v W_O|" in client.get(f"{export}/svg?values=1").text
    assert '"values":true' in client.get(f"{export}/html?values=1").text
    assert '"values":false' in client.get(f"{export}/html").text


def test_another_form_is_not_there(client: TestClient, finish: Finish) -> None:
    run = finish("small", "But, so me")["id"]
    answer = client.get(f"/api/runs/{run}/sites/0/heads/0/export/xls")
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "One of html, csv, parquet, npz, png, svg."
