"""Rotation of payload keys: shows which keys are needed, and renews schedules.

A schedule outlives keys: the input of its missions stays encrypted with the key of its last write.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable
from typing import Final

from temporalio.api.common.v1 import Payload
from temporalio.api.workflowservice.v1 import DescribeScheduleRequest, UpdateScheduleRequest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.payload_codec import key_id_of
from orchestrator.adapters.temporal.payload_references import is_reference
from orchestrator.adapters.temporal.payload_use import (
    key_ids_of,
    key_ids_of_schedule,
    payloads_in,
)
from orchestrator.core.errors import PayloadLocked
from orchestrator.core.record import Record
from orchestrator.messages import names

_log = logging.getLogger(__name__)
_TRIES: Final = 5
"""Attempts per schedule, in case others change it at the same time."""
_PAUSE_S: Final = 0.5


class KeyUse(Record):
    """The numbers of workflows and the schedules that need one key."""

    key_id: str
    """Empty for data that is not encrypted."""
    open: int
    closed: int
    schedules: tuple[str, ...] = ()
    """Ids on the server."""


async def key_use(client: Client) -> list[KeyUse]:
    """Return the keys of all histories and schedules on the server, sorted by id.

    Open workflows and schedules need their keys; closed workflows need theirs to be read or rolled
    back.
    """
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    async for found in client.list_workflows():
        is_closed = found.status is not WorkflowExecutionStatus.RUNNING
        for key_id in await _known(key_ids_of(client, found.id, found.run_id)):
            counts[key_id][is_closed] += 1
    schedules: defaultdict[str, list[str]] = defaultdict(list)
    async for one in await client.list_schedules():
        for key_id in await _known(key_ids_of_schedule(client, one.id)):
            schedules[key_id].append(one.id)
    return [
        KeyUse(
            key_id=key_id,
            open=counts[key_id][False],
            closed=counts[key_id][True],
            schedules=tuple(sorted(schedules[key_id])),
        )
        for key_id in sorted(counts.keys() | schedules.keys())
    ]


async def _known(asked: Awaitable[set[str]]) -> set[str]:
    """Return the keys; none for a history that was removed after it was listed."""
    try:
        return await asked
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return set()
        raise


async def renew_schedules(client: Client, task_queue: str) -> tuple[str, ...]:
    """Encrypt all schedules of a task queue with the newest key; return the ids that changed.

    Payloads in external storage stay unchanged, and without encryption nothing is written. Every
    step may be repeated, by any number of workers.
    """
    (probe,) = await _written(client, [Payload()])
    key_id = key_id_of(probe)
    if key_id is None:
        return ()
    found = [one.id async for one in await client.list_schedules() if names.schedule_id_of(one.id)]
    renewed = []
    for server_id in found:
        try:
            if await _renewed(client, server_id, task_queue, key_id):
                renewed.append(server_id)
        except PayloadLocked as locked:
            _log.warning("the schedule %s is not encrypted again: %s", server_id, locked)
    return tuple(names.schedule_id_of(one) or one for one in renewed)


async def _renewed(client: Client, server_id: str, task_queue: str, key_id: str) -> bool:
    """Return True if a schedule was rewritten.

    The server applies a request later, and silently drops it if somebody else has changed the
    schedule meanwhile, so the schedule is read again.
    """
    is_sent = False
    for _ in range(_TRIES):
        try:
            if not await _rewrite(client, server_id, task_queue, key_id):
                return is_sent
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            if error.status is not RPCStatusCode.FAILED_PRECONDITION:
                raise
        is_sent = True
        await asyncio.sleep(_PAUSE_S)
    return False  # the next round tries again


async def _rewrite(client: Client, server_id: str, task_queue: str, key_id: str) -> bool:
    """Rewrite a schedule unchanged under the newest key; return False if it needs no rewrite."""
    named = DescribeScheduleRequest(namespace=client.namespace, schedule_id=server_id)
    found = await client.workflow_service.describe_schedule(named)
    starts = found.schedule.action.start_workflow
    is_ours = starts.workflow_type.name == names.SCHEDULED_MISSION_WORKFLOW
    if not is_ours or starts.task_queue.name != task_queue:
        return False
    recorded = (one for one in payloads_in(found.schedule.action) if not is_reference(one))
    old = [one for one in recorded if key_id_of(one) != key_id]
    if not old:
        return False
    for before, after in zip(old, await _written(client, old), strict=True):
        before.CopyFrom(after)
    await client.workflow_service.update_schedule(
        UpdateScheduleRequest(
            namespace=client.namespace,
            schedule_id=server_id,
            schedule=found.schedule,
            conflict_token=found.conflict_token,
            identity=client.identity,
        )
    )
    return True


async def _written(client: Client, payloads: list[Payload]) -> list[Payload]:
    """Return payloads re-encoded by this process."""
    codec = client.data_converter.payload_codec
    if codec is None:
        return payloads
    return await codec.encode(await codec.decode(payloads))
