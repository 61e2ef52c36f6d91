"""The store that the settings name."""

from typing import TYPE_CHECKING

from orchestrator.core.errors import UsageError
from orchestrator.settings import Settings

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.storage.pii_vault import PiiVault
    from orchestrator.adapters.storage.store import Store
    from orchestrator.adapters.storage.vault_key import VaultKey


def store_of(settings: Settings) -> "Store":
    """The store that these settings mean; nothing is connected yet.

    Raises:
        StoreRefused: they name none.
        UsageError: the file that holds its URL cannot be read.
    """
    from orchestrator.adapters.storage.store import Store

    return Store(settings.state_dir, url=url_of_store(settings), key=vault_key_of(settings))


def open_vault(settings: Settings) -> "PiiVault":
    """The vault of that store; nothing is read yet."""
    return store_of(settings).vault


def url_of_store(settings: Settings) -> str | None:
    """The URL that they name, with its password; None: a file of the state directory.

    Raises:
        UsageError: the file that holds it cannot be read.
    """
    if settings.store is not None:
        return settings.store.get_secret_value()
    if settings.store_file is None:
        return None
    from orchestrator.adapters.storage.store_database import is_url

    if is_url(str(settings.store_file)):
        raise UsageError(
            "ORCHESTRATOR_STORE_FILE names a file that holds a URL; ORCHESTRATOR_STORE takes a URL"
        )
    try:
        return settings.store_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"ORCHESTRATOR_STORE_FILE: {settings.store_file} cannot be read") from None


def vault_key_of(settings: Settings) -> "VaultKey | None":
    """Where the vault's key comes from; None: from the file beside a SQLite store."""
    from orchestrator.adapters.storage.vault_key import VaultKey

    if settings.pii_key is not None:
        return VaultKey("ORCHESTRATOR_PII_KEY", settings.pii_key.get_secret_value())
    if settings.pii_key_file is not None:
        return VaultKey("ORCHESTRATOR_PII_KEY_FILE", path=settings.pii_key_file)
    return None
