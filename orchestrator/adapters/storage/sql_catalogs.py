"""Catalogs in a database, and the missions that need them."""

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from orchestrator.adapters.storage.protocols import catalog_missing
from orchestrator.adapters.storage.schema import catalog_pins, catalogs
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.catalog.catalog import Catalog, pack, unpack
from orchestrator.core.errors import CatalogNotFound, UsageError

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_KEPT_IN_MEMORY: Final = 8


class SqlCatalogs:
    """A `CatalogStore`: each compiled catalog is stored once."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._compiled: dict[str, Catalog] = {}
        self._damaged: set[str] = set()

    def put(self, catalog: Catalog, *, mission_id: str = "") -> None:
        """See `CatalogStore.put`."""
        if any(tool.document not in catalog.documents for tool in catalog.tools.values()):
            raise UsageError("only a catalog of OpenAPI documents can be kept and called")
        if mission_id and catalog.digest not in self._damaged:
            # The catalog usually exists: only its first mission has to store it.
            with suppress(IntegrityError):
                self.pin(catalog.digest, mission_id)
                return
        if catalog.digest in self._damaged or not self._touch(catalog.digest):
            # Keys retain the authors' order, in which schemas are shown.
            text = json.dumps(pack(catalog), separators=(",", ":"), ensure_ascii=False).encode()
            self.keep(catalog.digest, text, at=datetime.now(UTC))
            self._damaged.discard(catalog.digest)
        if mission_id:
            self.pin(catalog.digest, mission_id)

    def get(self, digest: str) -> Catalog:
        """See `CatalogStore.get`."""
        if (known := self.in_memory(digest)) is not None:
            return known
        if not _DIGEST.fullmatch(digest):
            raise catalog_missing(digest)
        catalog = self._compiled.setdefault(digest, self._read(digest))
        for oldest in [*self._compiled][:-_KEPT_IN_MEMORY]:
            self._compiled.pop(oldest, None)
        return catalog

    def in_memory(self, digest: str) -> Catalog | None:
        """See `CatalogStore.in_memory`."""
        return self._compiled.get(digest)

    def reread(self, digest: str) -> Catalog:
        """See `CatalogStore.reread`."""
        return self._read(digest)

    # -- pruning ----------------------------------------------------------------------------------

    def unused_since(self, moment: datetime) -> tuple[str, ...]:
        """Return digests of catalogs that no worker has started on since a moment."""
        query = sa.select(catalogs.c.digest).where(catalogs.c.used_at < moment)
        found = self._database.fetch(query.order_by(catalogs.c.used_at))
        return tuple(row.digest for row in found)

    def oldest_mission_on(self, digest: str) -> tuple[str, datetime] | None:
        """Return the first mission pinned to a catalog, and when it was; None if there is none."""
        pins = catalog_pins.c
        query = sa.select(pins.mission_id, pins.pinned_at).where(pins.digest == digest)
        found = self._database.fetch(query.order_by(pins.pinned_at).limit(1))
        return (found[0].mission_id, found[0].pinned_at) if found else None

    def pinned_by(self, mission_id: str) -> str | None:
        """Return the digest of the catalog that was pinned last for this mission; None: none."""
        pins = catalog_pins.c
        query = sa.select(pins.digest).where(pins.mission_id == mission_id)
        found = self._database.fetch(query.order_by(pins.pinned_at.desc()).limit(1))
        return found[0].digest if found else None

    def unpin(self, digest: str, mission_id: str) -> None:
        """Record that this mission no longer needs its catalog."""
        pins = catalog_pins.c
        pin = sa.and_(pins.digest == digest, pins.mission_id == mission_id)
        self._database.run(sa.delete(catalog_pins).where(pin))

    def remove(self, digest: str, *, unless_used_since: datetime) -> bool:
        """Remove a catalog that no mission needs; return False if it stays."""
        needed = sa.exists().where(catalog_pins.c.digest == digest)
        old = catalogs.c.used_at < unless_used_since
        unwanted = sa.delete(catalogs).where(catalogs.c.digest == digest, old, ~needed)
        try:
            return self._database.run(unwanted) > 0
        except IntegrityError:  # a mission has begun on it meanwhile
            return False

    def clear(self) -> None:
        """Remove every catalog, needed or not: for tests of its loss."""
        with self._database.write() as connection:
            connection.execute(sa.delete(catalog_pins))
            connection.execute(sa.delete(catalogs))

    # -- the tables -------------------------------------------------------------------------------

    def _touch(self, digest: str) -> bool:
        """Record that a catalog is in use; return False if it does not exist."""
        used = sa.update(catalogs).where(catalogs.c.digest == digest)
        return self._database.run(used.values(used_at=datetime.now(UTC))) > 0

    def keep(self, digest: str, content: bytes, *, at: datetime) -> None:
        """Store a packed catalog; it replaces an earlier one of the same digest."""
        row = {"digest": digest, "content": content, "used_at": at}
        self._database.run(self._database.put(catalogs, "content", "used_at"), row)

    def pin(self, digest: str, mission_id: str) -> None:
        """Record that this mission may need its catalog; idempotent."""
        row = {"digest": digest, "mission_id": mission_id, "pinned_at": datetime.now(UTC)}
        self._database.run(self._database.insert_new(catalog_pins), row)

    def _read(self, digest: str) -> Catalog:
        found = self._database.fetch(
            sa.select(catalogs.c.content).where(catalogs.c.digest == digest)
        )
        if not found:
            raise catalog_missing(digest)
        try:
            return unpack(json.loads(bytes(found[0].content)), digest)
        except (ValueError, RecursionError) as error:
            self._damaged.add(digest)
            reason = (
                f"the catalog {digest:.12} in {self._database.place} is damaged: {error}; restore "
                "it, or start a worker on its documents, which writes it again"
            )
            raise CatalogNotFound(reason, code="CatalogDamaged", digest=digest) from error
