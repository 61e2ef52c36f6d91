"""Which payload keys recorded workflows need: those that none needs can be taken away."""

from collections import defaultdict

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.payload_use import key_ids_of
from orchestrator.core.record import Record


class KeyUse(Record):
    """How many workflows need one key."""

    key_id: str
    """'' of what is not encrypted."""
    open: int
    closed: int


async def key_use(client: Client) -> list[KeyUse]:
    """The keys of all histories that the server keeps, by id; those of open workflows are needed.

    What closed ones need is needed as well for as long as they are to be read, or rolled back.
    """
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    async for found in client.list_workflows():
        is_closed = found.status is not WorkflowExecutionStatus.RUNNING
        try:
            ids = await key_ids_of(client, found.id, found.run_id)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                continue  # its time was over between the list and the look
            raise
        for key_id in ids:
            counts[key_id][is_closed] += 1
    return [KeyUse(key_id=i, open=n[0], closed=n[1]) for i, n in sorted(counts.items())]
