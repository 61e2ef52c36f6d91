"""A worker's rounds of retention, from its start on and then periodically."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from temporalio.client import Client
from temporalio.service import RPCError

from orchestrator.adapters.storage.files import FOLDER as THOUGHTS
from orchestrator.adapters.storage.files import BegunThoughts
from orchestrator.client.retention import (
    remove_catalogs,
    remove_expired,
    remove_observations,
)
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
    pause = min(_LONGEST_PAUSE, settings.pii_retention / 2)
    rounds = (
        _remove_values,
        _remove_observations,
        _remove_thoughts,
        _remove_catalogs,
        _remove_notices,
    )
    while True:
        for one in rounds:
            try:
                async for line in one(client, settings, store, datetime.now(UTC)):
                    _log.info("%s", line)
            except (OrchestratorError, RPCError, OSError) as error:
                _log.warning("what has expired was not looked through: %s", error)
        await asyncio.sleep(pause.total_seconds())


async def _remove_values(
    client: Client, settings: Settings, store: "Store", now: datetime
) -> AsyncIterator[str]:
    removed = await remove_expired(
        client,
        store.vault,
        settings.pii_retention,
        now=now,
        workflow_of=store.workflow_of,
        sagas=store.saga_workflows,
    )
    if removed.missions or removed.superseded:
        yield (
            f"removed the personal values of {len(removed.missions)} missions, "
            f"and {removed.superseded} superseded ones"
        )


async def _remove_observations(
    client: Client, settings: Settings, store: "Store", now: datetime
) -> AsyncIterator[str]:
    remove = partial(
        remove_observations,
        client,
        retention=settings.pii_retention,
        now=now,
        workflow_of=store.workflow_of,
    )
    if removed := await remove(store.observations):
        yield f"removed the observations of {len(removed)} missions"
    if removed := await remove(store.grants):
        yield f"removed the obligations of {len(removed)} missions that are concluded"


async def _remove_thoughts(
    client: Client, settings: Settings, _store: "Store", now: datetime
) -> AsyncIterator[str]:
    begun = BegunThoughts(settings.state_dir / THOUGHTS)
    if removed := await remove_observations(client, begun, settings.pii_retention, now=now):
        yield f"removed the counts of cut off steps of {len(removed)} missions"


async def _remove_catalogs(
    client: Client, _settings: Settings, store: "Store", now: datetime
) -> AsyncIterator[str]:
    if removed := await remove_catalogs(client, store.catalogs, now=now):
        yield f"removed {len(removed)} catalogs that no mission needs"


async def _remove_notices(
    _client: Client, _settings: Settings, store: "Store", now: datetime
) -> AsyncIterator[str]:
    removed = await asyncio.to_thread(store.notices.remove_before, now - NOTICES_KEPT)
    if removed:
        yield f"removed the records of {removed} deliveries of notices"
