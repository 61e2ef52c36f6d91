"""A worker's rounds of retention, from its start on and then periodically."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from temporalio.client import Client
from temporalio.service import RPCError

from orchestrator.adapters.storage.files import FOLDER as THOUGHTS
from orchestrator.adapters.storage.files import BegunThoughts
from orchestrator.client.retention import remove_catalogs, remove_expired, remove_observations
from orchestrator.core.errors import OrchestratorError
from orchestrator.settings import Settings

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.storage.store import Store

NOTICES_KEPT: Final = timedelta(days=90)
"""How long the record of a delivery stays after its last change."""
_LONGEST_PAUSE: Final = timedelta(hours=1)
_log = logging.getLogger(__name__)


async def keep_retention(client: Client, settings: Settings, store: "Store") -> None:
    """Remove expired data until cancelled; the next round repeats a failed one.

    Every worker of a store searches all of it: the first one removes expired data, and a killed
    worker continues when it is restarted.
    """
    keep, of = settings.pii_retention, store.workflow_of
    begun = BegunThoughts(settings.state_dir / THOUGHTS)

    async def values(now: datetime) -> str:
        removed = await remove_expired(
            client, store.vault, keep, now=now, workflow_of=of, sagas=store.saga_workflows
        )
        missions, superseded = len(removed.missions), removed.superseded
        if not (missions or superseded):
            return ""
        return f"the personal values of {missions} missions, and {superseded} superseded ones"

    async def observations(now: datetime) -> str:
        removed = await remove_observations(
            client, store.observations, keep, now=now, workflow_of=of
        )
        return f"the observations of {len(removed)} missions" if removed else ""

    async def obligations(now: datetime) -> str:
        removed = await remove_observations(client, store.grants, keep, now=now, workflow_of=of)
        concluded = f"{len(removed)} missions that are concluded"
        return f"the obligations of {concluded}" if removed else ""

    async def thoughts(now: datetime) -> str:
        removed = await remove_observations(client, begun, keep, now=now)
        return f"the counts of cut off steps of {len(removed)} missions" if removed else ""

    async def catalogs(now: datetime) -> str:
        removed = await remove_catalogs(client, store.catalogs, now=now)
        return f"{len(removed)} catalogs that no mission needs" if removed else ""

    async def notices(now: datetime) -> str:
        removed = await asyncio.to_thread(store.notices.remove_before, now - NOTICES_KEPT)
        return f"the records of {removed} deliveries of notices" if removed else ""

    while True:
        for remove in (values, observations, obligations, thoughts, catalogs, notices):
            try:
                if removed := await remove(datetime.now(UTC)):
                    _log.info("removed %s", removed)
            except (OrchestratorError, RPCError, OSError) as error:
                _log.warning("what has expired was not looked through: %s", error)
        await asyncio.sleep(min(_LONGEST_PAUSE, keep / 2).total_seconds())
