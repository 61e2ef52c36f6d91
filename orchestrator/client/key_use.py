"""Which payload keys the server's workflows and schedules need: those that none needs can go."""

from collections import defaultdict
from collections.abc import Awaitable

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.payload_use import key_ids_of, key_ids_of_schedule
from orchestrator.core.record import Record


class KeyUse(Record):
    """How many workflows need one key, and which schedules do."""

    key_id: str
    """'' of what is not encrypted."""
    open: int
    closed: int
    schedules: tuple[str, ...] = ()
    """By their ids on the server. What they start is encrypted as they were made."""


async def key_use(client: Client) -> list[KeyUse]:
    """The keys of all histories and schedules that the server keeps, by id.

    Those of open workflows and of schedules are needed; what closed ones need is needed as well for
    as long as they are to be read, or rolled back.
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
    """The keys; none of what was removed between the list and the look."""
    try:
        return await asked
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return set()
        raise
