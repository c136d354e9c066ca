"""Serves the app: finds a port, listens, says when it is ready, and leaves quietly."""

from __future__ import annotations

import errno
import ipaddress
import logging
import re
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from attnscope.errors import PortInUse, ServerError

FIRST_PORT = 8017
_TRIED = 100


def listen(host: str, port: int | None) -> socket.socket:
    """Return a socket bound to `host` and `port`, or to the first free port from 8017 on where `port` is
    None.

    Raises PortInUse where another program listens there, ServerError where the host is none of this
    machine's.
    """
    tried = [port] if port is not None else list(range(FIRST_PORT, FIRST_PORT + _TRIED))
    for one in tried:
        try:
            return _bind(host, one)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            if error.errno == errno.EACCES:
                raise ServerError(
                    f"Port {one} is kept for the system", wanted="A port from 1024 to 65535 is wanted"
                ) from error
            raise ServerError(
                f"Cannot listen on {host} ({error.strerror or error})",
                wanted="An address of this machine is wanted, such as 127.0.0.1",
            ) from error
    if port is None:
        raise PortInUse(f"Ports {tried[0]} to {tried[-1]} are all in use", hint="Name a free one with --port")
    raise PortInUse(
        f"Port {port} on {host} is in use by another program",
        hint=f"Leave --port away to take the first free one from {FIRST_PORT} on, or name another",
    )


def address(host: str, port: int, base_path: str = "") -> str:
    """Return the URL of the page; a server that listens everywhere is reached as localhost."""
    shown = "localhost" if host in ("0.0.0.0", "::", "") else host
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}{base_path}/explore"


def clean_base_path(given: str) -> str:
    """Return a base path as "" or "/a/b"; ServerError where it is no path."""
    path = "/" + given.strip("/") if given.strip("/") else ""
    if path and not re.fullmatch(r"(/[A-Za-z0-9._~@:%+-]+)+", path):
        raise ServerError(f"{given!r} is no base path", wanted="A path such as /proxy/8017 is wanted")
    return path


def serve(app: FastAPI, bound: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C or a signal; `ready` is called once requests are answered."""
    config = uvicorn.Config(
        app,
        log_level=logging.WARNING,
        access_log=False,
        timeout_graceful_shutdown=2,
        server_header=False,
        ws="none",
    )
    logging.getLogger("uvicorn.error").addFilter(_of_the_server)
    _Server(config, ready).run(sockets=[bound])


def _of_the_server(record: logging.LogRecord) -> bool:
    """Return whether a line of uvicorn's log is about the server, not about a client that sent nonsense and
    was told so in its answer.
    """
    return not str(record.msg).startswith(("Invalid HTTP request received", "Unsupported upgrade request"))


class _Server(uvicorn.Server):  # type: ignore[misc]
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()


def _bind(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if _is_ipv6(host) else socket.AF_INET, socket.SOCK_STREAM)
    try:
        # A port whose last server has just gone is free; one that is listened on is not, on Linux and macOS.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(128)
    except BaseException:
        bound.close()
        raise
    return bound


def _is_ipv6(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False
