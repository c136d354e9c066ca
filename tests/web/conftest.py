"""The real app over real small models, asked as a browser asks it."""

from __future__ import annotations

import runpy
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient

from attnscope.gpt import GPT, CharacterTokenizer, GPTConfig
from attnscope.gpt.store import save_model
from attnscope.models import Subject, open_model
from attnscope.web.app import create_app
from attnscope.web.catalogue import SAMPLE, Catalogue, Entry

HOST = "http://127.0.0.1:8017"
CHARACTERS = "\n !,.:abcdefghijklmnopqrstuvwxyzBEMOR"

Finish = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """Return a small model of ours, with weights drawn so that its attention is not flat."""
    config = GPTConfig(len(CHARACTERS), 96, 2, 3, 48)
    model = GPT(config, CharacterTokenizer(CHARACTERS), seed=4)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2:
                weight.normal_(std=0.3, generator=torch.Generator().manual_seed(len(name)))
    folder = tmp_path_factory.mktemp("own") / "small"
    save_model(model, folder)
    return open_model(str(folder))


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """Return a tiny Hugging Face model with a byte-level vocabulary and grouped heads."""
    tiny = runpy.run_path(str(Path(__file__).parents[1] / "models" / "tiny.py"))
    return open_model(str(tiny["llama_folder"](tmp_path_factory.mktemp("hf") / "tiny-llama")))


@pytest.fixture(scope="session")
def catalogue(own: Subject, llama: Subject) -> Catalogue:
    """Return both models on offer, ours first."""
    return catalogue_of(own, llama)


def catalogue_of(*subjects: Subject) -> Catalogue:
    """Return a catalogue of opened models."""
    return Catalogue({one.id: Entry(one.description, lambda one=one: one) for one in subjects}, SAMPLE)


@pytest.fixture(scope="session")
def client(catalogue: Catalogue) -> Iterator[TestClient]:
    """Return a browser's view of the app."""
    with TestClient(create_app(catalogue), base_url=HOST) as one:
        yield one


@pytest.fixture(scope="session")
def finish(client: TestClient) -> Finish:
    """Return what starts a run and waits for its end."""

    def run(model: str, text: str, *, using: TestClient = client, seconds: float = 30) -> dict[str, Any]:
        answer = using.post("/api/runs", json={"model": model, "text": text})
        assert answer.status_code == 202, answer.text
        return wait(using, answer.json()["id"], seconds)

    return run


def wait(client: TestClient, run: str, seconds: float = 30) -> dict[str, Any]:
    """Return the state of a run once it has ended."""
    return ended(client, f"/api/runs/{run}", seconds)


def ended(client: TestClient, address: str, seconds: float = 30) -> dict[str, Any]:
    """Return the state of a job once it has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        state: dict[str, Any] = client.get(address).json()
        if state["state"] in ("done", "failed", "cancelled"):
            return state
        time.sleep(0.02)
    raise AssertionError(f"It did not end in {seconds} s: {state}")


def floats(answer: Any) -> np.ndarray:
    """Return the array of an answer in its stated shape."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/octet-stream"
    shape = [int(size) for size in answer.headers["x-shape"].split(",")]
    return np.frombuffer(answer.content, "<f4").reshape(shape)


@pytest.fixture(scope="session")
def tools() -> SimpleNamespace:
    """Return the helpers of this file to the tests."""
    return SimpleNamespace(floats=floats, wait=wait, catalogue_of=catalogue_of, HOST=HOST)
