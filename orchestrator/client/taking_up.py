"""Whether a worker has begun with a mission: read from what its history has, as it comes."""

import asyncio
from datetime import timedelta
from typing import Final

from temporalio.api.enums.v1 import EventType

from orchestrator.client.connection import Connection
from orchestrator.core import errors

_DONE: Final = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED


async def taken_up(connection: Connection, mission_id: str, *, within: timedelta) -> None:
    """Wait until a worker has done the first task of a mission.

    Raises:
        NoAnswer: none has, in that time.
    """
    handle = connection.temporal.get_workflow_handle(mission_id)
    events = handle.fetch_history_events(wait_new_event=True, skip_archival=True)
    try:
        with connection.explaining(mission_id):
            async with asyncio.timeout(within.total_seconds()):
                async for event in events:
                    if event.event_type == _DONE:
                        return
    except TimeoutError:
        raise errors.NoAnswer(connection.task_queue, within.total_seconds()) from None
