"""Removing large payloads of workflows whose histories the server no longer keeps.

Every step may be repeated, by any number of processes.
"""

import asyncio
from datetime import datetime, timedelta
from typing import Final

from temporalio.client import Client

from orchestrator.adapters.storage.payload_driver import PayloadDriver
from orchestrator.adapters.temporal.rollbacks import described

_SETTLED: Final = timedelta(days=1)
"""Payloads are kept before the workflow that they are for may be known."""


async def remove_payloads(client: Client, kept: PayloadDriver, *, now: datetime) -> tuple[str, ...]:
    """Remove what no history can name any more; the ids of the workflows."""
    removed = []
    held = await asyncio.to_thread(kept.workflows, client.namespace)
    for workflow_id, kept_at in held.items():
        if kept_at + _SETTLED >= now:
            continue
        if await described(client.get_workflow_handle(workflow_id)) is None:
            await asyncio.to_thread(kept.purge, client.namespace, workflow_id)
            removed.append(workflow_id)
    return tuple(removed)
