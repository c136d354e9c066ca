"""The gate before the app: whom it answers, how much it reads, and what every answer carries.

The server has no password: being on this machine is the right to use it. What must be kept out is a web
page of someone else's in the same browser. A page can send requests here, so requests that change something
must come from our own origin; and it can point a name of its own at this machine (DNS rebinding), so the
name by which we are called must be one of ours.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attnscope.errors import AttnscopeError
from attnscope.web.refusals import Refusal, refuse

LONGEST_BODY = 32 * 2**20  # bytes; a text of 10 MB fits even where JSON escapes part of it

_log = logging.getLogger(__name__)
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self'; img-src 'self' data: blob:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_BRACKETED = re.compile(r"\[([0-9a-f:.%]*:[^\[\]]*)\](?::[0-9]*)?")
_LOCAL = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Names:
    """The names by which the server may be called; `addresses` lets any bare IP address pass too.

    A rebinding page is called by a name, never by an address, so addresses are safe where the server was
    told to listen to the network.
    """

    hosts: frozenset[str]
    addresses: bool = False
    proxies: frozenset[str] = frozenset()

    @classmethod
    def of(cls, host: str, others: Iterable[str] = ()) -> Names:
        """Return the names for a server that listens on `host`, with `others` that a proxy uses."""
        everywhere = host in ("0.0.0.0", "::", "")
        proxies = frozenset(name.lower().strip("[]") for name in others)
        own = frozenset() if everywhere else frozenset([host.lower().strip("[]")])
        return cls(frozenset(_LOCAL) | own | proxies, everywhere, proxies)

    def allow(self, header: str) -> bool:
        """Return whether a Host header names us; the port does not matter."""
        name = host_of(header)
        if name in self.hosts:
            return True
        return self.addresses and _is_address(name)

    def own(self, origin: str, host: str) -> bool:
        """Return whether a page of `origin` is ours: same host and port, or one of the proxies named."""
        netloc = origin.partition("://")[2].strip().lower()
        return netloc == host.strip().lower() or host_of(netloc) in self.proxies


def host_of(header: str) -> str:
    """Return the host of a Host header in lower case, without port and brackets; the whole header where its
    brackets are not those of an address.
    """
    header = header.strip().lower()
    if header.startswith("["):
        bracketed = _BRACKETED.fullmatch(header)
        return bracketed[1] if bracketed else header
    name, _, port = header.rpartition(":")
    return name if name and port.isdigit() else header


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Gate:
    """ASGI middleware round everything."""

    def __init__(self, app: ASGIApp, *, names: Names, base_path: str = "") -> None:
        """`base_path` is a prefix that a proxy may leave on the path, such as "/proxy/8017"."""
        self._app, self._names, self._base = app, names, base_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request, hand it on, and see that its answer is whole."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = _Answer(send)
        try:
            self._check(scope)
            await self._app(self._without_base(scope), _Body(receive).receive, answer.send)
        except AttnscopeError as error:
            if not answer.begun:
                await refuse(error)(scope, receive, answer.send)
        except ClientDisconnect:
            _log.debug("The client went away: %s %s", scope["method"], scope["path"])
        except Exception:
            _log.exception("A request failed: %s %s", scope["method"], scope["path"])
            if answer.begun:
                raise
            await refuse(_fault())(scope, receive, answer.send)

    def _without_base(self, scope: Scope) -> Scope:
        path = scope["path"]
        if not self._base or not (path == self._base or path.startswith(self._base + "/")):
            return scope
        return {**scope, "path": path[len(self._base) :] or "/", "raw_path": None}

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._names.allow(host):
            raise Refusal(
                403,
                f"This server is not called {host_of(host) or 'nothing'}",
                wanted=f"It answers to {', '.join(sorted(self._names.hosts))}",
                hint="Behind a proxy, name the proxy's host: attnscope app --allow-host NAME",
            )
        if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            self._check_origin(headers, host)
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > LONGEST_BODY:
            raise _too_much()

    def _check_origin(self, headers: Headers, host: str) -> None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        foreign = origin is not None and not self._names.own(origin, host)
        if foreign or site not in ("same-origin", "none"):
            raise Refusal(
                403,
                f"This request comes from another page ({origin or site})",
                wanted="Only attnscope's own page may start or stop a run",
            )


def _fault() -> Refusal:
    return Refusal(
        500,
        "The server met something it did not expect",
        wanted="Nothing of yours is lost",
        hint="Try again; the terminal in which attnscope runs says more",
    )


def _too_much() -> Refusal:
    return Refusal(
        413,
        f"The request is longer than {LONGEST_BODY // 2**20} MB",
        wanted="Nothing was run",
        hint="No model reads a text of that length; take a part of it",
    )


class _Body:
    """Counts what is read of a request and stops at the limit."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._read = receive, 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > LONGEST_BODY:
            raise _too_much()
        return message


class _Answer:
    """Adds the headers that every answer carries, and remembers whether one has begun."""

    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
        await self._send(message)
