"""Serves the proxy on a real socket."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress

import uvicorn

from orchestrator.proxy.proxy_app import Proxy, create_proxy

_GRACE_S = 10
"""How long answers that pass may take to end once the proxy is told to stop."""
_COLLECTED_AFTER = (50_000, 20, 50)
"""New objects, and collections of the young and of the middle generation, between two."""


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
    server = _Server(proxy, lambda: ready(address_of(listener)), is_guest=False)
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once done
        asyncio.run(server.serve(sockets=[listener]))


@asynccontextmanager
async def running_proxy(
    proxy: Proxy, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[str]:
    """Serve in this event loop until the block ends; gives the base URL.

    Raises:
        OSError: the port is taken.
    """
    listener, ready = listen(host, port), asyncio.Event()
    server = _Server(proxy, ready.set, is_guest=True)
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


class _Server(uvicorn.Server):
    """A server that says when it takes requests, and leaves signals to whom it is a guest of."""

    def __init__(self, proxy: Proxy, ready: Callable[[], object], *, is_guest: bool) -> None:
        # No log of requests, whose paths and headers are the callers'.
        config = uvicorn.Config(
            create_proxy(proxy),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        super().__init__(config)
        self._ready = ready
        self._is_guest = is_guest

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with nullcontext() if self._is_guest else super().capture_signals():
            yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            if not self._is_guest:
                _spare_the_collector()
            self._ready()


def _spare_the_collector() -> None:
    """Hide word lists and vectors from the garbage collector, and have it come less often.

    A list of tools is tens of thousands of objects that live on: a few lists that are new call for
    a full collection, which takes longer than choosing does.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)


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
