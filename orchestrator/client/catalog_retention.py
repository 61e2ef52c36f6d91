"""Removing catalogs that no mission can need any more: none that the server knows began on them.

A mission that is over can still be rolled back, for as long as the server knows it. Every step may
be repeated, by any number of processes.
"""

import asyncio
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol

from temporalio.client import Client

from orchestrator.adapters.temporal.rollbacks import begun_rollback, described
from orchestrator.messages import names

UNUSED_FOR: Final = timedelta(days=7)
"""A catalog stays so long after a worker last started on it, missions or not."""
EARLIER_MISSIONS: Final = ""
"""Stands for all missions from before catalogs were noted by mission."""
_KINDS: Final = f"WorkflowType IN ('{names.MISSION_WORKFLOW}', '{names.ROLLBACK_WORKFLOW}')"


class PrunableCatalogs(Protocol):
    """Catalogs of which it is known what missions began on them."""

    def unused_since(self, moment: datetime) -> tuple[str, ...]:
        """Digests of those that no worker has started on since."""
        ...

    def oldest_mission_on(self, digest: str) -> tuple[str, datetime] | None:
        """Of the missions that were begun on one and not unpinned, the first, and when it was."""
        ...

    def is_pinned_by(self, mission_id: str) -> bool:
        """Whether it is known on which catalog this mission began."""
        ...

    def unpin(self, digest: str, mission_id: str) -> None:
        """This mission needs its catalog no more."""
        ...

    def remove(self, digest: str, *, unless_used_since: datetime) -> bool:
        """Remove one that no mission needs; whether it was."""
        ...


async def remove_catalogs(
    client: Client, catalogs: PrunableCatalogs, *, now: datetime
) -> tuple[str, ...]:
    """Remove the catalogs that nobody can need; their digests."""
    removed = []
    for digest in await asyncio.to_thread(catalogs.unused_since, now - UNUSED_FOR):
        if await _is_needed(client, catalogs, digest):
            continue
        remove = partial(catalogs.remove, digest, unless_used_since=now - UNUSED_FOR)
        if await asyncio.to_thread(remove):
            removed.append(digest)
    return tuple(removed)


async def _is_needed(client: Client, catalogs: PrunableCatalogs, digest: str) -> bool:
    """Whether the server knows a mission on it; those that it does not are unpinned."""
    while (oldest := await asyncio.to_thread(catalogs.oldest_mission_on, digest)) is not None:
        mission_id, at = oldest
        if mission_id == EARLIER_MISSIONS:
            is_known = await _knows_earlier(client, catalogs, at)
        else:
            is_known = await _knows(client, mission_id)
        if is_known:
            return True
        await asyncio.to_thread(catalogs.unpin, digest, mission_id)
    return False


async def _knows(client: Client, mission_id: str) -> bool:
    if await described(client.get_workflow_handle(mission_id)) is not None:
        return True
    return await begun_rollback(client, mission_id) is not None


async def _knows_earlier(client: Client, catalogs: PrunableCatalogs, moment: datetime) -> bool:
    """Whether a mission or a rollback from before a moment is known, or open under a later run."""
    before = f"{_KINDS} AND StartTime < '{moment.isoformat()}'"
    if (await client.count_workflows(before)).count:
        return True
    async for execution in client.list_workflows(f"{_KINDS} AND ExecutionStatus = 'Running'"):
        mission_id = names.mission_of(execution.id)
        if not await asyncio.to_thread(catalogs.is_pinned_by, mission_id):
            return True
    return False
