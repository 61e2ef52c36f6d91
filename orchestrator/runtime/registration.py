"""Registers at the server what workflows need: search attributes, and the sweep's schedule."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import IndexedValueType, TaskQueueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
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
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.activities.boundary import LARGEST_SKEW, skew_fault
from orchestrator.adapters.temporal.payload_codec import key_id_of
from orchestrator.core.errors import OrchestratorError, PayloadLocked, UsageError
from orchestrator.messages import names
from orchestrator.messages.notice import NoticesInput
from orchestrator.messages.rollback import SweepInput
from orchestrator.runtime.worker_state import WorkerState
from orchestrator.settings import Settings

_FIRST_LOOK_S: Final = 1.0
_LONGEST_POLL: Final = timedelta(seconds=70)
"""Maximum duration of one poll, which the server records at its start."""
_LOST: Final = "the Temporal server has lost the search attributes or the schedule of the sweep"
_ROOM: Final = {
    IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD: 10,
    IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST: 3,
    IndexedValueType.INDEXED_VALUE_TYPE_INT: 3,
}
"""Search attributes of each type in a namespace of a server on SQL."""
_log = logging.getLogger(__name__)

INDEXED: Final[Mapping[str, IndexedValueType.ValueType]] = {
    name: {
        "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
        "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
        "Int": IndexedValueType.INDEXED_VALUE_TYPE_INT,
    }[kind]
    for name, kind in names.SEARCH_ATTRIBUTES.items()
}
"""The type of each search attribute, in the server's API."""


async def keep_registered(client: Client, settings: Settings, state: WorkerState) -> None:
    """Check repeatedly until cancelled, as a server may lose all data, and a clock may go wrong.

    The server's clock is read from the time at which it recorded our last poll.
    """
    await asyncio.sleep(_FIRST_LOOK_S)
    poll = timedelta(seconds=2 * _FIRST_LOOK_S)
    while True:
        try:
            await register_lost(client, settings, state)
            await _compare_clock(client, settings.task_queue, state, poll)
        except (OrchestratorError, RPCError) as error:
            # /readyz reports an unavailable server anyway.
            if state.unregistered:
                state.unregistered = f"{_LOST}: {error}"
        poll = _LONGEST_POLL
        await asyncio.sleep(10.0)


async def register_lost(client: Client, settings: Settings, state: WorkerState) -> None:
    """Register again whatever the server has lost."""
    if settings.notices is not None:
        await start_notices(client, settings.task_queue)
    is_lost = bool(await _missing(client))
    if not is_lost and settings.sweep_interval:
        sweep = client.get_schedule_handle(names.sweep_schedule_id(settings.task_queue))
        try:
            await sweep.describe()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            is_lost = True
    if is_lost:
        state.unregistered = _LOST
        _log.warning("%s; they are restored", _LOST)
        await register_search_attributes(client)
        await schedule_sweep(client, settings.task_queue, settings.sweep_interval)
        state.unregistered = ""


async def _compare_clock(
    client: Client, task_queue: str, state: WorkerState, poll: timedelta
) -> None:
    now = datetime.now(UTC)
    described = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=task_queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
    )
    polls = [
        now - poller.last_access_time.ToDatetime(UTC)
        for poller in described.pollers
        if poller.identity == client.identity
    ]
    if polls and (skew := skew_shown(min(polls), poll)) is not None:
        state.compare_clock(skew)


def skew_shown(polled: timedelta, poll: timedelta) -> timedelta | None:
    """Return how far our clock is ahead, if the time since a poll of at most `poll` shows that.

    The start of each activity shows the skews that the poll cannot.
    """
    if polled < timedelta(0):
        return polled
    if polled <= LARGEST_SKEW or skew_fault(polled - poll):
        return max(polled - poll, timedelta(0))
    return None


async def registration_fault(client: Client) -> str | None:
    """Return the fault that keeps new missions from starting at the server; None without one."""
    return _LOST if await _missing(client) else None


