"""Vectors of cards in SQLite, by digest: what was embedded once is not embedded again."""

import logging
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from orchestrator.adapters.storage.files import open_database
from orchestrator.routing.scoring.embedding import Vectors

FILE_NAME = "card-vectors.db"
_SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL)"
_AT_ONCE = 500
_log = logging.getLogger(__name__)


class SqliteVectors:
    """The vectors of one state directory; a file that cannot be used costs only the time saved."""

    def __init__(self, path: Path) -> None:
        """Open nothing yet."""
        self._path = path
        self._lock = threading.Lock()

    def get(self, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Those that are there, each of shape (n_dimensions,)."""
        found: dict[str, Vectors] = {}
        try:
            with self._lock, self._open() as connection:
                for start in range(0, len(keys), _AT_ONCE):
                    some = keys[start : start + _AT_ONCE]
                    marks = ",".join("?" * len(some))
                    query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
                    found |= {
                        k: np.frombuffer(v, np.float32) for k, v in connection.execute(query, some)
                    }
        except (sqlite3.Error, OSError, ValueError) as error:
            _log.warning("vectors of cards cannot be read: %s", type(error).__name__)
            return {}
        return found

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors."""
        rows = [(key, np.asarray(v, dtype=np.float32).tobytes()) for key, v in vectors.items()]
        try:
            with self._lock, self._open() as connection, connection:
                connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError) as error:
            _log.warning("vectors of cards cannot be kept: %s", type(error).__name__)

    def _open(self) -> closing[sqlite3.Connection]:
        return closing(open_database(self._path, _SCHEMA))
