"""Retention: removal of personal values, observations and catalogs that nothing needs.

Removed data is gone: a rollback that needs it afterwards parks, with a message. Every step may be
repeated, by any number of processes.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from temporalio.client import Client, WorkflowExecutionStatus

from orchestrator.adapters.temporal.mission_history import described_owner
from orchestrator.adapters.temporal.rollbacks import BROKEN_OFF, begun_rollback, described
from orchestrator.core.errors import UsageError
from orchestrator.messages import names

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.storage.sql_catalogs import SqlCatalogs
    from orchestrator.adapters.storage.sql_vault import SqlVault

UNUSED_FOR: Final = timedelta(days=7)
"""How long a catalog stays after a worker last started on it, with or without missions."""
_STOPPED: Final = (WorkflowExecutionStatus.TERMINATED, WorkflowExecutionStatus.TIMED_OUT)


@dataclass(frozen=True)
class MissionEnd:
    """The end of a mission, and the reason why its data may still be needed."""

    at: datetime | None = None
    """None: the mission is not over, or the server does not know it."""
    needed: str = ""


@dataclass(frozen=True)
class Removed:
    """The missions whose values a round removed, and the number of superseded values."""

    missions: tuple[str, ...] = ()
    superseded: int = 0


WorkflowOf = Callable[[str], str]
"""Returns the workflow that a saga belongs to, such as `Store.workflow_of`; '' for a mission."""


class KeptOfMissions(Protocol):
    """A store of data by mission, such as an `ObservationStore`."""

    def missions(self) -> Mapping[str, datetime]:
        """Return the missions with data, and when the newest of it was stored."""
        ...

    def purge(self, *mission_ids: str) -> None:
        """Remove all data of these missions."""
        ...


# -- data of missions ------------------------------------------------------------------------------


async def remove_observations(
    client: Client,
    store: KeptOfMissions,
    retention: timedelta,
    *,
    now: datetime,
    workflow_of: WorkflowOf = lambda _: "",
) -> tuple[str, ...]:
    """Remove the data of missions and sagas that have been over for longer than `retention`."""
    kept = await asyncio.to_thread(store.missions)
    expired = await _expired(client, kept, retention, now=now, workflow_of=workflow_of)
    await asyncio.to_thread(store.purge, *expired)
    return expired


async def remove_expired(
    client: Client,
    vault: "SqlVault",
    retention: timedelta,
    *,
    now: datetime,
    workflow_of: WorkflowOf = lambda _: "",
    sagas: Callable[[], Iterable[str]] = tuple,
) -> Removed:
    """Remove the personal values of missions that have been over for longer than `retention`.

    A value of the vault owner is removed that long after another replaced it, unless a mission or a
    saga from before that, or its rollback, is still open; `sagas` returns the workflows of
    unfinished sagas.
    """
    held = await asyncio.to_thread(vault.contents)
    kept = {
        mission_id: max(value.stored_at for value in values)
        for mission_id, values in held.missions().items()
    }
    expired = await _expired(client, kept, retention, now=now, workflow_of=workflow_of)
    if expired:
        await asyncio.to_thread(vault.purge, *expired)
    superseded = 0
    if held.superseded():
        # The oldest mission that is open or has an open rollback. Workflows with sagas count while
        # a saga of theirs has made a call, or waits for a person.
        kinds = f"'{names.MISSION_WORKFLOW}', '{names.ROLLBACK_WORKFLOW}'"
        waits = f"{names.WAITING_FOR_ATTRIBUTE} IS NOT NULL"
        query = f"(WorkflowType IN ({kinds}) OR {waits}) AND ExecutionStatus = 'Running'"
        until = now - retention
        for workflow_id in set(await asyncio.to_thread(sagas)):
            saga = await described(client.get_workflow_handle(workflow_id))
            if saga is not None and saga.status is WorkflowExecutionStatus.RUNNING:
                until = min(until, saga.start_time)
        async for one in client.list_workflows(query):
            mission = await described(client.get_workflow_handle(names.mission_of(one.id)))
            until = min(until, one.start_time, mission.start_time if mission else until)
        superseded = await asyncio.to_thread(vault.drop_superseded, until)
    return Removed(expired, superseded)


async def purge_mission(
    client: Client,
    vault: "SqlVault",
    mission_id: str,
    *,
    observations: KeptOfMissions,
    workflow_of: WorkflowOf = lambda _: "",
    force: bool = False,
) -> tuple[str, ...]:
    """Remove the personal values that a mission brought, and its observations, which may hold them.

    Return the names of the fields. See `MissionClient.purge_personal`.
    """
    end = await end_of(client, mission_id, await asyncio.to_thread(workflow_of, mission_id))
    if end.needed and not force:
        raise UsageError(
            f"{end.needed}, which may need its personal values; without them its calls are not "
            "sent and its rollback parks; to remove them all the same: --force"
        )
    fields = await asyncio.to_thread(vault.purge, mission_id)
    await asyncio.to_thread(observations.purge, mission_id)
    return fields


async def _expired(
    client: Client,
    kept: Mapping[str, datetime],
    retention: timedelta,
    *,
    now: datetime,
    workflow_of: WorkflowOf,
) -> tuple[str, ...]:
    """Return the missions that have been over for longer than `retention`.

    For a mission that the server does not know, the time counts from when its data was stored.
    """
    expired = []
    for mission_id, kept_at in kept.items():
        if kept_at + retention >= now:  # not due before that, so the server is not asked
            continue
        workflow_id = await asyncio.to_thread(workflow_of, mission_id)
        end = await end_of(client, mission_id, workflow_id)
        if not end.needed and (end.at or kept_at) + retention < now:
            expired.append(mission_id)
    return tuple(expired)


async def end_of(client: Client, mission_id: str, workflow_id: str = "") -> MissionEnd:
    """Return when a mission and its rollback ended, according to the server.

    For a saga, the end is that of its workflow, which `workflow_id` names.
    """
    if workflow_id:
        mission = await described_owner(client, mission_id, workflow_id)
    else:
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


# -- catalogs --------------------------------------------------------------------------------------


async def remove_catalogs(
    client: Client, catalogs: "SqlCatalogs", *, now: datetime
) -> tuple[str, ...]:
    """Remove the catalogs with no mission on the server; return their digests."""
    removed = []
    for digest in await asyncio.to_thread(catalogs.unused_since, now - UNUSED_FOR):
        # A mission that is over can still be rolled back while the server knows it.
        while (oldest := await asyncio.to_thread(catalogs.oldest_mission_on, digest)) is not None:
            mission_id, _ = oldest
            if await described(client.get_workflow_handle(mission_id)) is not None:
                break
            if await begun_rollback(client, mission_id) is not None:
                break
            await asyncio.to_thread(catalogs.unpin, digest, mission_id)
        else:
            remove = partial(catalogs.remove, digest, unless_used_since=now - UNUSED_FOR)
            if await asyncio.to_thread(remove):
                removed.append(digest)
    return tuple(removed)
