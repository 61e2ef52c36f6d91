"""Progress of calls that take long: the attempts that the server reports of pending activities.

It is no part of history, so it has no cursor, and nothing of it stays. It holds no text of a
provider of tools: the name of a failure, not its message. A request to a model has the text of the
answer so far, which the worker sends with its heartbeats.
"""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pydantic import Field
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus

from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.client.connection import Connection
from orchestrator.client.mission_state import history_of
from orchestrator.core.errors import MissionNotFound
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.failure_details import UsageSoFar
from orchestrator.messages.mission import MissionStatus

if TYPE_CHECKING:
    pass

_LONG: Final = timedelta(seconds=2)
"""Shorter calls have no progress: their answer is an event."""
_EVERY_S: Final = 1.0


class CallProgress(Record):
    """A call, a cancel or a request to a model that takes long."""

    what: str = Field(description="what it does, as the Temporal UI shows it")
    attempt: int = Field(description="the current attempt, or the next one, from 1")
    attempts: int = Field(default=0, description="the most attempts; 0: until its deadline")
    since: datetime = Field(description="when this attempt was scheduled")
    next_at: datetime | None = Field(
        default=None, description="when the next attempt begins; None: one is under way"
    )
    failure: str = Field(default="", description="the name of the last attempt's failure")
    text: str = Field(
        default="", description="text of the model in addition to its calls: the end of it so far"
    )

    @property
    def sentence(self) -> str:
        """The progress in words, without its times and the model's text."""
        of = f" of {self.attempts}" if self.attempts else ""
        after = f" after {self.failure}" if self.failure else ""
        return f"{self.what}: attempt {self.attempt}{of}{after}"


async def call_progress(
    connection: Connection, mission: WorkflowExecutionDescription
) -> tuple[CallProgress, ...]:
    """Return the progress of a mission's calls, and of its rollback's."""
    found = await _of_run(connection, mission)
    is_running = mission.status is WorkflowExecutionStatus.RUNNING
    if is_running and mission.typed_search_attributes.get(STATUS) != MissionStatus.ROLLING_BACK:
        return tuple(found)
    rollback_id = names.rollback_workflow_id(mission.id)
    with connection.explaining(mission.id):
        rollback = await described(connection.temporal.get_workflow_handle(rollback_id))
    if rollback is not None:
        found += await _of_run(connection, rollback)
    return tuple(found)


async def progress_changes(
    connection: Connection, mission_id: str
) -> AsyncGenerator[tuple[CallProgress, ...], None]:
    """Yield the progress of a mission's calls each time that it differs, without end."""
    before: tuple[CallProgress, ...] = ()
    while True:
        now = await call_progress(connection, await connection.mission(mission_id))
        if now != before:
            yield now
        before = now
        await asyncio.sleep(_EVERY_S)


async def _of_run(connection: Connection, run: WorkflowExecutionDescription) -> list[CallProgress]:
    now = datetime.now(UTC)  # a run that is over has no pending activities
    long = [
        one
        for one in run.raw_description.pending_activities
        if one.attempt > 1 or now - one.scheduled_time.ToDatetime(tzinfo=UTC) > _LONG
    ]
    if not long:
        return []
    said = await connection.replays.once(
        (run.run_id, run.history_length, "summaries"), lambda: _summaries(connection, run)
    )
    found: list[CallProgress] = []
    for one in long:
        details = await connection.temporal.data_converter.decode(one.heartbeat_details.payloads)
        usage = UsageSoFar.found_in(details)
        waits = one.HasField("next_attempt_schedule_time")
        found.append(
            CallProgress(
                what=said.get(one.activity_id, one.activity_type.name),
                attempt=one.attempt,
                attempts=one.maximum_attempts,
                since=one.scheduled_time.ToDatetime(tzinfo=UTC),
                next_at=one.next_attempt_schedule_time.ToDatetime(tzinfo=UTC) if waits else None,
                failure=one.last_failure.application_failure_info.type,
                text=usage.text if usage and usage.attempt == one.attempt else "",
            )
        )
    return found


async def _summaries(connection: Connection, run: WorkflowExecutionDescription) -> dict[str, str]:
    """Return the summaries of a run's activities, by their ids."""
    found: dict[str, str] = {}
    try:
        events = await history_of(connection, run)
    except MissionNotFound:
        return found
    for event in events:
        activity_id = event.activity_task_scheduled_event_attributes.activity_id
        if activity_id and event.user_metadata.HasField("summary"):
            (text,) = await connection.temporal.data_converter.decode(
                [event.user_metadata.summary], [str]
            )
            found[activity_id] = str(text)
    return found
