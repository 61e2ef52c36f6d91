"""Read the actions of workflows from raw history, without a query and without their code.

Payloads are read with the client's data converter, into as few fields as possible: a history that
the present code cannot replay must be readable here.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.mission_converter import LockedInput

T = TypeVar("T")
Payloads = Iterable[Payload]

_FAILED: Final[Mapping[int, str]] = {
    EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: "activity_task_failed_event_attributes",
    EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: "activity_task_timed_out_event_attributes",
    EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED: "activity_task_canceled_event_attributes",
}


async def run_events(client: Client, workflow_id: str, run_id: str) -> AsyncIterator[HistoryEvent]:
    """Yield the events of one run, a page at a time; none if the server no longer has the run."""
    handle = client.get_workflow_handle(workflow_id, run_id=run_id)
    try:
        async for event in handle.fetch_history_events():
            yield event
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise


async def decoded(client: Client, payloads: Payloads, kind: type[T]) -> T | None:
    """Return the first payload as a value of a type; None if there is no payload.

    Raises:
        PayloadLocked: its key is not in this process.
    """
    found = list(payloads)[:1]
    if not found:
        return None
    made: list[T] = await client.data_converter.decode(found, [kind])
    return _opened(made)[0]


async def failure_details(client: Client, failure: Failure) -> list[Any]:
    """Return the details of a failed activity's application error, as JSON; [] if none."""
    while failure.HasField("cause") and not failure.HasField("application_failure_info"):
        failure = failure.cause
    payloads = list(failure.application_failure_info.details.payloads)
    return _opened(await client.data_converter.decode(payloads))


def _opened(values: list[T]) -> list[T]:
    for value in values:
        if isinstance(value, LockedInput):
            raise value.why
    return values


def failure_of(event: HistoryEvent) -> tuple[int, Failure] | None:
    """Return the scheduled event id and failure of an activity that did not complete, or None."""
    name = _FAILED.get(event.event_type)
    if name is None:
        return None
    attributes = getattr(event, name)
    failure = Failure() if name.startswith("activity_task_canceled") else attributes.failure
    return attributes.scheduled_event_id, failure


def time_of(event: HistoryEvent) -> datetime:
    """Return the time of an event."""
    return event.event_time.ToDatetime(UTC)
