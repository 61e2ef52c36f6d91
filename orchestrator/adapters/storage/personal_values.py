"""Personal values: versions, and the key that encrypts them.

Nothing is overwritten. A value is stored under its version, a keyed commitment to the field, the
value and the mission that it belongs to. The owner's values belong to no mission, and one of each
field is the current one.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography.fernet import Fernet
from pydantic import BaseModel, Field

from orchestrator.core.errors import UsageError
from orchestrator.core.pii import VERSION_LENGTH, Handle
from orchestrator.core.record import Record

OWNER = ""
"""The scope of values that belong to the vault's owner and to no mission."""


class KeptValue(Record):
    """A value of a personal field, and the mission for which it is stored."""

    field: str
    version: str
    value: str
    scope: str = Field(
        default=OWNER, description="the mission that brought it; empty for the owner's own value"
    )
    stored_at: datetime
    superseded_at: datetime | None = Field(
        default=None, description="time at which another value of the owner replaced it"
    )

    @property
    def handle(self) -> Handle:
        """The handle that pins this value and no other."""
        return Handle(self.field, self.version)

    @property
    def is_current(self) -> bool:
        """True if this is the owner's current value of its field."""
        return self.scope == OWNER and self.superseded_at is None


class VaultContents(BaseModel):
    """Everything that a vault holds, as a copy."""

    values: list[KeptValue] = Field(default_factory=list)

    def fields(self) -> tuple[str, ...]:
        """Return the names of the owner's fields, sorted."""
        return tuple(sorted(kept.field for kept in self.values if kept.is_current))

    def missions(self) -> dict[str, tuple[KeptValue, ...]]:
        """Return the values that missions brought, by mission id."""
        found: dict[str, tuple[KeptValue, ...]] = {}
        for kept in self.values:
            if kept.scope != OWNER:
                found[kept.scope] = (*found.get(kept.scope, ()), kept)
        return found

    def superseded(self) -> tuple[KeptValue, ...]:
        """Return the owner's values that were once current."""
        return tuple(k for k in self.values if k.scope == OWNER and k.superseded_at is not None)


@dataclass(frozen=True)
class VaultKey:
    """A vault key from a variable or a file that the settings name."""

    name: str
    """The variable that holds the key or names its file, for errors."""
    value: str = ""
    path: Path | None = None

    def __repr__(self) -> str:
        return f"VaultKey({self.name})"

    def read(self) -> bytes:
        """Return the key.

        Raises:
            UsageError: the file cannot be read, or holds no key.
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
                f"{self.name} is no key of a vault; make one with: orchestrator keys new vault FILE"
            ) from None
        return text.strip().encode()


def new_key() -> str:
    """Return a new random key for a vault."""
    return Fernet.generate_key().decode()


def fingerprint(key: bytes) -> str:
    """Return a digest that identifies a key without revealing it."""
    return hmac.digest(key, b"orchestrator: the key of a vault", hashlib.sha256).hex()[:32]


def commitment(key: bytes, *, scope: str, field: str, value: str) -> str:
    """Return the version of a value: the same for the same value, without revealing it.

    Args:
        key: the vault's; nobody without it can find the value by trying.
        scope: the mission that the value belongs to, or OWNER.
        field: its name.
        value: its content.
    """
    derived = hmac.digest(key, b"orchestrator: versions of personal values", hashlib.sha256)
    covered = json.dumps([scope, field, value]).encode()
    return hmac.digest(derived, covered, hashlib.sha256).hex()[:VERSION_LENGTH]
