"""What a server is told before workflows run: their search attributes, and when to sweep."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleIntervalSpec,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.messages import names
from orchestrator.messages.rollback import SweepInput

_LONGEST_SWEEP = timedelta(hours=1)

INDEXED: Final[Mapping[str, IndexedValueType.ValueType]] = {
    name: {
        "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
        "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
        "Int": IndexedValueType.INDEXED_VALUE_TYPE_INT,
    }[kind]
    for name, kind in names.SEARCH_ATTRIBUTES.items()
}
"""The type of each search attribute, in the words of the server's API."""


async def register_search_attributes(client: Client) -> None:
    """Make the server know the search attributes that workflows set; those it knows are left."""
    known = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    missing = {n: kind for n, kind in INDEXED.items() if n not in known.custom_attributes}
    if missing:
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(namespace=client.namespace, search_attributes=missing)
        )


async def schedule_sweep(client: Client, task_queue: str, interval: timedelta) -> None:
    """Have the server start a sweep at each interval; one that is scheduled already is kept so.

    Any number of workers may do this. An operator's pause stays; zero takes the schedule away.
    """
    schedule_id = names.sweep_schedule_id(task_queue)
    if not interval:
        await _unschedule(client, schedule_id)
        return
    wanted = _sweep_schedule(schedule_id, task_queue, interval)
    try:
        await client.create_schedule(schedule_id, wanted)
    except ScheduleAlreadyRunningError:

        def same_or_new(found: ScheduleUpdateInput) -> ScheduleUpdate | None:
            before = found.description.schedule
            if [spec.every for spec in before.spec.intervals] == [interval]:
                return None
            wanted.state = before.state
            return ScheduleUpdate(wanted)

        await client.get_schedule_handle(schedule_id).update(same_or_new)


def _sweep_schedule(schedule_id: str, task_queue: str, interval: timedelta) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(
            names.SWEEP_WORKFLOW,
            SweepInput(),
            id=schedule_id,
            task_queue=task_queue,
            # One that hangs must not keep all later ones from starting.
            execution_timeout=_LONGEST_SWEEP,
            static_summary="look for missions that were stopped",
        ),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=interval)]),
        # The next sweep finds whatever one that was missed would have found.
        policy=SchedulePolicy(catchup_window=interval),
    )


async def _unschedule(client: Client, schedule_id: str) -> None:
    try:
        await client.get_schedule_handle(schedule_id).delete()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
