"""The vault of personal fields, encrypted on disk; the only place that knows their values."""

import contextlib
import fcntl
import json
from collections.abc import Iterator
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from orchestrator.adapters.storage.files import (
    create_file,
    private_file,
    private_folder,
    replace_file,
)
from orchestrator.core.errors import PiiMissing, UsageError
from orchestrator.core.pii import check_entry


class FilePiiVault:
    """A vault in one encrypted file, its key in a file beside it; both for the owner's eyes only.

    `FilePiiVault(Path("~/.orchestrator").expanduser()).put("traveler_id", "T-1009")`

    Every call reads the file again, so that a worker sees what the command line stored. Writers of
    several processes take turns; readers never wait.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key_path = directory / "pii.key"
        self._vault_path = directory / "pii.vault"
        self._lock_path = directory / "pii.lock"

    def get(self, field: str) -> str:
        """The value of a field.

        Raises:
            PiiMissing: the vault does not hold it.
            UsageError: the key does not open the vault.
        """
        try:
            return self._read()[field]
        except KeyError:
            raise PiiMissing((field,)) from None

    def put(self, field: str, value: str) -> None:
        """Store a value, in place of the one before.

        Raises:
            UsageError: the name cannot be a field's, the value is empty, or the key does not open
                the vault.
        """
        check_entry(field, value)
        with self._only_writer():
            self._write({**self._read(), field: value})

    def fields(self) -> tuple[str, ...]:
        """The names of the fields it holds, sorted."""
        return tuple(sorted(self._read()))

    def forget(self, field: str) -> None:
        """Remove a value; nothing happens when there is none."""
        with self._only_writer():
            kept = self._read()
            if kept.pop(field, None) is not None:
                self._write(kept)

    def _read(self) -> dict[str, str]:
        try:
            token = self._vault_path.read_bytes()
        except FileNotFoundError:
            return {}
        try:
            fernet = Fernet(self._key_path.read_bytes())
            values: dict[str, str] = json.loads(fernet.decrypt(token))
        except (FileNotFoundError, InvalidToken, ValueError):
            raise UsageError(
                f"{self._key_path} does not open {self._vault_path}; "
                "restore the key, or remove both to begin an empty vault"
            ) from None
        return values

    def _write(self, values: dict[str, str]) -> None:
        if not self._key_path.exists():
            create_file(self._key_path, Fernet.generate_key())
        fernet = Fernet(self._key_path.read_bytes())
        replace_file(self._vault_path, fernet.encrypt(json.dumps(values).encode()))

    @contextlib.contextmanager
    def _only_writer(self) -> Iterator[None]:
        """Read, change and write as one, against every other process on this machine."""
        private_folder(self._directory)
        with private_file(self._lock_path).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
