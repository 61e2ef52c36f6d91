"""What a server is told before workflows run: their search attributes, and when to sweep."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from temporalio.api.common.v1 import Payload
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

from orchestrator.adapters.temporal.payload_codec import key_id_of
from orchestrator.core.payload_errors import PayloadLocked, WorkerLacksKey
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

        async def same_or_new(found: ScheduleUpdateInput) -> ScheduleUpdate | None:
            before = found.description.schedule
            same_key = await _has_our_key(client, before, schedule_id, task_queue)
            if same_key and [spec.every for spec in before.spec.intervals] == [interval]:
                return None
            wanted.state = before.state
            return ScheduleUpdate(wanted)

        await client.get_schedule_handle(schedule_id).update(same_or_new)


async def _has_our_key(client: Client, before: Schedule, schedule_id: str, task_queue: str) -> bool:
    """Whether what a sweep is given is encrypted with the key that this worker encrypts with.

    The schedule outlives the keys, and is the one thing that all workers of a queue can read before
    they take any task: what it is encrypted with, missions are.

    Raises:
        WorkerLacksKey: this worker has no such key.
    """
    given = before.action.args if isinstance(before.action, ScheduleActionStartWorkflow) else ()
    written = [payload for payload in given if isinstance(payload, Payload)]
    try:
        await client.data_converter.decode(written)
    except PayloadLocked as locked:
        raise WorkerLacksKey(task_queue, schedule_id, str(locked)) from locked
    ours = await client.data_converter.encode([SweepInput()])
    return [key_id_of(payload) for payload in written] == [key_id_of(payload) for payload in ours]


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
