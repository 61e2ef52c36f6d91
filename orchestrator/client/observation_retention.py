"""Removing what missions have seen, once they have been over for as long as their values are kept.

No rollback needs it. Every step may be repeated, by any number of processes.
"""

import asyncio
from datetime import datetime, timedelta

from temporalio.client import Client

from orchestrator.adapters.storage.observation_store import ObservationStore
from orchestrator.client.personal_retention import end_of


async def remove_observations(
    client: Client, store: ObservationStore, retention: timedelta, *, now: datetime
) -> tuple[str, ...]:
    """Remove what is kept of missions that have been over for longer than this time; their ids.

    What is kept of a mission that the server does not know counts from when the last of it was.
    """
    expired = []
    for mission_id, kept_at in (await asyncio.to_thread(store.missions)).items():
        if kept_at + retention >= now:  # it is asked about no sooner than it can be due
            continue
        end = await end_of(client, mission_id)
        if not end.needed and (end.at or kept_at) + retention < now:
            expired.append(mission_id)
    await asyncio.to_thread(store.purge, *expired)
    return tuple(expired)
