"""The vault of personal values, as the settings name it."""

from orchestrator.adapters.storage.pii_vault import FilePiiVault, VaultKey
from orchestrator.settings import Settings


def open_vault(settings: Settings) -> FilePiiVault:
    """The vault that these settings mean; nothing is read yet."""
    key = None
    if settings.pii_key is not None:
        key = VaultKey("ORCHESTRATOR_PII_KEY", settings.pii_key.get_secret_value())
    elif settings.pii_key_file is not None:
        key = VaultKey("ORCHESTRATOR_PII_KEY_FILE", path=settings.pii_key_file)
    return FilePiiVault(settings.state_dir / "pii", key)
