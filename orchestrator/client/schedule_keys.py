"""What schedules give to their missions, written anew under the payload key that encrypts now.

A schedule outlives the keys: what it starts is encrypted as it was when it was last written.
"""

import asyncio
import logging
from typing import Final

from temporalio.api.common.v1 import Payload
from temporalio.api.workflowservice.v1 import DescribeScheduleRequest, UpdateScheduleRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.payload_codec import key_id_of
from orchestrator.adapters.temporal.payload_references import is_reference
from orchestrator.adapters.temporal.payload_use import payloads_in
from orchestrator.core.payload_errors import PayloadLocked
from orchestrator.messages import names

_log = logging.getLogger(__name__)
_TRIES: Final = 5
"""Of one schedule, where others change it at the same time."""
_PAUSE_S: Final = 0.5


async def renew_schedules(client: Client, task_queue: str) -> tuple[str, ...]:
    """Write anew all schedules of missions of a task queue that need it; their ids.

    What is kept outside of the server's records stays as it is, and where nothing is encrypted
    nothing is written. Every step may be repeated, by any number of workers.
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
            _log.warning("the schedule %s is not encrypted anew: %s", server_id, locked)
    return tuple(names.schedule_id_of(one) or one for one in renewed)


async def _renewed(client: Client, server_id: str, task_queue: str, key_id: str) -> bool:
    """Whether it was written anew.

    The server takes a request up in its own time, and drops it without a word where somebody else
    has changed the schedule meanwhile: so it is looked at again.
    """
    is_sent = False
    for _ in range(_TRIES):
        try:
            if not await _send_anew(client, server_id, task_queue, key_id):
                return is_sent
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            if error.status is not RPCStatusCode.FAILED_PRECONDITION:
                raise
        is_sent = True
        await asyncio.sleep(_PAUSE_S)
    return False  # the next round comes


async def _send_anew(client: Client, server_id: str, task_queue: str, key_id: str) -> bool:
    """Ask the server to record it anew, as it was when it was looked at; False: no need."""
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
    """Payloads as this process would write what they hold."""
    codec = client.data_converter.payload_codec
    if codec is None:
        return payloads
    return await codec.encode(await codec.decode(payloads))
