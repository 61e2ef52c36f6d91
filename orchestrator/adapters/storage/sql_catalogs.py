"""Catalogs in a database, and which missions need them."""

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from orchestrator.adapters.storage.schema import catalog_pins, catalogs
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.catalog.catalog import Catalog, pack, unpack
from orchestrator.core.errors import CatalogDamaged, CatalogNotFound, UsageError

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_KEPT_IN_MEMORY: Final = 8


class SqlCatalogs:
    """Compiled catalogs, each kept once: two that put the same one put the same."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._compiled = lru_cache(maxsize=_KEPT_IN_MEMORY)(self._read)
        self._damaged: set[str] = set()

    def put(self, catalog: Catalog, *, mission_id: str = "") -> None:
        """See `CatalogStore.put`."""
        if any(tool.document not in catalog.documents for tool in catalog.tools.values()):
            raise UsageError("only a catalog of OpenAPI documents can be kept and called")
        if mission_id and catalog.digest not in self._damaged:
            # Its catalog is there already, but for the first mission on it.
            with suppress(IntegrityError):
                self.pin(catalog.digest, mission_id)
                return
        if catalog.digest in self._damaged or not self._touch(catalog.digest):
            self._write(catalog)
        if mission_id:
            self.pin(catalog.digest, mission_id)

    def get(self, digest: str) -> Catalog:
        """See `CatalogStore.get`."""
        if not _DIGEST.fullmatch(digest):
            raise CatalogNotFound(digest)
        return self._compiled(digest)

    def reread(self, digest: str) -> Catalog:
        """See `CatalogStore.reread`."""
        return self._read(digest)

    # -- pruning ----------------------------------------------------------------------------------

    def unused_since(self, moment: datetime) -> tuple[str, ...]:
        """Digests of catalogs that were last put for no mission in particular before a moment."""
        query = sa.select(catalogs.c.digest).where(catalogs.c.used_at < moment)
        with self._database.read() as connection:
            return tuple(connection.execute(query.order_by(catalogs.c.used_at)).scalars())

    def oldest_mission_on(self, digest: str) -> tuple[str, datetime] | None:
        """Of the missions that were begun on one and not unpinned, the first, and when it was."""
        pins = catalog_pins.c
        query = sa.select(pins.mission_id, pins.pinned_at).where(pins.digest == digest)
        with self._database.read() as connection:
            found = connection.execute(query.order_by(pins.pinned_at).limit(1)).first()
        return None if found is None else (found.mission_id, found.pinned_at)

    def is_pinned_by(self, mission_id: str) -> bool:
        """Whether it is known on which catalog this mission began."""
        query = sa.select(catalog_pins.c.digest).where(catalog_pins.c.mission_id == mission_id)
        with self._database.read() as connection:
            return connection.execute(query.limit(1)).first() is not None

    def unpin(self, digest: str, mission_id: str) -> None:
        """This mission needs its catalog no more."""
        pins = catalog_pins.c
        with self._database.write() as connection:
            connection.execute(
                sa.delete(catalog_pins).where(pins.digest == digest, pins.mission_id == mission_id)
            )

    def remove(self, digest: str, *, unless_used_since: datetime) -> bool:
        """Remove a catalog that no mission needs; whether it was."""
        needed = sa.exists().where(catalog_pins.c.digest == digest)
        old = catalogs.c.used_at < unless_used_since
        unwanted = sa.delete(catalogs).where(catalogs.c.digest == digest, old, ~needed)
        try:
            with self._database.write() as connection:
                return connection.execute(unwanted).rowcount > 0
        except IntegrityError:  # a mission has begun on it this moment
            return False

    def clear(self) -> None:
        """Lose every catalog, whatever needs it: for trying what follows from that."""
        with self._database.write() as connection:
            connection.execute(sa.delete(catalog_pins))
            connection.execute(sa.delete(catalogs))

    # -- the tables -------------------------------------------------------------------------------

    def _touch(self, digest: str) -> bool:
        """Note that it is still in use; whether it is there."""
        used = sa.update(catalogs).where(catalogs.c.digest == digest).values(used_at=_now())
        with self._database.write() as connection:
            return connection.execute(used).rowcount > 0

    def _write(self, catalog: Catalog) -> None:
        # Keys keep the authors' order: it is the order in which schemas are shown.
        text = json.dumps(pack(catalog), separators=(",", ":"), ensure_ascii=False).encode()
        self.keep(catalog.digest, text, at=_now())
        self._damaged.discard(catalog.digest)

    def keep(self, digest: str, content: bytes, *, at: datetime) -> None:
        """Keep a catalog as it was packed; what was under its name goes."""
        with self._database.write() as connection:
            connection.execute(
                self._database.put(catalogs, "content", "used_at"),
                {"digest": digest, "content": content, "used_at": at},
            )

    def pin(self, digest: str, mission_id: str) -> None:
        """Note that this mission may need its catalog; once or again."""
        with self._database.write() as connection:
            connection.execute(
                self._database.insert_new(catalog_pins),
                {"digest": digest, "mission_id": mission_id, "pinned_at": _now()},
            )

    def _read(self, digest: str) -> Catalog:
        query = sa.select(catalogs.c.content).where(catalogs.c.digest == digest)
        with self._database.read() as connection:
            content = connection.execute(query).scalar()
        if content is None:
            raise CatalogNotFound(digest)
        try:
            return unpack(json.loads(bytes(content)), digest)
        except (ValueError, RecursionError) as error:
            self._damaged.add(digest)
            raise CatalogDamaged(digest, self._database.place, str(error)) from error


def _now() -> datetime:
    return datetime.now(UTC)
