"""Records of selections in SQLite: bounded, and without a word of any request."""

import logging
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from pydantic import ValidationError

from orchestrator.adapters.storage.files import open_database
from orchestrator.core.errors import DocumentUnreadable
from orchestrator.routing.learning.trace import RouteRecord

FILE_NAME = "route-traces.db"
MOST_RECORDS = 50_000
_TRIMMED_EVERY = 256
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS selections (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        mission_id TEXT NOT NULL, leg_id TEXT NOT NULL, step INTEGER NOT NULL,
        record TEXT NOT NULL, called TEXT,
        UNIQUE (mission_id, leg_id, step)
    )
"""
_FAST = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL")
_TRIM = "DELETE FROM selections WHERE number <= (SELECT max(number) FROM selections) - ?"
_log = logging.getLogger(__name__)


class RouteTraces:
    """The records of one state directory; each process opens one of these and writes through it.

    A record that cannot be written is lost, with a warning: a mission never waits for it or fails.
    """

    def __init__(self, path: Path, *, most_records: int = MOST_RECORDS) -> None:
        """Open nothing yet: the file is made with the first record; the oldest beyond go."""
        self._path = path
        self._most_records = most_records
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._written = 0

    def record(self, record: RouteRecord) -> None:
        """Keep a record; that of a step recorded before (its activity was retried) replaces it."""
        self._write(
            "INSERT OR REPLACE INTO selections (mission_id, leg_id, step, record)"
            " VALUES (?, ?, ?, ?)",
            (record.mission_id, record.leg_id, record.step, record.model_dump_json()),
        )

    def called(self, *, mission_id: str, leg_id: str, step: int, tool: str) -> None:
        """Join what a step called in the end to the record of its selection."""
        self._write(
            "UPDATE selections SET called = ? WHERE mission_id = ? AND leg_id = ? AND step = ?",
            (tool, mission_id, leg_id, step),
        )

    def close(self) -> None:
        """Close the file; the next record opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _write(self, statement: str, values: tuple[str | int, ...]) -> None:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = open_database(self._path, *_FAST, _SCHEMA)
                with self._connection as connection:
                    connection.execute(statement, values)
                    if self._written % _TRIMMED_EVERY == 0:
                        connection.execute(_TRIM, (self._most_records,))
                self._written += 1
            except (sqlite3.Error, OSError) as error:
                _log.warning("a route trace is lost: %s", type(error).__name__)


def read_records(path: Path) -> list[RouteRecord]:
    """The records of a database, or of a file with one JSON record on each line.

    Raises:
        DocumentUnreadable: there is no such file, or it holds something else.
    """
    if not path.is_file():
        raise DocumentUnreadable(str(path), "no such file")
    try:
        with path.open("rb") as file:
            is_database = file.read(15) == b"SQLite format 3"
        if not is_database:
            lines = path.read_text(encoding="utf-8").splitlines()
            return [RouteRecord.model_validate_json(line) for line in lines if line.strip()]
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT record, called FROM selections ORDER BY number")
            return [_with_call(record, called) for record, called in rows]
    except (sqlite3.Error, OSError, ValidationError, UnicodeDecodeError) as error:
        raise DocumentUnreadable(str(path), "it does not hold route traces") from error


def _with_call(text: str, called: str | None) -> RouteRecord:
    record = RouteRecord.model_validate_json(text)
    return record.model_copy(update={"called": ((called,),)}) if called else record
