"""The gate: who may ask, how much, and what every answer carries."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from attnscope.web.app import create_app
from attnscope.web.catalogue import Catalogue
from attnscope.web.gate import LONGEST_BODY, Names, host_of


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("127.0.0.1:8017", "127.0.0.1"),
        ("LocalHost", "localhost"),
        ("[::1]:8017", "::1"),
        ("[::1]", "::1"),
        ("[::1", "[::1"),
        ("[::1]x", "[::1]x"),
        ("[::1]:x", "[::1]:x"),
        ("[localhost]", "[localhost]"),
        ("evil.example:80", "evil.example"),
        ("", ""),
    ],
)
def test_a_host_header_is_read_without_its_port(header: str, host: str) -> None:
    assert host_of(header) == host


def test_a_server_on_every_address_answers_to_addresses_and_to_no_foreign_name() -> None:
    names = Names.of("0.0.0.0")
    assert names.allow("192.168.1.7:8017")
    assert names.allow("[fe80::1]:8017")
    assert names.allow("localhost:8017")
    assert not names.allow("evil.example:8017")


def test_a_local_server_does_not_answer_to_another_address() -> None:
    assert not Names.of("127.0.0.1").allow("192.168.1.7:8017")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8017",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil",
        "[::1",
        "[::1]evil",
        "[localhost]",
    ],
)
def test_a_name_that_was_pointed_here_is_refused(client: TestClient, host: str) -> None:
    answer = client.get("/api/models", headers={"Host": host})
    assert answer.status_code == 403
    assert answer.json()["error"]["title"].startswith("This server is not called")


def test_a_request_without_a_host_is_refused(client: TestClient) -> None:
    assert client.get("/api/models", headers={"Host": ""}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://localhost:8017"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_page_may_neither_start_nor_stop_a_run(client: TestClient, headers: dict[str, str]) -> None:
    wish = {"model": "small", "text": "a"}
    for answer in (
        client.post("/api/runs", json=wish, headers=headers),
        client.delete("/api/runs/x", headers=headers),
    ):
        assert answer.status_code == 403
        assert "another page" in answer.json()["error"]["title"]


def test_our_own_page_and_a_script_without_a_page_may(client: TestClient) -> None:
    for headers in ({"Origin": "http://127.0.0.1:8017", "Sec-Fetch-Site": "same-origin"}, {}):
        answer = client.post("/api/runs", json={"model": "small", "text": "a"}, headers=headers)
        assert answer.status_code == 202


def test_a_proxy_is_answered_under_the_name_it_was_given(catalogue: Catalogue) -> None:
    app = create_app(catalogue, names=Names.of("127.0.0.1", ["hub.example"]))
    with TestClient(app, base_url="http://127.0.0.1:8017") as client:
        headers = {"Host": "hub.example", "Origin": "https://hub.example"}
        wish = {"model": "small", "text": "a"}
        assert client.post("/api/runs", json=wish, headers=headers).status_code == 202
        rewritten = {"Origin": "https://hub.example"}
        assert client.post("/api/runs", json=wish, headers=rewritten).status_code == 202


def test_every_answer_forbids_foreign_scripts_and_frames(client: TestClient) -> None:
    for path in ("/api/models", "/explore", "/nowhere", "/static/icon.svg"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"


def test_a_body_past_the_limit_is_refused_by_its_stated_length(client: TestClient) -> None:
    answer = client.post(
        "/api/runs",
        content=b"{}",
        headers={"Content-Length": str(LONGEST_BODY + 1), "Content-Type": "application/json"},
    )
    assert answer.status_code == 413
    assert answer.json()["error"]["title"] == "The request is longer than 32 MB"


def test_a_body_past_the_limit_is_refused_while_it_is_read(client: TestClient) -> None:
    def pieces():
        for _ in range(LONGEST_BODY // 2**20 + 1):
            yield b"x" * 2**20

    assert client.post("/api/runs", content=pieces()).status_code == 413


def test_a_websocket_is_closed(client: TestClient) -> None:
    with pytest.raises(Exception), client.websocket_connect("/explore"):  # noqa: B017
        pass


def test_a_fault_of_ours_is_an_answer_in_json_and_names_no_file(catalogue: Catalogue) -> None:
    app = create_app(catalogue)

    @app.get("/boom")
    def boom() -> None:
        raise RuntimeError("/secret/path")

    with TestClient(app, base_url="http://127.0.0.1:8017") as client:
        answer = client.get("/boom")
    assert answer.status_code == 500
    assert answer.json()["error"]["title"] == "The server met something it did not expect"
    assert "secret" not in answer.text
