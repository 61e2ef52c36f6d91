"""A gate on the way to a service: while it is shut, nothing passes and nobody is told."""

import asyncio
from contextlib import suppress

_CHUNK = 65_536


class TcpGate:
    """Listens on a port of its own and passes everything on, unless it is shut.

    Example:
        async with TcpGate(7233) as gate: ...
    """

    def __init__(self, port: int) -> None:
        """Take where the service listens on this machine."""
        self._to = port
        self._open = asyncio.Event()
        self._open.set()
        self._passing: set[asyncio.Task[None]] = set()
        self.port = 0
        """Where it listens itself, once it does."""

    async def __aenter__(self) -> "TcpGate":
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let nobody through any more."""
        self._server.close()
        self._end_all()

    def shut(self) -> None:
        """From now on what is sent waits, in both directions, and new connections get no answer."""
        self._open.clear()

    def open(self) -> None:
        """Let through again: connections from before are gone, with all that waited in them."""
        self._end_all()
        self._open.set()

    def _end_all(self) -> None:
        for task in self._passing:
            task.cancel()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        try:
            with suppress(OSError, asyncio.CancelledError):
                await self._open.wait()
                await self._pass_on(reader, writer)
        finally:
            self._passing.discard(task)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_connection("127.0.0.1", self._to)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._copy(reader, onward))
                both.create_task(self._copy(there, writer))
        except* OSError:
            pass
        finally:
            onward.transport.abort()

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(_CHUNK):
            await self._open.wait()
            target.write(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()
