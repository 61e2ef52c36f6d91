"""Catalogs kept by their digest, so that a mission keeps the one it began with."""

from typing import Protocol

from orchestrator.catalog.catalog import Catalog


class CatalogStore(Protocol):
    """Where compiled catalogs are, for every worker that may have to go on with a mission.

    All of it may be called from several threads and processes at once, and again after a death.
    """

    def put(self, catalog: Catalog, *, mission_id: str = "") -> None:
        """Keep a catalog, for as long as this mission may need it where one is named.

        Putting it again heals one that was lost or damaged.

        Raises:
            UsageError: some tool comes from no document, so it could not be called.
            StoreUnavailable: nothing can be kept now.
        """
        ...

    def get(self, digest: str) -> Catalog:
        """The catalog of that digest; the last few stay in memory.

        Raises:
            CatalogNotFound: none is kept.
            CatalogDamaged: what is kept under that name is not it.
            StoreUnavailable: nobody knows now whether it is.
        """
        ...

    def reread(self, digest: str) -> Catalog:
        """The same, from the store and not from memory; raises as `get` does."""
        ...
