"""The vault of personal fields, encrypted on disk; the only place that knows their values."""

import contextlib
import fcntl
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from cryptography.fernet import Fernet, InvalidToken

from orchestrator.adapters.storage.files import (
    create_file,
    private_file,
    private_folder,
    replace_file,
)
from orchestrator.adapters.storage.personal_values import (
    KeptValue,
    VaultContents,
    commitment,
    contents_of_flat,
)
from orchestrator.core.errors import PiiMissing, UsageError
from orchestrator.core.pii import Handle

T = TypeVar("T")


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


class FilePiiVault:
    """A vault in one encrypted file, for its owner's eyes only.

    `FilePiiVault(Path("~/.orchestrator").expanduser()).put("traveler_id", "T-1009")`

    Every call reads the file again, so that a worker sees what the command line stored. Writers of
    several processes take turns; readers never wait.
    """

    def __init__(self, directory: Path, key: VaultKey | None = None) -> None:
        """Take the folder, and where its key comes from: the file `pii.key` in it if None."""
        self._directory = directory
        self._key = key
        self._key_path = directory / "pii.key"
        self._vault_path = directory / "pii.vault"
        self._lock_path = directory / "pii.lock"

    # -- reading ----------------------------------------------------------------------------------

    def get(self, field: str) -> str:
        """The owner's current value of a field.

        Raises:
            PiiMissing: the vault does not hold it.
            UsageError: the key does not open the vault.
        """
        kept = self._read().current(field)
        if kept is None:
            raise PiiMissing((field,))
        return kept.value

    def current(self, field: str) -> Handle | None:
        """The handle of the owner's current value; None when there is none."""
        kept = self._read().current(field)
        return None if kept is None else kept.handle

    def find(self, handle: Handle) -> KeptValue | None:
        """The value that a pinned handle means, whomever it belongs to; None when it is gone."""
        return self._read().find(handle)

    def fields(self) -> tuple[str, ...]:
        """The names of the fields of which the owner has a value, sorted."""
        return self._read().fields()

    def contents(self) -> VaultContents:
        """All there is, as a copy."""
        return self._read()

    # -- writing ----------------------------------------------------------------------------------

    def put(self, field: str, value: str) -> None:
        """Make this the owner's current value; calls that were prepared before keep theirs.

        Raises:
            UsageError: the name cannot be a field's, the value is empty, or the key does not open
                the vault.
        """
        self._change(lambda held, key: held.put(field, value, key=key, at=_now()))

    def forget(self, field: str) -> bool:
        """Remove all values that the owner has or had of a field; whether there was one."""
        return self._change(lambda held, _: held.forget(field))

    def handles_of(self, scope: str, values: Mapping[str, str]) -> dict[str, Handle]:
        """The handles that these values have once they are kept for a mission; keeps nothing."""
        self._read()  # so that a key which does not open the vault is told before it is used
        key = self._writing_key()
        return {
            field: Handle(field, commitment(key, scope=scope, field=field, value=value))
            for field, value in values.items()
        }

    def bring(self, scope: str, values: Mapping[str, str], *, claim: str) -> None:
        """Keep the values that a request brings for its mission; repeated, it changes nothing."""
        self._change(
            lambda held, key: held.bring(values, scope=scope, claim=claim, key=key, at=_now())
        )

    def release(self, scope: str, *, claim: str) -> None:
        """Take back what a refused request brought; what another one brought too stays."""
        self._change(lambda held, _: held.release(scope=scope, claim=claim))

    def purge(self, *missions: str) -> tuple[str, ...]:
        """Remove all that these missions brought; the names of the fields."""
        return self._change(lambda held, _: held.purge(missions))

    def drop_superseded(self, until: datetime) -> int:
        """Remove the owner's values that were superseded before a moment; how many."""
        return self._change(lambda held, _: held.drop_superseded(until))

    # -- the files --------------------------------------------------------------------------------

    def _read(self) -> VaultContents:
        try:
            token = self._vault_path.read_bytes()
            written_at = datetime.fromtimestamp(self._vault_path.stat().st_mtime, UTC)
        except FileNotFoundError:
            return VaultContents()
        try:
            key = self._reading_key()
            held = json.loads(Fernet(key).decrypt(token))
        except (FileNotFoundError, InvalidToken, ValueError):
            raise UsageError(
                f"{self._key_name} does not open {self._vault_path}; "
                "restore the key, or remove both to begin an empty vault"
            ) from None
        if isinstance(held.get("layout"), int):
            return VaultContents.model_validate(held)
        return contents_of_flat(held, key=key, at=written_at)

    def _change(self, change: Callable[[VaultContents, bytes], T]) -> T:
        """Read, change and write as one, against every other process on this machine."""
        with self._only_writer():
            held = self._read()
            before = held.model_copy(deep=True)
            key = self._writing_key()
            result = change(held, key)
            if held != before:
                replace_file(self._vault_path, Fernet(key).encrypt(held.model_dump_json().encode()))
            return result

    @property
    def _key_name(self) -> str:
        return str(self._key_path) if self._key is None else self._key.name

    def _reading_key(self) -> bytes:
        return self._key_path.read_bytes() if self._key is None else self._key.read()

    def _writing_key(self) -> bytes:
        """The key; made where there is none yet and nothing that another one would have to open."""
        if self._key is None and not self._key_path.exists() and not self._vault_path.exists():
            private_folder(self._directory)
            create_file(self._key_path, Fernet.generate_key())
        return self._reading_key()

    @contextlib.contextmanager
    def _only_writer(self) -> Iterator[None]:
        private_folder(self._directory)
        with private_file(self._lock_path).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def new_key() -> str:
    """A key for a vault."""
    return Fernet.generate_key().decode()


def _now() -> datetime:
    return datetime.now(UTC)
