"""A worker's rounds of retention: from its start on, and then again and again."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.client import Client
from temporalio.service import RPCError

from orchestrator.adapters.storage.observation_store import FOLDER_NAME as OBSERVATIONS
from orchestrator.adapters.storage.observation_store import FileObservations
from orchestrator.client.observation_retention import remove_observations
from orchestrator.client.personal_retention import remove_expired
from orchestrator.client.vault import open_vault
from orchestrator.core.errors import OrchestratorError
from orchestrator.settings import Settings

_LONGEST_PAUSE: Final = timedelta(hours=1)
_log = logging.getLogger(__name__)


async def keep_retention(client: Client, settings: Settings) -> None:
    """Remove what has expired until cancelled; what fails is tried again in the next round.

    The vault and the store of observations are this machine's, so each worker looks after its own,
    and a worker that was killed goes on when it is started again.
    """
    pause = min(_LONGEST_PAUSE, settings.pii_retention / 2)
    while True:
        for remove in (_remove_values, _remove_observations):
            try:
                await remove(client, settings, datetime.now(UTC))
            except (OrchestratorError, RPCError, OSError) as error:
                _log.warning("what has expired was not looked through: %s", error)
        await asyncio.sleep(pause.total_seconds())


async def _remove_values(client: Client, settings: Settings, now: datetime) -> None:
    removed = await remove_expired(client, open_vault(settings), settings.pii_retention, now=now)
    if removed.missions or removed.superseded:
        _log.info(
            "removed the personal values of %d missions, and %d superseded ones",
            len(removed.missions),
            removed.superseded,
        )


async def _remove_observations(client: Client, settings: Settings, now: datetime) -> None:
    store = FileObservations(settings.state_dir / OBSERVATIONS)
    removed = await remove_observations(client, store, settings.pii_retention, now=now)
    if removed:
        _log.info("removed what %d missions have seen", len(removed))
