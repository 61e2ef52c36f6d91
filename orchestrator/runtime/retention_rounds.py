"""A worker's rounds of retention: from its start on, and then again and again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from temporalio.client import Client
from temporalio.service import RPCError

from orchestrator.client.catalog_retention import remove_catalogs
from orchestrator.client.observation_retention import remove_observations
from orchestrator.client.payload_retention import remove_payloads
from orchestrator.client.payloads import payload_drivers_of
from orchestrator.client.personal_retention import remove_expired
from orchestrator.client.result_retention import KeptRound, keep_results
from orchestrator.client.schedule_keys import renew_schedules
from orchestrator.core.errors import OrchestratorError
from orchestrator.settings import Settings

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.storage.store import Store

_LONGEST_PAUSE: Final = timedelta(hours=1)
_log = logging.getLogger(__name__)


async def keep_retention(client: Client, settings: Settings, store: "Store") -> None:
    """Remove what has expired until cancelled; what fails is tried again in the next round.

    Every worker of a store looks through all of it: whichever comes first removes what is due, and
    one that was killed goes on when it is started again.
    """
    pause = min(_LONGEST_PAUSE, settings.pii_retention / 2)
    rounds: tuple[Callable[[datetime], Awaitable[None]], ...] = (
        lambda now: _remove_values(client, settings, store, now),
        lambda now: _remove_observations(client, settings, store, now),
        lambda now: _remove_catalogs(client, store, now),
        lambda now: _remove_payloads(client, settings, now),
        lambda now: _keep_results(client, settings, store, now),
        lambda now: _renew_schedules(client, settings),
    )
    while True:
        for remove in rounds:
            try:
                await remove(datetime.now(UTC))
            except (OrchestratorError, RPCError, OSError) as error:
                _log.warning("what has expired was not looked through: %s", error)
        await asyncio.sleep(pause.total_seconds())


async def _remove_values(client: Client, settings: Settings, store: "Store", now: datetime) -> None:
    removed = await remove_expired(client, store.vault, settings.pii_retention, now=now)
    if removed.missions or removed.superseded:
        _log.info(
            "removed the personal values of %d missions, and %d superseded ones",
            len(removed.missions),
            removed.superseded,
        )


async def _remove_observations(
    client: Client, settings: Settings, store: "Store", now: datetime
) -> None:
    removed = await remove_observations(client, store.observations, settings.pii_retention, now=now)
    if removed:
        _log.info("removed what %d missions have seen", len(removed))


async def _remove_catalogs(client: Client, store: "Store", now: datetime) -> None:
    removed = await remove_catalogs(client, store.catalogs, now=now)
    if removed:
        _log.info("removed %d catalogs that no mission needs", len(removed))


async def _remove_payloads(client: Client, settings: Settings, now: datetime) -> None:
    for kept in payload_drivers_of(settings):
        removed = await remove_payloads(client, kept, now=now)
        if removed:
            _log.info("removed the large payloads of %d workflows", len(removed))


async def _keep_results(client: Client, settings: Settings, store: "Store", now: datetime) -> None:
    if not settings.keep_results:
        return
    done = await keep_results(
        client, settings.task_queue, store.results, settings.keep_results, now=now
    )
    if done != KeptRound():
        _log.info(
            "kept the results of %d missions, could not read %d, removed %d old ones",
            done.kept,
            done.unread,
            done.removed,
        )


async def _renew_schedules(client: Client, settings: Settings) -> None:
    renewed = await renew_schedules(client, settings.task_queue)
    if renewed:
        _log.info("encrypted anew what these schedules start: %s", ", ".join(renewed))
