"""Stores in memory: secrets, personal values, grants, catalogs, traces and observations.

All but secrets and catalogs are the stores of workers, over a database in memory.
"""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import sqlalchemy as sa

from orchestrator.adapters.storage.personal_values import VaultKey, new_key
from orchestrator.adapters.storage.schema import metadata
from orchestrator.adapters.storage.sql_grants import SqlGrants
from orchestrator.adapters.storage.sql_observations import SqlObservations
from orchestrator.adapters.storage.sql_routing import SqlTraces
from orchestrator.adapters.storage.sql_vault import SqlVault
from orchestrator.adapters.storage.store_database import StoreDatabase, url_of
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import CatalogNotFound, ObservationMissing, SecretMissing
from orchestrator.core.pii import Handle


class _MemoryDatabase(StoreDatabase):
    """A database of this process, on whose one connection threads take turns."""

    def __init__(self) -> None:
        super().__init__(url_of("sqlite://"), prepare=_create_tables)
        self._turn = threading.RLock()

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        with self._turn, super().read() as connection:
            yield connection

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sa.Connection]:
        with self._turn, super().write(durable=durable) as connection:
            yield connection

    def _made(self) -> sa.Engine:
        options = {"check_same_thread": False}
        return sa.create_engine(self.url, poolclass=sa.StaticPool, connect_args=options)


def _create_tables(database: StoreDatabase) -> None:
    with database.write() as connection:
        metadata.create_all(connection)


class MemorySecrets:
    """Secrets from a mapping: `MemorySecrets({"payments__token": "t0ken"})`."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def get(self, name: str) -> str:
        """Return a secret.

        Raises:
            SecretMissing: the mapping does not contain it.
        """
        try:
            return self._values[name]
        except KeyError:
            raise SecretMissing(name, "it in MemorySecrets") from None


class MemoryPii(SqlVault):
    """A vault in memory: `MemoryPii({"traveler_id": "T-1009"})`."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        key = VaultKey("MemoryPii", new_key())
        super().__init__(_MemoryDatabase(), key_file=Path(), key=key)
        for field, value in (values or {}).items():
            self.put(field, value)

    def brought(self, mission_id: str, values: Mapping[str, str]) -> dict[str, Handle]:
        """Store the values that a request brings for its mission; return their handles."""
        self.bring(mission_id, values, claim="request")
        return self.handles_of(mission_id, values)


class MadeUpSecrets:
    """Fictitious values for all credentials that documents declare."""

    def get(self, name: str) -> str:
        """Return a value that is equal for equal names."""
        return f"made-up-{name}"


class MemoryGrants(SqlGrants):
    """Used grants, sent calls and cancelled calls, in memory."""

    def __init__(self) -> None:
        super().__init__(_MemoryDatabase())


class MemoryCatalogs:
    """Catalogs in memory."""

    lost: bool = False
    """True while no catalog can be found."""

    def __init__(self) -> None:
        self._kept: dict[str, Catalog] = {}

    def put(self, catalog: Catalog, *, mission_id: str = "") -> None:
        """Store a catalog."""
        self._kept[catalog.digest] = catalog

    def get(self, digest: str) -> Catalog:
        """Return the catalog of that digest.

        Raises:
            CatalogNotFound: the catalog is not stored, or `lost` is set.
        """
        if self.lost or digest not in self._kept:
            raise CatalogNotFound(digest)
        return self._kept[digest]

    def in_memory(self, digest: str) -> Catalog | None:
        """Return the catalog of that digest, unless they are lost."""
        return None if self.lost else self._kept.get(digest)

    def reread(self, digest: str) -> Catalog:
        """Return the catalog of that digest."""
        return self.get(digest)


class MemoryTraces(SqlTraces):
    """Records of selections in memory."""

    def __init__(self) -> None:
        super().__init__(_MemoryDatabase())


class MemoryObservations(SqlObservations):
    """A store of observations in memory that can be lost or full."""

    lost = False
    """True while nothing can be found."""
    is_full = False
    """True while nothing can be stored."""

    def __init__(self) -> None:
        super().__init__(_MemoryDatabase())

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """Store a piece and return True if it was new."""
        if self.is_full:
            raise OSError(28, "No space left on device")
        return super().put(mission_id, key, piece)

    def get(self, mission_id: str, key: str) -> bytes:
        """Return a stored piece.

        Raises:
            ObservationMissing: the piece was not stored, or is lost.
        """
        if self.lost:
            raise ObservationMissing(mission_id, "memory")
        return super().get(mission_id, key)
