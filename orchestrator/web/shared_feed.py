"""The feed of all missions, read once for all streams of a process.

Each reader of its own would list the missions every second and read each history that has grown.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Final

from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.events import AnyEvent, Cursor

NOW: Final = "now"
"""In place of a cursor: no event that has occurred."""
_KEPT: Final = 2_000
"""Newest events that a reader can continue from without reading histories."""
_WAITING: Final = 5_000
"""Events that a slow reader may be behind; one further behind continues by its last cursor."""
_LINGERS_S: Final = 30.0
"""How long the feed is read on when its last reader has left: pages come and go."""
_BACK: Final = timedelta(minutes=2)

_Queue = asyncio.Queue[AnyEvent | Exception | None]


class SharedFeed:
    """Reads the feed while somebody follows it, and passes each event to all who do."""

    def __init__(self) -> None:
        self._readers: dict[_Queue, datetime] = {}
        """Queues of readers, and the time from which the first look at all missions is theirs."""
        self._newest: deque[AnyEvent] = deque(maxlen=_KEPT)
        self._task: asyncio.Task[None] | None = None
        self._swept = asyncio.Event()
        self._error: Exception | None = None
        self._following = 0
        """Readers, and those that wait for the first look."""
        self._left_at = 0.0

    async def follow(
        self, client: MissionClient, *, after: str | None
    ) -> AsyncGenerator[AnyEvent, None]:
        """Yield the events after a cursor, as `MissionClient.events` does, without end.

        It ends for a reader that is too far behind. A reader that continues in the second in which
        the feed is read for the first time may get an event twice. After None it begins with the
        first event; after NOW, with what comes.
        """
        queue: _Queue = asyncio.Queue(_WAITING)
        self._following += 1
        if after == NOW:  # the first look takes a while, and finds what happens meanwhile
            self._readers[queue] = datetime.now(UTC)
        try:
            await self._begun(client)
            self._readers.setdefault(queue, datetime.now(UTC))
            known = list(self._newest)
            place = next((n for n, one in enumerate(known) if one.cursor == after), None)
            seen: set[str] = set()
            if place is not None:
                for event in known[place + 1 :]:
                    yield event
            elif after != NOW:
                async with aclosing(client.events(after=after, follow=False)) as missed:
                    async for event in missed:
                        seen.add(_identity(event))
                        yield event
            while (item := await queue.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                if _identity(item) not in seen:
                    yield item
        finally:
            self._readers.pop(queue, None)
            self._following -= 1
            self._left_at = asyncio.get_running_loop().time()

    async def close(self) -> None:
        """Stop reading."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _begun(self, client: MissionClient) -> None:
        """Begin to read unless somebody has, and wait for the first look at all missions."""
        if self._task is None or self._task.done():
            self._swept, self._error = asyncio.Event(), None
            self._newest.clear()
            self._task = asyncio.create_task(self._read(client))
        await self._swept.wait()
        if self._error is not None:
            raise self._error

    async def _read(self, client: MissionClient) -> None:
        start = datetime.now(UTC) - _BACK
        begun = str(Cursor(begun=start, since=start))
        try:
            async with aclosing(client.events(after=begun, swept=self._on_sweep)) as events:
                async for event in events:
                    self._newest.append(event)
                    for queue, since in tuple(self._readers.items()):
                        if self._swept.is_set() or event.at >= since:
                            self._pass(queue, event)
        except _Idle:
            return
        except Exception as error:
            # Each reader raises it, and the next one begins again.
            self._error = error
            for queue in tuple(self._readers):
                self._pass(queue, error)
        finally:
            self._swept.set()

    def _on_sweep(self, _: Cursor) -> None:
        self._swept.set()
        now = asyncio.get_running_loop().time()
        if not self._following and now - self._left_at > _LINGERS_S:
            raise _Idle

    def _pass(self, queue: _Queue, item: AnyEvent | Exception) -> None:
        if not queue.full():
            queue.put_nowait(item)
            return
        self._readers.pop(queue, None)
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)


class _Idle(Exception):  # it is no error
    """Nobody follows the feed."""


def _identity(event: AnyEvent) -> str:
    """Return the event without its cursor, which depends on what its reader has read."""
    return event.model_dump_json(exclude={"cursor"})
