"""Serves the codec server on a real socket."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from orchestrator.proxy.server import address_of, listen


def serve(
    app: ASGIApp,
    host: str,
    port: int,
    *,
    ready: Callable[[str], None],
    certificate: Path | None = None,
    private_key: Path | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        app: what to serve.
        host: address to listen on.
        port: 0 takes a free one.
        ready: told the address once requests are accepted.
        certificate: PEM file of what proves its name to browsers; None: http alone.
        private_key: PEM file of its key, where that is not in the same file.

    Raises:
        OSError: the port is taken, or a file cannot be read.
    """
    listener = listen(host, port)
    address = address_of(listener)
    if certificate is not None:
        address = address.replace("http://", "https://", 1)
    config = uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
    )
    server = _Server(config, lambda: ready(address))
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once done
        asyncio.run(server.serve(sockets=[listener]))


class _Server(uvicorn.Server):
    """A server that says when it takes requests."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()
