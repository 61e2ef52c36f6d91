"""Removing large payloads that no workflow and no schedule of the server can name any more.

Every step may be repeated, by any number of processes.
"""

import asyncio
from datetime import datetime, timedelta
from typing import Final

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.storage.payload_driver import PayloadDriver
from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.messages import names

_SETTLED: Final = timedelta(days=1)
"""Payloads are kept before the workflow that they are for may be known."""


async def remove_payloads(client: Client, kept: PayloadDriver, *, now: datetime) -> tuple[str, ...]:
    """Remove what no history can name any more, and no schedule; the ids that it was kept under."""
    removed = []
    held = await asyncio.to_thread(kept.workflows, client.namespace)
    for workflow_id, kept_at in held.items():
        if kept_at + _SETTLED >= now or await _is_named(client, workflow_id):
            continue
        await asyncio.to_thread(kept.purge, client.namespace, workflow_id)
        removed.append(workflow_id)
    return tuple(removed)


async def _is_named(client: Client, workflow_id: str) -> bool:
    """Whether a workflow of that id is there, or a schedule of missions or one of its runs.

    What a schedule gives to its runs is kept once, under the id that theirs begin with.
    """
    if await described(client.get_workflow_handle(workflow_id)) is not None:
        return True
    if names.schedule_id_of(workflow_id) is None:
        return False
    try:
        await client.get_schedule_handle(workflow_id).describe()
        return True
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
    runs = client.list_workflows(f"WorkflowId STARTS_WITH '{workflow_id}-'", limit=1)
    return any([True async for _ in runs])
