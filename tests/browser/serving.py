"""The pages on a real socket for several people, and a wire to Temporal that can be cut."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import uvicorn
from starlette.requests import HTTPConnection

from orchestrator.proxy.server import ReadyServer, address_of, listen
from orchestrator.web.people import Person, Role
from orchestrator.web.web_app import create_app
from orchestrator.web.web_service import Service

_BEGINS_S: Final = 30
PERSON_HEADER: Final = "x-person"
"""Names the person of a browser; without it, it is signed out."""
_ROLES: Final = {"vi@example.com": (Role.VIEWER,)}


async def identify(connection: HTTPConnection) -> Person | None:
    """Return the person whom the browser's header names."""
    subject = connection.headers.get(PERSON_HEADER)
    if subject is None:
        return None
    roles = _ROLES.get(subject, (Role.ADMIN,))
    return Person(subject=subject, roles=roles, sees_all=True, proved_by="loopback")


@asynccontextmanager
async def served(service: Service) -> AsyncIterator[str]:
    """Serve the whole application; yield its address."""
    listener, ready = listen("127.0.0.1", 0), asyncio.Event()
    config = uvicorn.Config(
        create_app(service), log_config=None, access_log=False, timeout_graceful_shutdown=1
    )
    server = ReadyServer(config, ready.set, is_guest=True)
    going = asyncio.create_task(server.serve(sockets=[listener]))
    await asyncio.wait_for(ready.wait(), _BEGINS_S)
    try:
        yield address_of(listener)
    finally:
        server.should_exit = True
        await going


class Wire:
    """Passes bytes on to an address, unless it is cut."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = host, int(port)
        self._pipes: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self._port}"

    async def open(self) -> None:
        """Listen, at the same port as before."""
        self._server = await asyncio.start_server(self._joined, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Close every connection, and take no other."""
        assert self._server is not None
        self._server.close()
        for pipe in [*self._pipes]:
            pipe.transport.abort()
        self._server = None

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            there, back = await asyncio.open_connection(*self._target)
            ends = {writer, back}
            self._pipes |= ends
            try:
                await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))
            finally:
                self._pipes -= ends
                for end in ends:
                    end.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while content := await reader.read(65_536):
            writer.write(content)
            await writer.drain()
    writer.close()
