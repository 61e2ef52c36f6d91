"""What makes open pages live: server-sent events that name what changed, without its content.

A page reads its own address again when an event arrives, so that every check of the page applies
to what is shown, and no text of a card crosses this stream.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Final

from sse_starlette import ServerSentEvent
from starlette.responses import Response

from orchestrator.client.call_progress import progress_changes
from orchestrator.client.wait_changes import WaitChange, history_changes, wait_changes
from orchestrator.client.waits import workflow_with
from orchestrator.core.errors import MissionNotFound, OrchestratorError
from orchestrator.web import sight
from orchestrator.web.open_streams import interleaved, opened_stream
from orchestrator.web.pages.page import SECURITY_HEADERS, Visit
from orchestrator.web.people import Person
from orchestrator.web.web_service import Service

_log: Final = logging.getLogger(__name__)
_RETRY_MS: Final = 2000

Changes = tuple[WaitChange, ...] | None
"""What changed; None: anything may have."""


class Watch:
    """Looks at what waits once for all open lists, as long as there is one."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._readers: set[asyncio.Queue[Changes]] = set()
        self._looking: asyncio.Task[None] | None = None

    async def stream(self, visit: Visit) -> Response:
        """Stream the changes of what the person sees."""
        return _stream(visit, self._changes(visit.person))

    async def _changes(self, person: Person) -> AsyncGenerator[ServerSentEvent, None]:
        queue: asyncio.Queue[Changes] = asyncio.Queue(100)
        self._readers.add(queue)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            yield ServerSentEvent(retry=_RETRY_MS, comment="open")
            while True:
                changes = await queue.get()
                if changes is None:
                    yield _event("all")
                elif any(_sees(person, one) for one in changes):
                    yield _event("wait")
        finally:
            self._readers.discard(queue)
            if not self._readers and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def _look(self) -> None:
        """Pass changes on to all readers; while the server is away, try again."""
        was_away = False
        while True:
            try:
                async for changes in wait_changes(self._service.client.connection):
                    if was_away:
                        self._pass_on(None)
                    elif changes:
                        self._pass_on(changes)
                    was_away = False
            except OrchestratorError as away:
                _log.warning("open lists are not updated now: %s", away)
                was_away = True
            await asyncio.sleep(2.0)

    def _pass_on(self, changes: Changes) -> None:
        for queue in self._readers:
            # A reader who is that far behind reads its whole page anyway.
            if not queue.full():
                queue.put_nowait(changes)


def _sees(person: Person, change: WaitChange) -> bool:
    is_own = person.sees_all or person.owns(change.requester)
    return is_own or any(map(person.may_decide, change.cards))


async def mission_changes(visit: Visit) -> Response:
    """Stream the changes of one mission, or of the workflow with a saga whose card is open."""
    mission_id = visit.part("mission_id")
    if not await sight.sees(visit.service, visit.person, mission_id):
        raise MissionNotFound(mission_id)
    return _stream(visit, _changes_of(visit.service, mission_id))


async def _changes_of(service: Service, mission_id: str) -> AsyncGenerator[ServerSentEvent, None]:
    since = datetime.now(UTC) - timedelta(seconds=5)  # a page misses none while it loads
    yield ServerSentEvent(retry=_RETRY_MS, comment="open")
    connection = service.client.connection
    workflow_id = await workflow_with(connection, mission_id)
    changes: AsyncGenerator[object, None] = history_changes(connection, workflow_id, since=since)
    if workflow_id == mission_id:
        changes = interleaved(changes, progress_changes(connection, mission_id))
    async with aclosing(changes):
        async for _ in changes:
            yield _event("mission")


def _event(kind: str) -> ServerSentEvent:
    return ServerSentEvent(data=json.dumps({"kind": kind}), event="change")


def _stream(visit: Visit, events: AsyncGenerator[ServerSentEvent, None]) -> Response:
    def on_error(away: OrchestratorError) -> None:  # the browser opens the stream again
        _log.warning("an open page is not updated now: %s", away)

    return opened_stream(
        events,
        visit.service,
        visit.request,
        visit.person,
        on_error=on_error,
        headers=SECURITY_HEADERS,
    )
