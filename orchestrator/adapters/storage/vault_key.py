"""The key of a vault: where it comes from, and whether it is the one that sealed what is kept."""

import hashlib
import hmac
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet

from orchestrator.core.errors import UsageError


@dataclass(frozen=True)
class VaultKey:
    """Where the key of a vault comes from, when it is not in the file beside the vault."""

    name: str
    """What to call it in an error: the variable that holds it, or that names its file."""
    value: str = ""
    path: Path | None = None

    def __repr__(self) -> str:
        return f"VaultKey({self.name})"

    def read(self) -> bytes:
        """The key.

        Raises:
            UsageError: the file cannot be read, or it is no key.
        """
        text = self.value
        if self.path is not None:
            try:
                text = self.path.read_text(encoding="ascii")
            except (OSError, UnicodeDecodeError):
                raise UsageError(f"{self.name}: {self.path} cannot be read") from None
        try:
            Fernet(text.strip().encode())
        except ValueError:
            raise UsageError(
                f"{self.name} is no key of a vault; make one with: orchestrator pii new-key FILE"
            ) from None
        return text.strip().encode()


def new_key() -> str:
    """A key for a vault."""
    return Fernet.generate_key().decode()


def fingerprint(key: bytes) -> str:
    """By which a key is known again, and which tells nothing of it."""
    return hmac.digest(key, b"orchestrator: the key of a vault", hashlib.sha256).hex()[:32]
