"""The store of all workers: catalogs, grants, personal values, observations, and more.

Importing this module imports a database library, which is slow: import it where it is used.
"""

import asyncio
from pathlib import Path
from typing import Final, Self

from orchestrator.adapters.storage.protocols import SAGA_WORKFLOW
from orchestrator.adapters.storage.sql_catalogs import SqlCatalogs
from orchestrator.adapters.storage.sql_grants import SqlGrants
from orchestrator.adapters.storage.sql_notices import SqlNotices
from orchestrator.adapters.storage.sql_observations import SqlObservations
from orchestrator.adapters.storage.sql_routing import PROXY, SqlTraces
from orchestrator.adapters.storage.sql_sign_in import SqlApiTokens, SqlSignOuts
from orchestrator.adapters.storage.sql_vault import SqlVault, VaultKey
from orchestrator.adapters.storage.store_database import StoreDatabase, file_url, migrate, url_of
from orchestrator.core.errors import ObservationMissing
from orchestrator.messages.names import may_be_saga

FILE_NAME: Final = "store.db"
VAULT_FOLDER: Final = "pii"
KEY_NAME: Final = "pii.key"
_PAGE: Final = 500


class Store:
    """The state of all workers in one database; its parts are called from threads.

    Nothing is connected before the first use of a part, which creates the tables or migrates them
    to this release. Each raises StoreUnavailable or StoreRefused if the store cannot be used now,
    or at all.

    `Store(folder)` is a SQLite file in the folder;
    `Store(folder, url="postgresql://me@host/missions", key=VaultKey(...))` serves many machines.
    """

    def __init__(
        self, folder: Path, *, url: str | None = None, key: VaultKey | None = None
    ) -> None:
        """Store the state directory, the URL of a database elsewhere, and the vault's key.

        Raises:
            StoreRefused: the URL names no database.
        """
        place = file_url(folder / FILE_NAME) if url is None else url_of(url)
        self._database = StoreDatabase(place, prepare=migrate)
        self._identity: str | None = None
        self.is_file = self._database.is_file
        """True for a file of this machine, False for a server."""
        self.place = self._database.place
        """The display name: a file, or a URL without its password."""
        self.catalogs = SqlCatalogs(self._database)
        self.grants = SqlGrants(self._database)
        self.observations = SqlObservations(self._database)
        self.vault = SqlVault(self._database, key_file=folder / VAULT_FOLDER / KEY_NAME, key=key)
        self.notices = SqlNotices(self._database)
        self.traces = SqlTraces(self._database)
        self.proxy_traces = SqlTraces(self._database, PROXY)
        self.api_tokens = SqlApiTokens(self._database)
        self.sign_outs = SqlSignOuts(self._database)

    @property
    def identity(self) -> str:
        """The id of this store, created with its tables and stored in them."""
        if self._identity is None:
            self._identity = self._database.identity()
        return self._identity

    def workflow_of(self, mission_id: str) -> str:
        """Return the id of a saga's workflow, as its calls noted it; '' for a mission."""
        if noted := self.grants.ledger(mission_id, concluded=True).workflow_id:
            return noted
        try:
            return self.observations.get(mission_id, SAGA_WORKFLOW).decode()
        except ObservationMissing:
            return ""

    def saga_workflows(self) -> frozenset[str]:
        """Return the ids of workflows with sagas whose calls are not concluded."""
        found: set[str] = set()
        after = ""
        while page := self.grants.unfinished(after=after, most=_PAGE):
            after = page[-1]
            found |= {self.workflow_of(one) for one in page if may_be_saga(one)}
        return frozenset(found - {""})

    def open(self) -> None:
        """Connect and prepare the tables now; StoreRefused if they are of a newer release."""
        self._database.open()

    def check(self) -> None:
        """Run a query; StoreRefused if this key does not decrypt the personal values."""
        self.vault.check_key()

    def close(self) -> None:
        """Close every connection; a later use opens new ones."""
        self._database.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.open)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
