"""Recordings in the app: shown without their model, with a side's own places, and what is left out said."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient
from transformers import LlamaConfig, LlamaForCausalLM, T5Config, T5ForConditionalGeneration

from attnscope import record
from attnscope.models import open_recording
from attnscope.recording import Places, load
from attnscope.web.app import create_app
from attnscope.web.catalogue import catalogue_with

T = 14


def words(name: str, count: int) -> tuple[dict[str, Any], ...]:
    return tuple({"text": f"{name}{i} "} for i in range(count))


@pytest.fixture(scope="module")
def llama() -> LlamaForCausalLM:
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, initializer_range=0.5,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, llama: LlamaForCausalLM) -> Path:
    """Return a folder of recordings: padded texts, sums alone, two heads, an encoder with a decoder."""
    at = tmp_path_factory.mktemp("recordings")
    ids = torch.randint(1, 49, (2, T))
    mask = torch.ones_like(ids)
    mask[1, :5] = 0
    with torch.no_grad():
        with record(llama, ids, path=at / "padded"):
            llama(ids, attention_mask=mask)
        with record(llama, ids[:1], path=at / "sums", keep="summary"):
            llama(ids[:1])
        with record(llama, ids[:1], path=at / "heads", heads=[0, 3], keep="qk"):
            llama(ids[:1])
        sizes = {"vocab_size": 50, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
        t5 = T5ForConditionalGeneration(T5Config(**sizes, decoder_start_token_id=0)).eval()
        with record(t5, path=at / "pair") as pair:
            t5(input_ids=ids[:1], decoder_input_ids=ids[:1, :6])
            pair.places = {
                "encoder": Places(words("e", T)),
                "decoder": Places(words("d", 7), generated=2),
            }
    return at


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    looks = [
        look
        for name in ("pair", "padded", "sums", "heads")
        for look in open_recording(folder / name, name=name)
    ]
    app = create_app(catalogue_with(None, looks=looks))
    with TestClient(app, base_url="http://127.0.0.1:8017") as one:
        yield one


def shown(client: TestClient, tools: SimpleNamespace, name: str) -> dict[str, Any]:
    answer = client.post("/api/runs", json={"model": name, "text": ""})
    assert answer.status_code == 202, answer.text
    state: dict[str, Any] = tools.wait(client, answer.json()["id"])
    assert state["state"] == "done", state["error"]
    return state


def test_recordings_are_on_offer_by_name_before_the_models(client: TestClient) -> None:
    answer = client.get("/api/models").json()
    offered = {model["id"]: model["recorded"] for model in answer["models"]}
    assert list(offered)[:5] == ["pair", "padded · text 0", "padded · text 1", "sums", "heads"]
    assert offered["pair"] is True
    assert offered["embedded"] is False
    assert answer["default"]["model"] == "pair"


def test_each_side_of_cross_attention_has_its_own_places(client: TestClient, tools: SimpleNamespace) -> None:
    result = shown(client, tools, "pair")["result"]
    cross = next(site for site in result["sites"] if site["kind"] == "cross")
    rows, columns = (result["places"][cross[side]] for side in ("rows", "columns"))
    assert ([t["text"] for t in rows["tokens"]], rows["stack"]) == ([f"d{i} " for i in range(6)], "decoder")
    assert ([t["text"] for t in columns["tokens"]], columns["stack"]) == (
        [f"e{i} " for i in range(T)],
        "encoder",
    )
    assert (rows["generated"], columns["generated"]) == (2, None)
    assert cross["picture"] == [6, T]
    own = next(site for site in result["sites"] if (site["stack"], site["kind"]) == ("decoder", "self"))
    assert own["rows"] == own["columns"] == cross["rows"]
    assert result["predicts"] is False
    assert result["bit_equal"] is None


def test_the_numbers_are_the_recordings_own(client: TestClient, folder: Path, tools: SimpleNamespace) -> None:
    state = shown(client, tools, "pair")
    at = next(site["site"] for site in state["result"]["sites"] if site["kind"] == "cross")
    grid = tools.floats(client.get(f"/api/runs/{state['id']}/sites/{at}/heads/1/grid"))
    assert grid.shape == (6, T)
    kept = load(folder / "pair").site(state["result"]["sites"][at]["layer"], kind="cross")
    assert np.array_equal(grid, kept.weights(1).numpy())
    column = tools.floats(client.get(f"/api/runs/{state['id']}/sites/{at}/heads/1/column?j=13"))
    assert np.array_equal(column, grid[:, 13])


def test_padding_is_told_and_left_out_of_every_sum(
    client: TestClient, folder: Path, tools: SimpleNamespace
) -> None:
    state = shown(client, tools, "padded · text 1")
    site = state["result"]["sites"][1]
    assert (site["sight"]["padding"], site["sight"]["rows"]) == ([[0, 5]], [5, T])
    assert site["causal"] is False
    head = f"/api/runs/{state['id']}/sites/1/heads/2"
    sides = client.get(f"{head}/sides")
    entropy = np.frombuffer(sides.content, "<f4")[:T]
    assert np.isnan(entropy[:5]).all()
    assert np.isfinite(entropy[5:]).all()
    grid = tools.floats(client.get(f"{head}/grid"))
    kept = load(folder / "padded").site(1).weights(2, batch=1).numpy()
    assert np.array_equal(np.where(grid == -1, 0, grid), kept)
    assert (grid[:, :5] == -1).all()
    weights = kept[5:].astype(np.float64)
    own = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(1).mean()
    assert site["entropy"][2] == pytest.approx(own, abs=1e-5)
    other = shown(client, tools, "padded · text 0")["result"]["sites"][1]
    assert other["sight"]["padding"] == []


def test_every_number_of_a_head_goes_out_with_its_certificate(
    client: TestClient, folder: Path, tools: SimpleNamespace
) -> None:
    state = shown(client, tools, "padded · text 1")
    base = f"/api/runs/{state['id']}/sites/1/heads/2"
    certificate = load(folder / "padded").site(1).certificate
    assert certificate is not None
    for path in ("grid", "sides", "row?i=9", "column?j=9"):
        seal = json.loads(client.get(f"{base}/{path}").headers["x-certificate"])
        assert seal == client.get(f"{base}/cell?i=9&j=9").json()["certificate"]
        assert (seal["verdict"], seal["route"], seal["dtype"]) == ("passed", "huggingface/sdpa", "float32")
        assert seal["z"] == pytest.approx(float(certificate.z[1, 2]))
        assert (seal["allowed_z"], seal["allowed_t"]) == (certificate.thresholds.z, certificate.thresholds.t)


def test_sums_without_weights_say_so(client: TestClient, tools: SimpleNamespace) -> None:
    state = shown(client, tools, "sums")
    site = state["result"]["sites"][0]
    assert site["not_drawn"].startswith("The recording was made with keep=summary")
    assert all(value > 0 for value in site["entropy"])
    assert all(one["verdict"] == "passed" for one in site["certificate"])
    answer = client.get(f"/api/runs/{state['id']}/sites/0/heads/0/grid")
    assert answer.status_code == 409
    assert "was not kept" in answer.json()["error"]["title"]
    assert np.isnan(tools.floats(client.get(f"/api/runs/{state['id']}/thumbnails"))).all()


def test_heads_that_were_left_out_say_so(client: TestClient, folder: Path, tools: SimpleNamespace) -> None:
    state = shown(client, tools, "heads")
    site = state["result"]["sites"][1]
    verdicts = [one["verdict"] for one in site["certificate"]]
    assert verdicts == ["passed", "not kept", "not kept", "passed"]
    assert [value is None for value in site["entropy"]] == [False, True, True, False]
    assert state["result"]["certificate"]["heads"] == 4
    base = f"/api/runs/{state['id']}/sites/1/heads"
    assert client.get(f"{base}/1/row?i=3").status_code == 409
    row = tools.floats(client.get(f"{base}/3/row?i=9"))
    assert np.array_equal(row[:10], load(folder / "heads").site(1).weights(3, 9).numpy()[0, :10])
    cell = client.get(f"{base}/3/cell?i=9&j=4").json()
    assert cell["mix"] is cell["v"] is None


def test_a_recording_without_a_picture_gives_none(client: TestClient, tools: SimpleNamespace) -> None:
    state = shown(client, tools, "pair")
    for stack in ("encoder", "../manifest.json", "x"):
        assert client.get(f"/api/runs/{state['id']}/pictures/{stack}").status_code == 404


def test_names_that_are_taken_are_told_apart(folder: Path) -> None:
    looks = [look for name in ("sums", "sums") for look in open_recording(folder / name, name="embedded")]
    assert list(catalogue_with(None, looks=looks).entries)[:3] == [
        "embedded (2)",
        "embedded (3)",
        "embedded",
    ]


def test_a_recording_that_was_deleted_says_so_when_it_is_opened_and_stays_where_it_is_open(
    tmp_path: Path,
) -> None:
    torch.manual_seed(3)
    model = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval()
    for name in ("open", "shut"):
        with torch.no_grad(), record(model, path=tmp_path / name):
            x = torch.randn(1, 12, 16)
            model(x, x, x, need_weights=False)
    looks = [open_recording(tmp_path / name, name=name)[0] for name in ("open", "shut")]
    with TestClient(
        create_app(catalogue_with(None, looks=looks)), base_url="http://127.0.0.1:8017"
    ) as client:

        def run(name: str) -> Any:
            key = client.post("/api/runs", json={"model": name, "text": ""}).json()["id"]
            for _ in range(200):
                state = client.get(f"/api/runs/{key}").json()
                if state["state"] in ("done", "failed"):
                    return state
                time.sleep(0.02)
            return None

        opened = run("open")
        for name in ("open", "shut"):
            shutil.rmtree(tmp_path / name)
        head = f"/api/runs/{opened['id']}/sites/0/heads/1"
        for path in ("grid", "cell?i=3&j=2", "map", "map/tiles/0/0/0"):
            assert client.get(f"{head}/{path}").status_code == 200, path
        refused = run("shut")
        assert refused["state"] == "failed"
        assert "shut is not there any more: the recording was deleted or moved" in refused["error"]["title"]
