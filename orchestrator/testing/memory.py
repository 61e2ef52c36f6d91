"""Credentials, personal fields and used grants that are in memory only."""

from collections.abc import Mapping

from orchestrator.core.errors import PiiMissing, SecretMissing
from orchestrator.core.pii import check_entry


class MemorySecrets:
    """Secrets from a mapping: `MemorySecrets({"payments_token": "t0ken"})`."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def get(self, name: str) -> str:
        """The value of a secret.

        Raises:
            SecretMissing: it was not given.
        """
        try:
            return self._values[name]
        except KeyError:
            raise SecretMissing(name, "it in MemorySecrets") from None


class MemoryPii:
    """A vault in memory: `MemoryPii({"traveler_id": "T-1009"})`."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        for field, value in (values or {}).items():
            self.put(field, value)

    def get(self, field: str) -> str:
        """The value of a field.

        Raises:
            PiiMissing: the vault does not hold it.
        """
        try:
            return self._values[field]
        except KeyError:
            raise PiiMissing((field,)) from None

    def put(self, field: str, value: str) -> None:
        """Store a value.

        Raises:
            UsageError: the name cannot be a field's, or the value is empty.
        """
        check_entry(field, value)
        self._values[field] = value

    def fields(self) -> tuple[str, ...]:
        """The names of the fields it holds, sorted."""
        return tuple(sorted(self._values))

    def forget(self, field: str) -> None:
        """Remove a value; nothing happens when there is none."""
        self._values.pop(field, None)


class MadeUpSecrets:
    """A made-up value for every credential that a document declares."""

    def get(self, name: str) -> str:
        """The value of a secret: the same again and again, and plainly none."""
        return f"made-up-{name}"


class MemoryGrants:
    """Used grants in memory: for one process, and gone with it."""

    def __init__(self) -> None:
        self._users: dict[str, str] = {}

    def claim(self, digest: str, user: str) -> str | None:
        """Who used this grant before; None when nobody had, and `user` does now."""
        before = self._users.get(digest)
        self._users.setdefault(digest, user)
        return before
