"""Pinning: which catalog a new mission keeps to its end; and waiting for a worker that has it."""

import asyncio

from temporalio import activity

from activities.boundary import lacking_error, translated_errors
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import CatalogNotFound, StateLacking
from orchestrator.messages import names
from orchestrator.messages.lacking import LackingState
from orchestrator.messages.mission_policy import CatalogPin


class CatalogActivities:
    """Hands out the worker's current catalog, stored first so that it outlives the worker."""

    def __init__(self, catalog: Catalog, catalogs: CatalogStore, *, by_rules: bool = False) -> None:
        self._by_rules = by_rules
        self._catalog = catalog
        self._catalogs = catalogs

    @activity.defn(name=names.PIN_CATALOG)
    async def pin_catalog(self) -> CatalogPin:
        """Store the catalog under its digest, then name it."""
        mission_id = activity.info().workflow_id or ""
        with translated_errors():
            await asyncio.to_thread(self._catalogs.put, self._catalog, mission_id=mission_id)
        return CatalogPin(
            digest=self._catalog.digest, size=len(self._catalog), by_rules=self._by_rules
        )

    @activity.defn(name=names.AWAIT_STATE)
    async def await_state(self, lacking: LackingState) -> None:
        """Find out whether what was lacking is there for this worker: in the store itself.

        Raises:
            ApplicationError: it is not; to be tried again, until a person has mended it.
        """
        try:
            await asyncio.to_thread(self._look, lacking.catalog)
        except StateLacking as error:
            raise lacking_error(error) from error

    def _look(self, digest: str) -> None:
        try:
            self._catalogs.reread(digest or _NO_CATALOG)
        except CatalogNotFound:
            if digest:
                raise  # else the store has answered, and that was to be found out


_NO_CATALOG = "0" * 64
"""A digest that no catalog has: whoever answers that it is not there has answered."""
