"""Pinning: which catalog a new mission keeps to its end."""

from temporalio import activity

from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.messages import names
from orchestrator.messages.mission_policy import CatalogPin


class CatalogActivities:
    """Hands out the worker's current catalog, stored first so that it outlives the worker."""

    def __init__(self, catalog: Catalog, catalogs: CatalogStore) -> None:
        self._catalog = catalog
        self._catalogs = catalogs

    @activity.defn(name=names.PIN_CATALOG)
    async def pin_catalog(self) -> CatalogPin:
        """Store the catalog under its digest, then name it."""
        self._catalogs.put(self._catalog)
        return CatalogPin(digest=self._catalog.digest, size=len(self._catalog))
