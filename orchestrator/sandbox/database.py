"""The SQLite file behind the sandbox: its tables, and one transaction at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE IF NOT EXISTS requests (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, provider TEXT NOT NULL,
    operation TEXT NOT NULL, idempotency_key TEXT, request_id TEXT, client_reference TEXT,
    status INTEGER, fault TEXT, replayed INTEGER NOT NULL, arguments TEXT);
CREATE TABLE IF NOT EXISTS effects (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, provider TEXT NOT NULL,
    operation TEXT NOT NULL, kind TEXT NOT NULL, resource_type TEXT NOT NULL,
    resource_id TEXT NOT NULL, client_reference TEXT, idempotency_key TEXT, request_id TEXT,
    amount TEXT, currency TEXT, status TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS effects_by_resource ON effects (provider, resource_id);
CREATE TABLE IF NOT EXISTS resources (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, provider TEXT NOT NULL, property TEXT NOT NULL,
    resource_id TEXT NOT NULL, operation TEXT NOT NULL, client_reference TEXT,
    facts TEXT NOT NULL, UNIQUE (provider, property, resource_id));
CREATE INDEX IF NOT EXISTS resources_by_reference ON resources (provider, client_reference);
CREATE TABLE IF NOT EXISTS offers (
    provider TEXT NOT NULL, property TEXT NOT NULL, offer_id TEXT NOT NULL, facts TEXT NOT NULL,
    PRIMARY KEY (provider, property, offer_id));
CREATE TABLE IF NOT EXISTS cancellations (
    provider TEXT NOT NULL, operation TEXT NOT NULL, resource_id TEXT NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY (provider, operation, resource_id));
CREATE TABLE IF NOT EXISTS answers (
    provider TEXT NOT NULL, operation TEXT NOT NULL, idempotency_key TEXT NOT NULL,
    fingerprint TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (provider, operation, idempotency_key));
"""


class Database:
    """One SQLite file, or memory; usable from any thread, one transaction at a time.

    An answer that was sent is in the file: each transaction is committed before its answer
    leaves, and the write-ahead log survives a killed process.
    """

    def __init__(self, path: Path | str = ":memory:") -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA busy_timeout = 5000")
        self._connection.executescript(_TABLES)
        known = {row["name"] for row in self.rows("PRAGMA table_info(requests)")}
        if "arguments" not in known:  # a file from before requests kept them
            self.write("ALTER TABLE requests ADD COLUMN arguments TEXT")

    @contextmanager
    def transaction(self, *, is_kept: bool = True) -> Iterator[None]:
        """Everything inside is kept, or, when it raises or is not to be kept, nothing is."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT" if is_kept else "ROLLBACK")

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """All rows of one statement."""
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    def row(self, sql: str, *values: Any) -> sqlite3.Row | None:
        """The first row of one statement; None when it has none."""
        return next(iter(self.rows(sql, *values)), None)

    def write(self, sql: str, *values: Any) -> None:
        """Run one statement."""
        self.rows(sql, *values)

    def close(self) -> None:
        """Close the file; later use raises sqlite3.ProgrammingError."""
        with self._lock:
            self._connection.close()
