"""A worker's rounds of retention: from its start on, and then again and again."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.client import Client
from temporalio.service import RPCError

from orchestrator.client.personal_data import open_vault
from orchestrator.client.personal_retention import remove_expired
from orchestrator.core.errors import OrchestratorError
from orchestrator.settings import Settings

_LONGEST_PAUSE: Final = timedelta(hours=1)
_log = logging.getLogger(__name__)


async def keep_retention(client: Client, settings: Settings) -> None:
    """Remove expired personal values until cancelled; what fails is tried again in the next round.

    The vault is this machine's, so each worker looks after its own, and a worker that was killed
    goes on when it is started again.
    """
    pause = min(_LONGEST_PAUSE, settings.pii_retention / 2)
    while True:
        try:
            removed = await remove_expired(
                client, open_vault(settings), settings.pii_retention, now=datetime.now(UTC)
            )
            if removed.missions or removed.superseded:
                _log.info(
                    "removed the personal values of %d missions, and %d superseded ones",
                    len(removed.missions),
                    removed.superseded,
                )
        except (OrchestratorError, RPCError, OSError) as error:
            _log.warning("personal values were not looked through: %s", error)
        await asyncio.sleep(pause.total_seconds())
