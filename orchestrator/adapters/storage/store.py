"""One store for all workers: catalogs, grants, personal values, observations, results, and more.

Making one imports a database library, which takes a while: whoever may do without does it late.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from orchestrator.adapters.storage.migrating import migrate
from orchestrator.adapters.storage.sql_catalogs import SqlCatalogs
from orchestrator.adapters.storage.sql_grants import SqlGrants
from orchestrator.adapters.storage.sql_observations import SqlObservations
from orchestrator.adapters.storage.sql_results import SqlResults
from orchestrator.adapters.storage.sql_traces import PROXY, SqlTraces
from orchestrator.adapters.storage.sql_vault import SqlVault
from orchestrator.adapters.storage.sql_vectors import SqlVectors
from orchestrator.adapters.storage.store_database import StoreDatabase, file_url, url_of
from orchestrator.adapters.storage.taking_over import take_over
from orchestrator.adapters.storage.vault_key import VaultKey
from orchestrator.core.payload_errors import PayloadLost

if TYPE_CHECKING:  # imports Temporal's SDK, which a store does without
    from temporalio.api.common.v1 import Payload

    from orchestrator.adapters.storage.sql_payloads import SqlPayloads

FILE_NAME: Final = "store.db"
VAULT_FOLDER: Final = "pii"
KEY_NAME: Final = "pii.key"


class Store:
    """What workers keep, in one database; its parts are called from threads.

    Nothing is connected before the first use of a part, which makes the tables or brings them to
    this release, and takes over the files that an earlier one left in the state directory.

    `Store(folder)` is a SQLite file in the folder;
    `Store(folder, url="postgresql://me@host/missions", key=VaultKey(...))` serves many machines.
    """

    def __init__(
        self, folder: Path, *, url: str | None = None, key: VaultKey | None = None
    ) -> None:
        """Take the state directory, the database unless it is a file there, and the vault's key.

        Raises:
            StoreRefused: the URL names no database.
        """
        self._folder = folder
        place = file_url(folder / FILE_NAME) if url is None else url_of(url)
        self._database = StoreDatabase(place, prepare=self._prepare)
        self._identity: str | None = None
        self.is_file = self._database.is_file
        """Whether it is a file of this machine, and no server that may come back."""
        self.place = self._database.place
        """What it is called before people: a file, or a URL without its password."""
        self.catalogs = SqlCatalogs(self._database)
        self.grants = SqlGrants(self._database)
        self.observations = SqlObservations(self._database)
        self.results = SqlResults(self._database)
        self.vault = SqlVault(self._database, key_file=folder / VAULT_FOLDER / KEY_NAME, key=key)
        self.vectors = SqlVectors(self._database)
        self.traces = SqlTraces(self._database)
        self.proxy_traces = SqlTraces(self._database, PROXY)

    @property
    def identity(self) -> str:
        """By which this store is known from others: made with its tables, and kept in them.

        Raises:
            StoreUnavailable, StoreRefused: it cannot be read.
        """
        if self._identity is None:
            self._identity = self._database.identity()
        return self._identity

    def payloads(self, *, marked: "Callable[[PayloadLost], Payload]") -> "SqlPayloads":
        """Its large payloads, as Temporal's SDK keeps and reads them.

        Args:
            marked: what is to stand in the place of one that cannot be given.
        """
        from orchestrator.adapters.storage.sql_payloads import SqlPayloads

        return SqlPayloads(self._database, marked=marked)

    def open(self) -> None:
        """Connect, and have all prepared that a first use would.

        Raises:
            StoreUnavailable, StoreRefused: it cannot be used now, or at all.
            StoreNewer: its tables are of a newer release.
        """
        self._database.open()

    def check(self) -> None:
        """Have it answer.

        Raises:
            StoreUnavailable, StoreRefused, StoreNewer: it does not.
        """
        self._database.check()

    def close(self) -> None:
        """Close every connection; a later use opens new ones."""
        self._database.close()

    async def __aenter__(self) -> Self:
        """Open it beside the event loop."""
        await asyncio.to_thread(self.open)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        """Open it."""
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _prepare(self, database: StoreDatabase) -> None:
        migrate(database)
        take_over(self._folder, database, self)
