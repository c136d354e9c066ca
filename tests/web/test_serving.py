"""Ports and addresses."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from attnscope.errors import PortInUse, ServerError
from attnscope.web.app import create_app
from attnscope.web.catalogue import Catalogue
from attnscope.web.serving import FIRST_PORT, address, clean_base_path, listen, serve


def test_a_port_that_another_listens_on_is_refused_with_a_way_out() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            PortInUse, match=f"Port {port} on 127.0.0.1 is in use by another program"
        ) as caught:
            listen("127.0.0.1", port)
    assert "Leave --port away" in str(caught.value)


def test_without_a_port_the_first_free_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with listen("127.0.0.1", 0) as free:
        start = free.getsockname()[1]
    monkeypatch.setattr("attnscope.web.serving.FIRST_PORT", start)
    with listen("127.0.0.1", None) as first, listen("127.0.0.1", None) as second:
        assert start <= first.getsockname()[1] < second.getsockname()[1]
    assert FIRST_PORT == 8017


def test_a_range_that_is_all_in_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with listen("127.0.0.1", 0) as taken:
        monkeypatch.setattr("attnscope.web.serving.FIRST_PORT", taken.getsockname()[1])
        monkeypatch.setattr("attnscope.web.serving._TRIED", 1)
        with pytest.raises(PortInUse, match=r"are all in use\. Name a free one with --port"):
            listen("127.0.0.1", None)


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid"])
def test_an_address_that_is_not_this_machines_is_refused(host: str) -> None:
    with pytest.raises(ServerError, match=f"Cannot listen on {host}"):
        listen(host, 0)


def test_the_sixth_version_of_the_internet_works_too() -> None:
    if not socket.has_ipv6:
        pytest.skip("This machine has no IPv6")
    try:
        bound = listen("::1", 0)
    except ServerError:
        pytest.skip("This machine has no ::1")
    with bound:
        assert bound.family == socket.AF_INET6


@pytest.mark.parametrize(
    ("host", "base", "url"),
    [
        ("127.0.0.1", "", "http://127.0.0.1:8017/explore"),
        ("0.0.0.0", "", "http://localhost:8017/explore"),
        ("::1", "", "http://[::1]:8017/explore"),
        ("127.0.0.1", "/proxy/8017", "http://127.0.0.1:8017/proxy/8017/explore"),
    ],
)
def test_the_address_is_one_a_browser_can_open(host: str, base: str, url: str) -> None:
    assert address(host, 8017, base) == url


@pytest.mark.parametrize(
    ("given", "clean"),
    [("", ""), ("/", ""), ("proxy/8017/", "/proxy/8017"), ("/a", "/a"), ("/user/~x@y", "/user/~x@y")],
)
def test_a_base_path_is_put_into_one_form(given: str, clean: str) -> None:
    assert clean_base_path(given) == clean


@pytest.mark.parametrize("given", ["//evil", "/a b", "/a?x", "/a//b", "/a#b", "http://x"])
def test_what_is_no_path_is_refused(given: str) -> None:
    if given == "//evil":
        assert clean_base_path(given) == "/evil"  # one path, never another host
        return
    with pytest.raises(ServerError, match="is no base path"):
        clean_base_path(given)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """Return the address of the app, served as the command serves it."""
    servers: list[uvicorn.Server] = []
    started, kept = threading.Event(), uvicorn.Server.__init__

    def keep(self: uvicorn.Server, config: uvicorn.Config) -> None:
        kept(self, config)
        servers.append(self)

    monkeypatch.setattr(uvicorn.Server, "__init__", keep)
    with listen("127.0.0.1", 0) as bound:
        app = create_app(Catalogue({}))
        thread = threading.Thread(target=serve, args=(app, bound), kwargs={"ready": started.set})
        thread.start()
        assert started.wait(20)
        yield bound.getsockname()
        servers[0].should_exit = True
        thread.join(20)


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 1000\r\n\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\nzz\r\n",
    ],
    ids=["within a body", "within a chunk", "a chunk of no size"],
)
def test_a_client_that_goes_away_or_sends_nonsense_leaves_no_trace(
    served: tuple[str, int], head: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.WARNING)
    with socket.create_connection(served) as client:
        client.sendall(b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\n" + head)
        time.sleep(0.3)
    time.sleep(0.3)
    with socket.create_connection(served) as client:
        client.sendall(b"GET /explore HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200 OK")
    assert not caplog.records
    assert capfd.readouterr() == ("", "")
