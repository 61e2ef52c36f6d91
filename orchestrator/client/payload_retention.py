"""Removing large payloads of workflows whose histories the server no longer keeps.

Every step may be repeated, by any number of processes.
"""

from datetime import datetime, timedelta
from typing import Final

from temporalio.client import Client

from orchestrator.adapters.storage.payload_folder import PayloadFolder
from orchestrator.adapters.temporal.rollbacks import described

_SETTLED: Final = timedelta(days=1)
"""Payloads are kept before the workflow that they are for may be known."""


async def remove_payloads(
    client: Client, folder: PayloadFolder, *, now: datetime
) -> tuple[str, ...]:
    """Remove what no history can name any more; the ids of the workflows."""
    removed = []
    for workflow_id, kept_at in folder.workflows(client.namespace).items():
        if kept_at + _SETTLED >= now:
            continue
        if await described(client.get_workflow_handle(workflow_id)) is None:
            folder.purge(client.namespace, workflow_id)
            removed.append(workflow_id)
    return tuple(removed)
