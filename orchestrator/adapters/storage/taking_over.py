"""What earlier releases left as files in a state directory, taken over into a store, once.

Each part is put into the store and then removed from the folder. A process that dies in between
leaves both, and the next one does the same again: what is there already is left as it is. Only what
people have removed from the store meanwhile must not come back with that, so values and
observations are noted as taken over in the transaction that puts them.
"""

import contextlib
import fcntl
import hashlib
import json
import logging
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

import sqlalchemy as sa
from cryptography.fernet import Fernet, InvalidToken

from orchestrator.adapters.storage.files import private_file
from orchestrator.adapters.storage.personal_values import VaultContents, contents_of_flat
from orchestrator.adapters.storage.schema import (
    catalog_pins,
    catalogs,
    grants,
    observations,
    selections,
    taken_back,
    taken_over,
    vectors,
)
from orchestrator.adapters.storage.sql_vault import SqlVault
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.core.errors import UsageError

_LOCK_NAME: Final = ".taking-over"
_AT_ONCE: Final = 500
_log = logging.getLogger(__name__)

_Row = dict[str, object]


class _Taker(Protocol):
    vault: SqlVault


def take_over(folder: Path, database: StoreDatabase, store: _Taker) -> None:
    """Take over all that is in a state directory; without any, this costs a look.

    Raises:
        UsageError: a vault is there whose key is not.
    """
    parts: dict[Path, Callable[[Path], None]] = {
        folder / "catalogs": lambda path: _take_catalogs(path, database),
        folder / "grants": lambda path: _take_grants(path, database),
        folder / "pii" / "pii.vault": lambda path: _take_vault(path, database, store.vault),
        folder / "observations": lambda path: _take_observations(path, database),
        folder / "route-traces.db": lambda path: _take_traces(path, database, "missions"),
        folder / "proxy-traces.db": lambda path: _take_traces(path, database, "proxy"),
        folder / "card-vectors.db": lambda path: _take_vectors(path, database),
    }
    if not any(path.exists() for path in parts):
        return
    with _only_one(folder):
        for path, take in parts.items():
            if path.exists():
                take(path)
                _log.info("took %s over into the store %s", path, database.place)


def _take_catalogs(folder: Path, database: StoreDatabase) -> None:
    for path in sorted(folder.glob("*.json")):
        row: _Row = {"digest": path.stem, "content": path.read_bytes(), "used_at": _now()}
        _insert(database, catalogs, [row])
        # Nobody knows which missions began on it: it stays for all from before now.
        _insert(
            database, catalog_pins, [{"digest": path.stem, "mission_id": "", "pinned_at": _now()}]
        )
    shutil.rmtree(folder)


def _take_grants(folder: Path, database: StoreDatabase) -> None:
    used: list[_Row] = []
    back: list[_Row] = []
    for path in folder.glob("**/*"):
        at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        if not path.is_file() or path.name.startswith("."):
            continue
        if path.relative_to(folder).parts[0] == "taken-back":
            back.append({"call_digest": path.name, "at": at})
        else:
            text = path.read_text(encoding="utf-8")
            used.append({"digest": path.name, "used_by": text, "used_at": at})
    _insert(database, grants, used)
    _insert(database, taken_back, back)
    shutil.rmtree(folder)


def _take_vault(path: Path, database: StoreDatabase, vault: SqlVault) -> None:
    token = path.read_bytes()
    with database.write() as connection:
        if _is_new(connection, database, hashlib.sha256(token).hexdigest()):
            vault.adopt(connection, _opened(path, token, vault).values)
    path.unlink()
    (path.parent / "pii.lock").unlink(missing_ok=True)


def _opened(path: Path, token: bytes, vault: SqlVault) -> VaultContents:
    """What a vault of an earlier release holds, by the key that is set or the one beside it."""
    beside = path.parent / "pii.key"
    keys = [key for key in (vault.given_key(), _content(beside)) if key]
    for key in keys:
        with contextlib.suppress(InvalidToken, ValueError):
            held = json.loads(Fernet(key).decrypt(token))
            if isinstance(held.get("layout"), int):
                return VaultContents.model_validate(held)
            written_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            return contents_of_flat(held, key=key, at=written_at)
    raise UsageError(
        f"{path} cannot be taken over into the store: neither {beside} nor a key that is set opens "
        "it; restore the key, or remove the file to go on without what it holds"
    )


def _take_observations(folder: Path, database: StoreDatabase) -> None:
    for note in sorted(folder.glob("*/mission.json")):
        mission_id = json.loads(note.read_bytes())["mission_id"]
        pieces = sorted(path for path in note.parent.iterdir() if len(path.name) == 64)
        rows: list[_Row] = [
            {
                "mission_id": mission_id,
                "key_digest": path.name,
                "piece": path.read_bytes(),
                "kept_at": datetime.fromtimestamp(path.stat().st_mtime, UTC),
            }
            for path in pieces
        ]
        names = json.dumps([mission_id, *(path.name for path in pieces)])
        with database.write() as connection:
            if _is_new(connection, database, hashlib.sha256(names.encode()).hexdigest()) and rows:
                connection.execute(database.insert_new(observations), rows)
        shutil.rmtree(note.parent)
    shutil.rmtree(folder)


def _take_traces(path: Path, database: StoreDatabase, source: str) -> None:
    query = "SELECT mission_id, leg_id, step, record, called FROM selections ORDER BY number"
    rows = [{"source": source, **row} for row in _rows_of(path, query)]
    _insert(database, selections, rows)
    _remove_database(path)


def _take_vectors(path: Path, database: StoreDatabase) -> None:
    _insert(database, vectors, _rows_of(path, "SELECT key, vector FROM vectors"))
    _remove_database(path)


def _rows_of(path: Path, query: str) -> list[_Row]:
    """Rows of a SQLite file; one that cannot be read held nothing that a mission needs."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query)]
    except sqlite3.Error as error:
        _log.warning("%s is left out: %s", path, type(error).__name__)
        return []


def _remove_database(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _insert(database: StoreDatabase, table: sa.Table, rows: list[_Row]) -> None:
    for start in range(0, len(rows), _AT_ONCE):
        with database.write() as connection:
            connection.execute(database.insert_new(table), rows[start : start + _AT_ONCE])


def _is_new(connection: sa.Connection, database: StoreDatabase, source: str) -> bool:
    """Whether this has not been taken over before; from now on it has."""
    row: Mapping[str, object] = {"source": source, "at": _now()}
    noted = database.insert_new(taken_over).returning(taken_over.c.source)
    return connection.execute(noted, row).first() is not None


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """One process of this machine at a time: the files go away under the others."""
    with private_file(folder / _LOCK_NAME).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _now() -> datetime:
    return datetime.now(UTC)
