"""The store that the settings name, and the missions' files in it."""

import asyncio
from typing import TYPE_CHECKING

from pydantic import Field

from orchestrator.core.errors import UsageError
from orchestrator.core.received_files import ReceivedFile
from orchestrator.settings import Settings

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.storage.sql_vault import SqlVault
    from orchestrator.adapters.storage.store import Store


def store_of(settings: Settings) -> "Store":
    """Return the store of these settings, not yet connected.

    Raises:
        StoreRefused: the settings name none.
        UsageError: the file that holds its URL cannot be read.
    """
    from orchestrator.adapters.storage.sql_vault import VaultKey
    from orchestrator.adapters.storage.store import Store
    from orchestrator.adapters.storage.store_database import is_url

    url, file = None, settings.store_file  # without either: a file in the state directory
    if settings.store is not None:
        url = settings.store.get_secret_value()
    elif file is not None:
        if is_url(str(file)):
            raise UsageError(
                "ORCHESTRATOR_STORE_FILE names a file that holds a URL; ORCHESTRATOR_STORE takes "
                "a URL"
            )
        try:
            url = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise UsageError(f"ORCHESTRATOR_STORE_FILE: {file} cannot be read") from None
    key = None  # the file next to a SQLite store
    if settings.pii_key is not None:
        key = VaultKey("ORCHESTRATOR_PII_KEY", settings.pii_key.get_secret_value())
    elif settings.pii_key_file is not None:
        key = VaultKey("ORCHESTRATOR_PII_KEY_FILE", path=settings.pii_key_file)
    return Store(settings.state_dir, url=url, key=key)


def open_vault(settings: Settings) -> "SqlVault":
    """Return the vault of the configured store; nothing is read yet."""
    return store_of(settings).vault


class KeptFile(ReceivedFile):
    """A file that a mission received, with its bytes."""

    content: bytes = Field(repr=False)


async def mission_file(settings: Settings, mission_id: str, handle: str) -> KeptFile:
    """Return a file of a mission by its handle, even if the server no longer knows the mission."""
    from orchestrator.adapters.storage.sql_observations import MissionFiles

    async with store_of(settings) as store:
        found = await asyncio.to_thread(MissionFiles(store.observations).read, mission_id, handle)
    if found is None:
        raise UsageError(
            f"mission {mission_id} has no file {handle}; its answers and its results name what it "
            "has, for as long as what it has seen is kept (ORCHESTRATOR_PII_RETENTION)"
        )
    received, content = found
    return KeptFile(**received.model_dump(), content=content)
