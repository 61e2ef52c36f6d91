"""Serves ASGI apps on a real socket: the proxy, the codec server, and the inbox."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from orchestrator.core.errors import UsageError
from orchestrator.proxy.proxy_app import Proxy, create_proxy

_GRACE_S = 10
"""How long pending answers may take to finish after a signal to stop."""


def serve(proxy: Proxy, host: str, port: int, *, ready: Callable[[str], None]) -> None:
    """Serve the proxy until SIGINT or SIGTERM; see `serve_app`."""

    def begin(url: str) -> None:
        # Hide word lists and vectors from the garbage collector, and run it less often: a few new
        # lists of tools are enough objects for a full collection, which takes longer than choosing
        # tools.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        ready(url)

    serve_app(create_proxy(proxy), host, port, ready=begin)


def serve_app(
    app: ASGIApp,
    host: str,
    port: int,
    *,
    ready: Callable[[str], None],
    certificate: Path | None = None,
    private_key: Path | None = None,
) -> None:
    """Serve an app until SIGINT or SIGTERM, in an event loop of its own; see `serving`."""
    made = serving(app, host, port, ready=ready, certificate=certificate, private_key=private_key)
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once done
        asyncio.run(made)


async def serving(
    app: ASGIApp,
    host: str,
    port: int,
    *,
    ready: Callable[[str], None],
    certificate: Path | None = None,
    private_key: Path | None = None,
) -> None:
    """Serve an app in this event loop until SIGINT or SIGTERM; port 0 takes a free one.

    `ready` is called with the address once requests are accepted. With a certificate, a PEM file
    that may contain its private key, the app is served by https.

    Raises:
        OSError: the port is taken, or a file cannot be read.
    """
    listener = listen(host, port)
    address = address_of(listener)
    if certificate is not None:
        address = address.replace("http://", "https://", 1)
    config = _config(app, certificate=certificate, private_key=private_key)
    await ReadyServer(config, lambda: ready(address), is_guest=False).serve(sockets=[listener])


@asynccontextmanager
async def running_app(
    app: ASGIApp, *, host: str = "127.0.0.1", port: int = 0, grace_s: int = _GRACE_S
) -> AsyncIterator[str]:
    """Serve an app in this event loop until the block ends; yield the base URL.

    The app answers only while the loop turns, and leaves signals to the process. A port that is
    taken is an OSError.
    """
    listener, ready = listen(host, port), asyncio.Event()
    server = ReadyServer(_config(app, grace_s=grace_s), ready.set, is_guest=True)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    starting = asyncio.create_task(ready.wait())
    try:
        await asyncio.wait({serving, starting}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving
        yield address_of(listener)
    finally:
        starting.cancel()
        server.should_exit = True
        await serving


def _config(
    app: ASGIApp,
    *,
    grace_s: int = _GRACE_S,
    certificate: Path | None = None,
    private_key: Path | None = None,
) -> uvicorn.Config:
    # No log of requests, as their paths and headers belong to the callers.
    return uvicorn.Config(
        app,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,  # an app that believes a proxy says which
        timeout_graceful_shutdown=grace_s,
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
    )


class ReadyServer(uvicorn.Server):
    """A server that calls back when it accepts requests; in a host loop it leaves signals alone."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], object], *, is_guest: bool
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._is_guest = is_guest

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the host."""
        with nullcontext() if self._is_guest else super().capture_signals():
            yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and call back."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def read_address(text: str) -> tuple[str, int]:
    """Return host and port of `127.0.0.1:8080` or `[::]:8080`; other text is a UsageError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"{text!r} is no HOST:PORT; give one as 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; an OSError if the port is taken, or the address elsewhere."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Declared as TCP; otherwise asyncio leaves Nagle's delay on: 40 ms per answer.
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
    """Return the base URL of a listening socket, without a trailing slash."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