async def _missing(client: Client) -> dict[str, IndexedValueType.ValueType]:
    """Return the search attributes that are missing in the namespace."""
    known = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    return {n: kind for n, kind in INDEXED.items() if n not in known.custom_attributes}


async def register_search_attributes(client: Client) -> None:
    """Register the search attributes that workflows set, except those that the server has."""
    if not (missing := await _missing(client)):
        return
    try:
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(namespace=client.namespace, search_attributes=missing)
        )
    except RPCError as error:
        if "cannot have more than" not in error.message:
            raise
        known = await client.operator_service.list_search_attributes(
            ListSearchAttributesRequest(namespace=client.namespace)
        )
        taken = Counter(known.custom_attributes.values())
        wanted = Counter(missing.values())
        full = {kind for kind in wanted if taken[kind] + wanted[kind] > _ROOM.get(kind, 0)}
        named = [name for name in sorted(missing) if missing[name] in (full or wanted)]
        kinds = {names.SEARCH_ATTRIBUTES[name]: taken[missing[name]] for name in named}
        has = " and ".join(f"{count} of type {kind}" for kind, count in kinds.items())
        raise UsageError(
            f"the namespace {client.namespace!r} has no room for the search attributes "
            f"{', '.join(named)}: it has {has} already, and a server on SQL takes 10 of Keyword "
            "and 3 of every other type; remove some that nobody uses (temporal operator "
            "search-attribute remove --name NAME), or use a namespace of its own "
            "(TEMPORAL_NAMESPACE)"
        ) from error


async def start_notices(client: Client, task_queue: str) -> None:
    """Start the workflow that announces cards and questions, unless it runs.

    Any number of workers may do this. One that was terminated begins again, and announces what is
    open; what was announced before keeps its ids, and is not announced twice.
    """
    await client.start_workflow(
        names.NOTICES_WORKFLOW,
        NoticesInput(),
        id=names.notices_workflow_id(task_queue),
        task_queue=task_queue,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        static_summary="announce what waits for people",
    )


async def schedule_sweep(client: Client, task_queue: str, interval: timedelta) -> None:
    """Have the server start a sweep at each interval; an existing schedule is left unchanged.

    Any number of workers may do this. An operator's pause remains; zero removes the schedule.
    """
    schedule_id = names.sweep_schedule_id(task_queue)
    if not interval:
        try:
            await client.get_schedule_handle(schedule_id).delete()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
        return
    wanted = Schedule(
        action=ScheduleActionStartWorkflow(
            names.SWEEP_WORKFLOW,
            SweepInput(),
            id=schedule_id,
            task_queue=task_queue,
            # A hanging sweep must not keep all later ones from starting.
            execution_timeout=timedelta(hours=1),
            static_summary="look for missions that were stopped",
        ),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=interval)]),
        # The next sweep finds everything that a missed one would have found.
        policy=SchedulePolicy(catchup_window=interval),
    )
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
    """Return True if the input of a sweep is encrypted with this worker's key.

    The schedule outlives the keys, and all workers of a queue can read it before they take any
    task: missions are encrypted with the same key as the schedule.

    Raises:
        UsageError: this worker has no such key.
    """
    given = before.action.args if isinstance(before.action, ScheduleActionStartWorkflow) else ()
    written = [payload for payload in given if isinstance(payload, Payload)]
    try:
        await client.data_converter.decode(written)
    except PayloadLocked as locked:
        raise UsageError(
            f"this worker could not read the missions of the task queue {task_queue!r}: {locked}. "
            "Where that key is lost for good, they are lost as well: delete the schedule "
            f"{schedule_id!r}, and start again",
            code="WorkerLacksKey",
        ) from locked
    ours = await client.data_converter.encode([SweepInput()])
    return [key_id_of(payload) for payload in written] == [key_id_of(payload) for payload in ours]
