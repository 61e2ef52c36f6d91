"""Serves the proxy on a real socket."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from orchestrator.proxy.app import Proxy, create_proxy

_GRACE_S = 10
"""How long answers that pass may take to end once the proxy is told to stop."""


def serve(proxy: Proxy, host: str, port: int, *, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        proxy: what to serve.
        host: address to listen on.
        port: 0 takes a free one.
        ready: told the address once requests are accepted.

    Raises:
        OSError: the port is taken.
    """
    listener = listen(host, port)

    async def run() -> None:
        server = _Server(config_of(proxy), lambda: ready(address_of(listener)))
        await server.serve(sockets=[listener])

    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once done
        asyncio.run(run())


class _Server(uvicorn.Server):
    """A server that says when it takes requests."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def config_of(proxy: Proxy) -> uvicorn.Config:
    """How the proxy is served: no log of requests, whose paths and headers are the callers'."""
    return uvicorn.Config(
        create_proxy(proxy),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        OSError: the port is taken, or the address is none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's delay on: 40 ms an answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1_024)
    except OSError:
        listener.close()
        raise
    return listener


def address_of(listener: socket.socket) -> str:
    """The base URL of what listens, without a slash at its end."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
