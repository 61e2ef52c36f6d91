"""Pin the catalog of a new mission, and wait for a worker with a catalog or a key."""

import asyncio
from collections.abc import Callable

from temporalio import activity
from temporalio.exceptions import ApplicationError

from orchestrator.activities.boundary import ServerTime, missing_state_error, translated_errors
from orchestrator.activities.fair_slots import FairSlots
from orchestrator.adapters.storage.protocols import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import NOT_IN_TIME, CatalogNotFound, StateMissing
from orchestrator.messages import names
from orchestrator.messages.failure_details import KeyProbe, MissingState
from orchestrator.messages.mission_policy import CatalogPin


@activity.defn(name=names.AWAIT_KEY)
async def await_key(probe: KeyProbe) -> None:
    """Do nothing: a worker that runs this activity has the key."""


class CatalogActivities:
    """Pins the worker's current catalog, stored first so that the catalog outlives the worker."""

    def __init__(
        self,
        catalog: Catalog,
        catalogs: CatalogStore,
        *,
        by_rules: bool = False,
        observes: bool = False,
        slots: FairSlots | None = None,
        check_store: Callable[[], None] = lambda: None,
    ) -> None:
        self._check_store = check_store
        self._slots = slots or FairSlots()
        self._by_rules = by_rules
        self._observes = observes
        self._catalog = catalog
        self._catalogs = catalogs

    @activity.defn(name=names.PIN_CATALOG)
    async def pin_catalog(self) -> CatalogPin:
        """Store the catalog under its digest, then return its pin."""
        mission_id = activity.info().workflow_id or ""
        with translated_errors():
            await asyncio.to_thread(self._catalogs.put, self._catalog, mission_id=mission_id)
        return CatalogPin(
            digest=self._catalog.digest,
            size=len(self._catalog),
            by_rules=self._by_rules,
            observes=self._observes,
        )

    @activity.defn(name=names.AWAIT_STATE)
    async def await_state(self, missing: MissingState) -> None:
        """Check for missing state: in the store itself, for a free slot, and for a correct clock.

        Raises:
            ApplicationError: the state is still missing; retried until it is there.
        """
        try:
            if missing.error_type == NOT_IN_TIME:
                ServerTime().check()
            if missing.provider:
                self._slots.check(missing.provider, missing.mission_id)
            await asyncio.to_thread(self._look, missing.catalog)
        except StateMissing as error:
            last = missing_state_error(error)
            raise ApplicationError(
                last.message, *last.details, type=last.type, category=last.category
            ) from error

    def _look(self, digest: str) -> None:
        self._check_store()
        try:
            self._catalogs.reread(digest or _NO_CATALOG)
        except CatalogNotFound:
            if digest:
                raise  # without a digest, the store's answer is proof that it is available


_NO_CATALOG = "0" * 64
"""A digest that no catalog has: a store that reports it missing has answered."""
