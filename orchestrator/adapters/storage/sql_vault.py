"""The vault of personal fields in a database: values are encrypted, names and versions are not.

Nothing is overwritten. A value is stored under its version, a keyed commitment to the field, the
value and the mission that it belongs to. The owner's values belong to no mission, and one of each
field is the current one.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from cryptography.fernet import Fernet, InvalidToken
from pydantic import BaseModel, Field

from orchestrator.adapters.storage.files import create_file, private_folder
from orchestrator.adapters.storage.schema import facts, personal_claims, personal_values
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.core.errors import PiiMissing, StoreRefused, UsageError
from orchestrator.core.pii import VERSION_LENGTH, Handle, check_entry
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
        """Return the key, or raise UsageError: the file cannot be read, or holds no key."""
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
                f"{self.name} is no key of a vault; make one with: orchestrator key vault FILE"
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

    Nobody without the vault's key can find the value by trying.
    """
    derived = hmac.digest(key, b"orchestrator: versions of personal values", hashlib.sha256)
    covered = json.dumps([scope, field, value]).encode()
    return hmac.digest(derived, covered, hashlib.sha256).hex()[:VERSION_LENGTH]


KEY_FACT: Final = "vault_key"
"""The fact with the fingerprint of the key that encrypts all values."""
_LOCK: Final = 0x70696921
_KEPT: Final = personal_values.c
_CURRENT: Final = sa.and_(_KEPT.scope == OWNER, _KEPT.superseded_at.is_(None))
_CURRENT_VERSION: Final = sa.select(_KEPT.version).where(
    _CURRENT, _KEPT.field == sa.bindparam("named")
)


