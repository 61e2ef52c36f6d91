"""Removing the personal values that missions brought, once no call of theirs can need them.

What is removed is gone: a rollback that would need it afterwards parks, and says so. Every step may
be repeated, by any number of processes.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from temporalio.client import Client, WorkflowExecutionStatus

from orchestrator.adapters.storage.observation_store import ObservationStore
from orchestrator.adapters.storage.pii_vault import PiiVault
from orchestrator.adapters.temporal.rollbacks import BROKEN_OFF, begun_rollback, described
from orchestrator.core.errors import UsageError
from orchestrator.messages import names

_STOPPED: Final = (WorkflowExecutionStatus.TERMINATED, WorkflowExecutionStatus.TIMED_OUT)


@dataclass(frozen=True)
class MissionEnd:
    """Since when a mission is over, and why its values may still be needed, in a sentence."""

    at: datetime | None = None
    """None: it is not over, or the server does not know it."""
    needed: str = ""


@dataclass(frozen=True)
class Removed:
    """What a round of retention removed."""

    missions: tuple[str, ...] = ()
    superseded: int = 0


async def purge_mission(
    client: Client,
    vault: PiiVault,
    mission_id: str,
    *,
    observations: ObservationStore,
    force: bool = False,
) -> tuple[str, ...]:
    """Remove the personal values that a mission brought, and what it has seen, which may hold them.

    Returns:
        The names of the fields of which it brought values.

    Raises:
        UsageError: they may still be needed, and it was not forced.
    """
    end = await end_of(client, mission_id)
    if end.needed and not force:
        raise UsageError(
            f"{end.needed}, which may need its personal values; without them its calls are not "
            "sent and its rollback parks; to remove them all the same: --force"
        )
    fields = await asyncio.to_thread(vault.purge, mission_id)
    await asyncio.to_thread(observations.purge, mission_id)
    return fields


async def remove_expired(
    client: Client, vault: PiiVault, retention: timedelta, *, now: datetime
) -> Removed:
    """Remove the values of missions that have been over for longer than this time.

    Those of a mission that the server does not know count from when they were stored. The vault
    owner's own values are removed that long after others took their place, unless a mission from
    before that, or its rollback, is still open.
    """
    held = await asyncio.to_thread(vault.contents)
    expired = []
    for mission_id, values in held.missions().items():
        end = await end_of(client, mission_id)
        since = end.at or max(kept.stored_at for kept in values)
        if not end.needed and since + retention < now:
            expired.append(mission_id)
    if expired:
        await asyncio.to_thread(vault.purge, *expired)
    superseded = 0
    if held.superseded():
        until = min(now - retention, await _oldest_open(client, now))
        superseded = await asyncio.to_thread(vault.drop_superseded, until)
    return Removed(tuple(expired), superseded)


async def end_of(client: Client, mission_id: str) -> MissionEnd:
    """When a mission and its rollback were over, as the server says."""
    mission = await described(client.get_workflow_handle(mission_id))
    rollback = await begun_rollback(client, mission_id)
    if rollback is not None and rollback.status is WorkflowExecutionStatus.RUNNING:
        return MissionEnd(needed=f"the rollback of {mission_id} is open")
    if rollback is not None and rollback.status in BROKEN_OFF:
        return MissionEnd(needed=f"the rollback of {mission_id} was broken off")
    if mission is None:
        return MissionEnd(rollback.close_time if rollback is not None else None)
    if mission.status is WorkflowExecutionStatus.RUNNING:
        return MissionEnd(needed=f"mission {mission_id} still runs")
    if mission.status in _STOPPED and rollback is None:
        return MissionEnd(
            mission.close_time, f"mission {mission_id} was stopped and not rolled back"
        )
    ends = [one.close_time for one in (mission, rollback) if one is not None]
    return MissionEnd(max((end for end in ends if end is not None), default=None))


async def _oldest_open(client: Client, now: datetime) -> datetime:
    """When the oldest mission began that is open, or whose rollback is; now without any."""
    kinds = f"'{names.MISSION_WORKFLOW}', '{names.ROLLBACK_WORKFLOW}'"
    query = f"WorkflowType IN ({kinds}) AND ExecutionStatus = 'Running'"
    oldest = now
    async for execution in client.list_workflows(query):
        mission = await described(client.get_workflow_handle(names.mission_of(execution.id)))
        oldest = min(oldest, execution.start_time, mission.start_time if mission else oldest)
    return oldest