class SqlVault:
    """Personal values by field and version, of an owner and of missions.

    Methods may be called from several threads and processes at once: writers take turns, so a field
    has one current value at a time. Each raises StoreRefused if the key does not decrypt the
    vault, and StoreUnavailable while the store is unavailable.
    """

    def __init__(
        self, database: StoreDatabase, *, key_file: Path, key: VaultKey | None = None
    ) -> None:
        """Take the database and the key; a server's vault needs one, for workers of other machines.

        Without `key`, `key_file` holds it and is created with the first value.
        """
        self._database = database
        self._key_file = key_file
        self._key = key

    # -- reading ----------------------------------------------------------------------------------

    def get(self, field: str) -> str:
        """Return the owner's current value of a field.

        Raises:
            PiiMissing: the vault does not hold it.
        """
        found = self._read(_CURRENT, _KEPT.field == field)
        if not found:
            raise PiiMissing((field,))
        return found[0].value

    def current(self, field: str) -> Handle | None:
        """Return the handle of the owner's current value; None if there is none."""
        found = self._database.fetch(_CURRENT_VERSION, {"named": field})
        return Handle(field, found[0].version) if found else None

    def find(self, handle: Handle) -> KeptValue | None:
        """Return the value of a pinned handle, of any owner; None if it was removed."""
        found = self._read(_KEPT.field == handle.field, _KEPT.version == handle.version)
        return found[0] if found else None

    def fields(self) -> tuple[str, ...]:
        """Return the names of the owner's fields, sorted."""
        with self._database.read() as connection:
            self._check_key(connection)
            found = connection.execute(sa.select(_KEPT.field).where(_CURRENT)).scalars()
            return tuple(sorted(found))

    def contents(self) -> VaultContents:
        """Return everything, as a copy."""
        return VaultContents(values=self._read())

    # -- writing ----------------------------------------------------------------------------------

    def put(self, field: str, value: str) -> None:
        """Make this the owner's current value; prepared calls use the value that they pinned.

        Raises:
            UsageError: the name cannot be a field's, or the value is empty.
        """
        check_entry(field, value)
        with self._database.write() as connection:
            key, at = self._writing_key(connection), datetime.now(UTC)
            handle, current = _handle(key, OWNER, field, value), _KEPT.field == field
            before = sa.select(_KEPT.version).where(_CURRENT, current)
            if connection.execute(before).scalar() == handle.version:
                return
            superseded = sa.update(personal_values).where(_CURRENT, current)
            connection.execute(superseded.values(superseded_at=at))
            self._delete(connection, current, _KEPT.version == handle.version)
            row = _row(key, handle, value, scope=OWNER, stored_at=at)
            connection.execute(sa.insert(personal_values), row)

    def forget(self, field: str) -> bool:
        """Remove every value of an owner's field, superseded ones too; False if there was none."""
        with self._database.write() as connection:
            return self._delete(connection, _KEPT.scope == OWNER, _KEPT.field == field) > 0

    def handles_of(self, scope: str, values: Mapping[str, str]) -> dict[str, Handle]:
        """Return the handles that `bring` would give these values; stores nothing."""
        with self._database.write() as connection:
            key = self._writing_key(connection)
        return {field: _handle(key, scope, field, value) for field, value in values.items()}

    def bring(self, scope: str, values: Mapping[str, str], *, claim: str) -> None:
        """Store the values that a request brings for its mission; idempotent."""
        for field, value in values.items():
            check_entry(field, value)
        with self._database.write() as connection:
            key = self._writing_key(connection)
            for field, value in values.items():
                handle = _handle(key, scope, field, value)
                row = _row(key, handle, value, scope=scope, stored_at=datetime.now(UTC))
                connection.execute(self._database.insert_new(personal_values), row)
                its = sa.and_(_KEPT.field == handle.field, _KEPT.version == handle.version)
                number = connection.execute(sa.select(_KEPT.number).where(its)).scalar_one()
                claimed = {"value_number": number, "claim": claim}
                connection.execute(self._database.insert_new(personal_claims), claimed)

    def release(self, scope: str, *, claim: str) -> None:
        """Remove the values of a refused request, except any that another request brought too."""
        claims = personal_claims.c
        with self._database.write() as connection:
            self._database.lock(connection, _LOCK)
            query = sa.select(_KEPT.number).join(personal_claims)
            query = query.where(_KEPT.scope == scope, claims.claim == claim)
            numbers = list(connection.execute(query).scalars())
            released = sa.delete(personal_claims).where(claims.value_number.in_(numbers))
            connection.execute(released.where(claims.claim == claim))
            claimed = sa.exists().where(claims.value_number == _KEPT.number)
            self._delete(connection, _KEPT.number.in_(numbers), ~claimed)

    def purge(self, *missions: str) -> tuple[str, ...]:
        """Remove the values of these missions; return the names of the fields."""
        theirs = sa.and_(_KEPT.scope != OWNER, _KEPT.scope.in_(missions))
        with self._database.write() as connection:
            query = sa.select(_KEPT.field).where(theirs).distinct()
            fields = tuple(sorted(connection.execute(query).scalars()))
            self._delete(connection, theirs)
        return fields

    def drop_superseded(self, until: datetime) -> int:
        """Remove the owner's values that were superseded before a moment; return how many."""
        with self._database.write() as connection:
            return self._delete(connection, _KEPT.scope == OWNER, _KEPT.superseded_at < until)

    # -- rows -------------------------------------------------------------------------------------

    def _read(self, *conditions: sa.ColumnElement[bool]) -> list[KeptValue]:
        query = sa.select(personal_values).where(*conditions).order_by(_KEPT.number)
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
            if not rows:
                self._check_key(connection)
                return []
        seal, found = Fernet(self._reading_key()), []
        for row in rows:
            try:
                value = seal.decrypt(bytes(row["sealed"])).decode()
            except InvalidToken:
                raise self._wrong_key() from None
            shown = {name: row[name] for name in KeptValue.model_fields if name in row}
            found.append(KeptValue(**shown, value=value))
        return found

    def _delete(self, connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> int:
        return connection.execute(sa.delete(personal_values).where(*conditions)).rowcount

    # -- the key ----------------------------------------------------------------------------------

    def check_key(self) -> None:
        """Verify that the key decrypts the stored values, or raise StoreRefused."""
        with self._database.read() as connection:
            self._check_key(connection)

    def _writing_key(self, connection: sa.Connection) -> bytes:
        """Return the key for a transaction that writes, and make writers take turns.

        A new key is created if there is none and nothing is encrypted yet.
        """
        self._database.lock(connection, _LOCK)
        if self._key is None and not self._is_sealed(connection) and self._database.is_file:
            private_folder(self._key_file.parent)
            create_file(self._key_file, Fernet.generate_key())
        key = self._reading_key()
        if self._check_key(connection) != fingerprint(key):
            fact = {"name": KEY_FACT, "value": fingerprint(key)}
            connection.execute(self._database.put(facts, "value"), fact)
        return key

    def _reading_key(self) -> bytes:
        if self._key is not None:
            return self._key.read()
        if not self._database.is_file:
            raise StoreRefused(
                f"the store {self._database.place} serves many machines, and the key of its vault "
                "has to be on each: orchestrator key vault FILE, and set "
                "ORCHESTRATOR_PII_KEY_FILE to it",
                code="VaultLocked",
            )
        try:
            return self._key_file.read_bytes()
        except FileNotFoundError:
            raise self._wrong_key() from None

    def _check_key(self, connection: sa.Connection) -> str | None:
        """Return the fingerprint of the key that encrypts the values.

        Raises:
            StoreRefused: there are values, and this key is a different one.
        """
        query = sa.select(facts.c.value).where(facts.c.name == KEY_FACT)
        sealed_by: str | None = connection.execute(query).scalar()
        is_sealed = sealed_by is not None and self._is_sealed(connection)
        if is_sealed and sealed_by != fingerprint(self._reading_key()):
            raise self._wrong_key()
        return sealed_by

    def _is_sealed(self, connection: sa.Connection) -> bool:
        return connection.execute(sa.select(_KEPT.number).limit(1)).first() is not None

    def _wrong_key(self) -> StoreRefused:
        named = str(self._key_file) if self._key is None else self._key.name
        return StoreRefused(
            f"{named} does not open the vault in {self._database.place}; restore the key, or "
            "forget and purge all that is kept to begin an empty vault",
            code="VaultLocked",
        )


def _handle(key: bytes, scope: str, field: str, value: str) -> Handle:
    return Handle(field, commitment(key, scope=scope, field=field, value=value))


def _row(
    key: bytes, handle: Handle, value: str, *, scope: str, stored_at: datetime
) -> dict[str, Any]:
    return {
        "scope": scope,
        "field": handle.field,
        "version": handle.version,
        "sealed": Fernet(key).encrypt(value.encode()),
        "stored_at": stored_at,
    }
